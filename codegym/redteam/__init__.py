"""The red team: scripted agents that want a score, or the answer, without solving anything.

How to add an attack. Write one function in a module of ``codegym/redteam/attacks/`` (every module
there is imported) and say what it is::

    @attack("conftest-in-root", "grading", "A conftest reports each test as passed", SOURCE)
    async def conftest_in_root(play: Play) -> Finding:
        await play.write("conftest.py", HOOK)
        return await play.graded()

``play`` is an episode that has just been reset; its methods (``bash``, ``write``, ``submit``,
``another``, ``fork``, ``look``) take steps in it, and nothing else is at hand. ``play.victim`` says
what is attacked: the module that the gold patch touches (``target``), the functions that it
changes (``symbols``), the fault that is in there being left where it is. ``await
play.plant(code)`` appends hostile code to that module. ``play.graded()`` submits, and judges: a
wrong patch that scores above 0 has succeeded. For a look at what is there::

    return await play.leak(f"git log --all -p | {PROBE} stdin")

which succeeds where the output has the marker that is planted in the gold patch, or a line of it.

An attack must be able to succeed: ``tests/redteam/`` plants what each leak attack looks for, and
expects it to be found. What an attack raises, hangs on or kills never ends the run.
"""

from codegym.redteam.arena import Arena, Control, Report, Result
from codegym.redteam.attack import Attack, Finding, Inapplicable, attack, catalogue
from codegym.redteam.play import PROBE, Play
from codegym.redteam.victim import Victim, make_victim

__all__ = [
    "PROBE",
    "Arena",
    "Attack",
    "Control",
    "Finding",
    "Inapplicable",
    "Play",
    "Report",
    "Result",
    "Victim",
    "attack",
    "catalogue",
    "make_victim",
]
