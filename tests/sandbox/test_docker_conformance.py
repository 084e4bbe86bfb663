"""The Docker backend passes every check."""

import pytest
from docker_boxes import SHARED

from codegym.sandbox.conformance import CHECKS

pytestmark = SHARED

#: These wait for what hogs a machine to meet its limit.
SLOW = {"a_fork_bomb_is_contained", "many_small_hogs_are_ended"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in CHECKS],
)
async def test_docker_conforms(name, docker_backend, docker_spec):
    await CHECKS[name](docker_backend, docker_spec)
