"""Every backend passes every check."""

import pytest

from codegym.sandbox.conformance import CHECKS


@pytest.mark.parametrize("name", CHECKS)
async def test_bubblewrap_conforms(name, backend, spec):
    await CHECKS[name](backend, spec)
