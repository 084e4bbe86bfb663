"""Sandboxes in Docker containers.

``engine`` is all that is asked of Docker; ``importing`` brings our images there; ``inside`` is what
runs in containers; ``link`` and ``keeping`` talk with a keeper; ``pool`` has containers ready;
``box`` is a sandbox; ``backend`` starts them; ``owners`` says whose a container is.
"""

from codegym.sandbox.docker.backend import Docker

__all__ = ["Docker"]
