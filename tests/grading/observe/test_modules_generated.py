"""Laws of rewriting, on many small tests that nobody wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from random import Random

from rewritten import module, run

from codegym.grading.observe.sites import Site

HEAD = "import pytest, unittest\nfrom code_under_test import Box, Odd, double, half, parse, fill\n"
Lines = list[str]


class Program:
    """Test functions; each number after 700000 stands on one expected side and nowhere else."""

    def __init__(self, seed: int, tests: int) -> None:
        self.rng, self._last = Random(seed), 350_000
        self.constants: Lines = []
        functions = [self._function(number) for number in range(tests)]
        self.text = "\n".join([HEAD, *self.constants, *(line for f in functions for line in f), ""])

    def pair(self) -> tuple[int, int]:
        """A number, and twice as much; sometimes something else."""
        self._last += 1
        return self._last, 2 * self._last + (self.rng.random() < 0.15)

    def _function(self, number: int) -> Lines:
        way = self.rng.randrange(3)
        rows = [self.pair() for _ in range(self.rng.randint(1, 3))]
        if way == 0:
            table = self._named(f"[{', '.join(f'({n}, {m})' for n, m in rows)}]")
            head = [
                f"@pytest.mark.parametrize('n, wanted', {table})",
                f"def test_{number}(n, wanted):",
            ]
            return [
                *head,
                "    assert double(n) == wanted, f'not {wanted}'",
                *self._body(1, "assert"),
            ]
        if way == 1:
            head = [f"class Test{number}(unittest.TestCase):", "    def test_it(self):"]
            return [*head, *self._body(2, "method")]
        return [f"def test_{number}():", *self._body(1, "assert")]

    def _named(self, text: str) -> str:
        if self.rng.random() < 0.5:
            return text
        self.constants.append(f"TABLE_{len(self.constants)} = {text}")
        return f"TABLE_{len(self.constants) - 1}"

    def _body(self, depth: int, style: str) -> Lines:
        lines = [line for _ in range(self.rng.randint(1, 4)) for line in self._block(style)]
        return ["    " * depth + line for line in lines]

    def _block(self, style: str, nested: int = 0) -> Lines:
        kinds: list[Callable[[str], Lines]] = [
            self._direct, self._local, self._loop, self._joined, self._both, self._raised,
        ]  # fmt: skip
        lines = self.rng.choice(kinds)(style)
        if nested < 2 and self.rng.random() < 0.3:
            head = self.rng.choice(["if True:", "for _ in range(2):", "if double(1) == 2:"])
            inner = [*lines, *self._block(style, nested + 1)]
            return [head, *("    " + line for line in inner)]
        return lines

    def _claim(self, style: str, actual: str, expected: str) -> str:
        if style == "method":
            return f"self.assertEqual({actual}, {expected}, 'of {expected}')"
        swap = self.rng.random() < 0.3
        return f"assert {expected} == {actual}" if swap else f"assert {actual} == {expected}  # why"

    def _direct(self, style: str) -> Lines:
        n, m = self.pair()
        return [self._claim(style, f"double({n})", str(m))]

    def _local(self, style: str) -> Lines:
        (n, m), name = self.pair(), f"w{self._last}"
        made = (
            [f"{name} = [", f"    {m}", "]"]
            if style == "assert"
            else [f"{name} = []", f"{name}.append({m})"]
        )
        return [*made, self._claim(style, f"[double({n})]", name)]

    def _loop(self, style: str) -> Lines:
        rows = ", ".join(f"({n}, [{m}])" for n, m in (self.pair(), self.pair()))
        table = self._named(f"[{rows}]")
        return [f"for n, wanted in {table}:", "    " + self._claim(style, "[double(n)]", "wanted")]

    def _joined(self, style: str) -> Lines:
        (n, m), (o, p) = self.pair(), self.pair()
        if style == "method":
            return [f"self.assertTrue(double({n}) == {m} and double({o}) == {p})"]
        return [f"assert double({n}) == {m} and (", f"    double({o}) == {p})"]

    def _both(self, style: str) -> Lines:
        n, _ = self.pair()
        return [self._claim(style, f"half(double({n}))", f"half(2 * double({n})) // 2")]

    def _raised(self, style: str) -> Lines:
        n, _ = self.pair()
        call = "self.assertRaises" if style == "method" else "pytest.raises"
        if self.rng.random() < 0.5:
            return [f"{call}(Odd, half, 2 * {n} + 1)"]
        return [
            f"with {call}(ValueError) as info:",
            f"    parse('x{n}')",
            f"assert '{n}' in str(info.{self._info(style)})",
        ]

    @staticmethod
    def _info(style: str) -> str:
        return "exception" if style == "method" else "value"


def test_rewriting_keeps_outcomes_and_values_and_takes_expected_sides_out(tmp_path):
    sources: dict[str, str] = {}
    for seed in range(4):
        text = Program(seed, 30).text
        made = module(text, f"test_plain_{seed}.py")
        after = made.shipped([site.id for site in made.sites])
        sources[f"test_plain_{seed}.py"] = text
        sources[f"test_recording_{seed}.py"] = made.recording()
        sources[f"test_shipped_{seed}.py"] = after
        assert not set(_secrets(made.sites, text)) & set(re.findall(r"\d+", after))
        assert sum(site.sealed for site in made.sites) > len(made.sites) / 2
    outcomes, seen = run(sources, tmp_path)
    values = _values(seen)
    for seed in range(4):
        plain, recorded, left = (
            outcomes[f"test_{kind}_{seed}.py"] for kind in ("plain", "recording", "shipped")
        )
        assert {"PASSED", "FAILED"} == set(plain.values())
        assert recorded == plain
        passing = {_bare(name) for name in plain} - {
            _bare(name) for name, how in plain.items() if how != "PASSED"
        }
        assert passing <= {_bare(name) for name, how in left.items() if how == "PASSED"}
        for name in passing:
            assert values[f"recording_{seed}", name] == values[f"shipped_{seed}", name]


def _secrets(sites: Iterable[Site], text: str) -> Iterator[str]:
    """Numbers that stand once in the source, on the expected side of a sealed site."""
    numbers = re.findall(r"\d+", text)
    for site in sites:
        if site.sealed:
            for number in re.findall(r"\d+", site.text):
                if int(number) > 700_000 and numbers.count(number) == 1:
                    yield number


def _bare(name: str) -> str:
    return re.sub(r"\[.*\]", "", name)


def _values(seen: list[list]) -> dict[tuple[str, str], list[tuple[int, str]]]:
    """What actual sides were, by file's kind and test."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for test, site, role, value in seen:
        if role == "a":
            path, _, name = test.partition("::")
            kind = path.removeprefix("test_").removesuffix(".py")
            found.setdefault((kind, _bare(name)), []).append((site, value))
    return found
