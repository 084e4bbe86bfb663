"""Docker images of environments, and sandboxes' roots made of them."""

from codegym.sandbox.images.docker.build import (
    DEFAULT_BASE,
    Built,
    build_docker_image,
    list_docker_images,
)
from codegym.sandbox.images.docker.context import DOCKERFILE
from codegym.sandbox.images.docker.export import Exported, export_docker_image
from codegym.sandbox.images.docker.root import docker_root, new_docker_root

__all__ = [
    "DEFAULT_BASE",
    "DOCKERFILE",
    "Built",
    "Exported",
    "build_docker_image",
    "docker_root",
    "export_docker_image",
    "list_docker_images",
    "new_docker_root",
]
