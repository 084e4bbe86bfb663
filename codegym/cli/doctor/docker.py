"""What Docker has here, and what processes that were killed left there."""

from __future__ import annotations

from codegym.cli.doctor.checks import Check
from codegym.errors import CodeGymError, UnavailableError

_CLEAN = "Remove it: `codegym doctor --clean`."


def docker(*, needed: bool, clean: bool) -> list[Check]:
    """Look at the engine.

    Args:
        needed: Whether sandboxes are to be containers; without an engine, they cannot be.
        clean: Remove what killed processes left.
    """
    from codegym.sandbox.docker.engine import Engine

    try:
        engine = Engine()
    except UnavailableError as error:
        return [Check("docker", "fail" if needed else "note", error.problem, error.mend)]
    try:
        able = engine.abilities
        lacking = [name for name in ("memory", "processes", "cpus") if not getattr(able, name)]
        found = f"engine {able.version}, {able.machine}; runtimes: {', '.join(able.runtimes)}"
        if lacking:
            found += f"; no hard limit of {', '.join(lacking)}"
        checks = [Check("docker", "ok", found)]
        left = engine.left_behind()
        if left and clean:
            engine.sweep(left)
        if left or clean:
            checks.append(_of_left([each.kind for each in left], clean))
    except CodeGymError as error:
        return [Check("docker", "fail" if needed else "note", str(error))]
    finally:
        engine.close()
    return checks


def _of_left(kinds: list[str], clean: bool) -> Check:
    containers, volumes = kinds.count("container"), kinds.count("volume")
    found = f"{containers} containers and {volumes} volumes of processes that ended"
    if clean:
        return Check("left behind", "ok", f"removed {found}" if kinds else "nothing")
    return Check("left behind", "note", found, _CLEAN)
