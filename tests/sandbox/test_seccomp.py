"""The filter's program; what it does is tested in sandboxes, by conformance."""

import struct

import pytest

from codegym.errors import UnavailableError
from codegym.sandbox.seccomp import seccomp_filter


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_jump_lands_inside_and_every_path_returns(machine):
    program = seccomp_filter(machine)
    ops = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    reachable, todo = set(), [0]
    while todo:
        at = todo.pop()
        if at in reachable:
            continue
        reachable.add(at)
        code, true, false, _ = ops[at]
        if code == 0x06:
            continue
        todo += [at + 1 + true, at + 1 + false] if code & 0x07 == 0x05 else [at + 1]
    assert max(reachable) == len(ops) - 1
    assert reachable == set(range(len(ops)))


def test_an_unknown_architecture_is_refused():
    with pytest.raises(UnavailableError, match="riscv64"):
        seccomp_filter("riscv64")
