"""Ray: episodes on the sandboxes of a cluster, and an env for RLlib."""

from codegym.integrations.ray.stage import RayStage, on_ray

__all__ = ["RayStage", "on_ray"]
