"""A project that is small enough to be run in this process: real edits, real failures."""

import ast
import sys
import traceback
from dataclasses import dataclass, field

from codegym.mutation.candidates import find_candidates
from codegym.mutation.composites import Calls, Ground, Tried
from codegym.mutation.coverage import Coverage
from codegym.mutation.operators import load_operators
from codegym.mutation.trial import Trial
from codegym.syntax import parse
from codegym.types import File

_MOST_LINES = 20_000

PRICES = '''\
"""Prices: größer."""


def rounded(amount, step):
    """To a whole number of steps."""
    return (amount + step // 2) // step * step


def discounted(amount, percent, least):
    """Less a part of it, but no less than ``least``."""
    if percent > 50:
        percent = 50
    reduced = amount - amount * percent // 100
    if reduced < least:
        return least
    return reduced
'''

SHOP = '''\
"""A basket."""
from prices import discounted, rounded


class Basket:
    """What someone wants to buy."""

    def __init__(self):
        self.items = []
        self.percent = 0

    def add(self, name, amount, count):
        """Put something in."""
        self.items.append((name, amount * count))

    def total(self):
        """What it costs."""
        whole = 0
        for _, amount in self.items:
            whole += discounted(amount, self.percent, 1)
        return rounded(whole, 5)

    def names(self):
        """What is in it."""
        return sorted(name for name, _ in self.items)


def cheapest(baskets):
    """The basket that costs least."""
    best = None
    for basket in baskets:
        if best is None or basket.total() < best.total():
            best = basket
    return best
'''

TESTS = """\
from prices import discounted, rounded
from shop import Basket, cheapest


def basket(*amounts, percent=0):
    made = Basket()
    made.percent = percent
    for at, amount in enumerate(amounts):
        made.add("thing %d" % at, amount, 2)
    return made


def test_rounded():
    assert rounded(12, 5) == 10
    assert rounded(13, 5) == 15


def test_rounded_zero():
    assert rounded(0, 5) == 0


def test_discounted():
    assert discounted(100, 20, 1) == 80


def test_discounted_most():
    assert discounted(100, 90, 1) == 50


def test_discounted_least():
    assert discounted(10, 50, 7) == 7


def test_total():
    assert basket(10, 20).total() == 60


def test_total_of_nothing():
    assert basket().total() == 0


def test_total_with_discount():
    assert basket(50, 50, percent=10).total() == 180


def test_names():
    assert basket(1, 2).names() == ["thing 0", "thing 1"]


def test_cheapest():
    small = basket(10)
    assert cheapest([basket(20), small, basket(30)]) is small


def test_cheapest_of_none():
    assert cheapest([]) is None
"""


class TooLongError(Exception):
    """A test that does not end."""


@dataclass
class Project:
    """Modules by path, and a module of tests."""

    files: dict
    tests: str = TESTS
    path = "test_all.py"
    ran: int = 0
    known: dict = field(default_factory=dict)

    @property
    def parsed(self):
        return {path: parse(text.encode(), "python") for path, text in self.files.items()}

    @property
    def ids(self):
        return [f"{self.path}::{one}" for one in self._names()]

    def _names(self):
        nodes = ast.parse(self.tests).body
        return [one.name for one in nodes if getattr(one, "name", "").startswith("test_")]

    def run(self, sources):
        """What each test raises, and which lines of which file it ran."""
        failed, lines = {}, {}
        for name in self._names():
            seen = {}
            said = self._one(sources, name, seen)
            lines[f"{self.path}::{name}"] = {p: frozenset(at) for p, at in seen.items()}
            if said is not None:
                failed[f"{self.path}::{name}"] = said
        return failed, lines

    def _one(self, sources, name, seen):
        modules, left = {}, [_MOST_LINES]

        def traced(frame, event, _):
            left[0] -= 1
            if left[0] < 0:
                raise TooLongError
            if event == "line" and frame.f_code.co_filename in sources:
                seen.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
            return traced

        def load(wanted, *_):
            if f"{wanted}.py" not in sources:
                return __import__(wanted)
            if wanted not in modules:
                modules[wanted] = module = type(sys)(wanted)
                module.__dict__["__builtins__"] = builtins
                exec(compile(sources[f"{wanted}.py"], f"{wanted}.py", "exec"), module.__dict__)
            return modules[wanted]

        builtins = {**vars(__import__("builtins")), "__import__": load}
        space = {"__builtins__": builtins, "__name__": "tests"}
        before = sys.gettrace()
        try:
            exec(compile(self.tests, self.path, "exec"), space)
            sys.settrace(traced)
            space[name]()
        except TooLongError:
            return None
        except Exception as error:
            sys.settrace(before)
            return self._said(error, sources)
        finally:
            sys.settrace(before)
        return None

    def _said(self, error, sources):
        frames = [
            f"{one.filename}:{one.lineno}: in {one.name}\n    {one.line}"
            for one in traceback.extract_tb(error.__traceback__)
            if one.filename in sources or one.filename == self.path
        ]
        return "\n".join([*frames, f"E   {type(error).__name__}: {error}"])

    async def attempt(self, candidate):
        """As running it in a sandbox does, but for tests that never end: they are left out."""
        if candidate.digest not in self.known:
            self.ran += 1
            self.known[candidate.digest] = self._trial(candidate)
        return self.known[candidate.digest]

    def _trial(self, candidate):
        sources = {path: text.encode() for path, text in self.files.items()}
        assert all(sources[path] == parsed.source for path, (parsed, _) in candidate.files.items())
        try:
            for path, data in candidate.mutants.items():
                compile(data, path, "exec")
            failed, _ = self.run(sources | candidate.mutants)
        except SyntaxError:
            return Trial("does_not_parse")
        if not failed or len(failed) == len(self.ids):
            return Trial("all_tests_fail" if failed else "survived")
        places = {
            line.partition(": in ")[0]
            for said in failed.values()
            for line in said.splitlines()
            if ": in " in line
        }
        example = min(failed)
        return Trial(
            failing=tuple(sorted(failed)),
            passing=tuple(sorted(set(self.ids) - failed.keys())),
            example=example,
            message=failed[example],
            frames=tuple(sorted(places)),
            raised=tuple(
                (test, said.rpartition("E   ")[2].partition(":")[0])
                for test, said in sorted(failed.items())
            ),
        )

    async def verdict(self, composite, candidate):
        """Why a composite's candidate is none, or None; and what running it showed."""
        trial = await self.attempt(candidate)
        parts = [await self.attempt(part) for part in composite.parts(candidate)]
        return trial.reason or composite.fault(candidate, trial, parts), trial

    async def ground(self, **more):
        """All its single edits that are tasks."""
        operators = load_operators((), "python", ["FixTests"])
        singles = []
        for one in find_candidates(self.parsed, operators, 0):
            trial = await self.attempt(one)
            if trial.reason is None:
                singles.append(Tried(one, trial))
        tree = {path: File(text.encode()) for path, text in self.files.items()}
        tree[self.path] = File(self.tests.encode())
        _, lines = self.run({path: text.encode() for path, text in self.files.items()})
        base = Known(dict.fromkeys(self.ids, 0.01), Coverage(lines))
        return Ground(
            environment=more.pop("environment", None),
            tree=tree,
            files=self.parsed,
            baselines=[base],
            calls=Calls(self.parsed),
            singles=tuple(singles),
            **more,
        )


@dataclass(frozen=True)
class Known:
    """What composites need of a baseline."""

    seconds: dict
    coverage: Coverage | None


def small_project():
    """One with two modules, eleven tests and letters that take two bytes."""
    return Project({"prices.py": PRICES, "shop.py": SHOP})
