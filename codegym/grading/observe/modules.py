"""Test modules, rewritten so that assertions become observations. Text in, text out."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal

from codegym.grading.observe.analysis import Analysis, Function, Spot
from codegym.grading.observe.insisting import insistent
from codegym.grading.observe.kinds import defined, reads
from codegym.grading.observe.removal import Removal, remove
from codegym.grading.observe.rewriting import IMPORT, NAME, Mode, invert, rewrite
from codegym.grading.observe.sites import Sibling, Site
from codegym.grading.observe.text import Edit, Source, Span, apply, read

#: What a test of a control is: as it is, with its assertions inverted, or one that fails at once.
Control = Literal["real", "opposite", "failing"]


@dataclass(frozen=True)
class TestModule:
    """A test module and what can be observed in it.

    Attributes:
        path: Where it lies, relative to the tree.
        sites: Its assertions that can be observed, in order of their lines.
        analysis: What is known of its source; for this package.
        quiet: Edits that empty comments and docstrings.
        bare: What goes where every site is emitted; of copies.
        mirrored: The same, of copies that emit the other side where both come from code under test;
            None where there are no such sites.
    """

    __test__ = False  # not a pytest class

    path: str
    sites: tuple[Site, ...]
    analysis: Analysis = field(repr=False, compare=False)
    quiet: tuple[Edit, ...] = field(repr=False, compare=False)
    bare: Removal = field(repr=False, compare=False)
    mirrored: Removal | None = field(repr=False, compare=False)
    _bases: dict[frozenset[int], tuple[Edit, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def recording(self, without: Collection[int] = ()) -> str:
        """The source that asserts as before, and emits both sides of every site but some."""
        source = self.analysis.source

        def mode(spot: Spot) -> Mode:
            return "plain" if spot.site.id in without else "both"

        edits = rewrite(source, self.analysis.spots, mode)
        return apply(source.data, [_import(source), *edits]).decode()

    def shipped(
        self,
        observed: Collection[int],
        *,
        siblings: Sequence[Sibling] = (),
        insisting: bool = False,
    ) -> str:
        """The source without the expected sides.

        Args:
            observed: Ids of sites. Of these, those with sides ``"one"`` only emit the actual value
                and assert nothing; those with ``"both"`` assert and emit both. Others stay.
            siblings: Copies to add; in them every site asserts nothing, and those observed emit
                the actual value alone.
            insisting: Whether the copies go on after what fails; for unsolved code.
        """
        chosen = frozenset(observed)
        if chosen not in self._bases:  # asked for again and again, with other siblings
            self._bases[chosen] = tuple(self._base(chosen))
        added = (self._added(sibling, chosen, insisting) for sibling in siblings)
        return apply(self.analysis.source.data, [*self._bases[chosen], *added]).decode()

    def _base(self, chosen: frozenset[int]) -> Iterator[Edit]:
        def mode(spot: Spot) -> Mode:
            if spot.site.id not in chosen:
                return "plain"
            return "actual" if spot.site.sides == "one" else "both"

        yield _import(self.analysis.source)
        yield from self.quiet
        yield from rewrite(self.analysis.source, self.analysis.spots, mode)
        yield from remove(self.analysis, _emitted(self.analysis, chosen)).edits

    def sealed(self, observed: Collection[int]) -> frozenset[int]:
        """Those of the sites whose expected side is wholly gone from ``shipped(observed)``."""
        return _sealed(self.analysis, frozenset(observed))

    @cached_property
    def controllable(self) -> frozenset[str]:
        """Tests (as ``Site.test``) that ``control`` can perturb."""
        return frozenset(
            part.name
            for part in self.tests()
            if invert(self.analysis.source, part.node, self.analysis.names)
        )

    def control(self, asked: Mapping[str, Sequence[Control]]) -> str:
        """The source with tests of which some copies ask the opposite, and some fail in any case.

        Args:
            asked: By test, as ``Site.test``: what it becomes itself, and then each of its copies,
                whose names are those of ``control_name``.
        """
        source, edits = self.analysis.source, list[Edit]()
        for part in self.tests():
            if not (kinds := asked.get(part.name)):
                continue
            changes: dict[Control, list[Edit]] = {
                "real": [],
                "opposite": invert(source, part.node, self.analysis.names),
                "failing": [_failing(source, part)],
            }
            edits += changes[kinds[0]]
            for place, kind in enumerate(kinds[1:], 1):
                name = _renamed(source, part, control_name(part.node.name, place))
                text = apply(source.data, [name, *changes[kind]], _whole(source, part)).decode()
                end = source.span(part.node)[1]
                edits.append((end, end, f"\n\n{text}\n"))
        return apply(source.data, edits).decode()

    def copy_of(
        self,
        function: Function,
        name: str,
        edits: Sequence[Edit],
        observed: Collection[int] | None = None,
        mirrored: bool = False,
    ) -> str:
        """A function's source under another name, its sites asserting nothing.

        Args:
            function: Which.
            name: The copy's.
            edits: What else differs, in offsets of the module.
            observed: Sites that emit; None for all.
            mirrored: Where both sides come from code under test, they emit the other one.
        """
        source = self.analysis.source
        spots = [spot for spot in self.analysis.spots if spot.function is function]
        if mirrored:
            spots = [spot.mirrored for spot in spots]
        within = _whole(source, function)

        def mode(spot: Spot) -> Mode:
            return "actual" if observed is None or spot.site.id in observed else "mute"

        inside = [
            edit
            for edit in (*self.quiet, *self.removal(mirrored).edits)
            if within[0] <= edit[0] and edit[1] <= within[1]
        ]
        changes = [*rewrite(source, spots, mode), *edits, *_guards(source, function)]
        every = [*inside, *changes, _renamed(source, function, name)]
        return apply(source.data, every, within).decode()

    def removal(self, mirrored: bool) -> Removal:
        """What goes in a copy."""
        return self.mirrored if mirrored and self.mirrored is not None else self.bare

    def tests(self) -> Iterator[Function]:
        """Functions that are tests."""
        return (part for part in self.analysis.functions if part.is_test)

    def _added(self, sibling: Sibling, observed: frozenset[int], insisting: bool) -> Edit:
        """Put a sibling at the end of the module, or of the class."""
        function = next(part for part in self.tests() if part.name == sibling.test)
        text = self.copy_of(
            function, sibling.name, sibling.edits, observed, mirrored=sibling.mirrored
        )
        text = insistent(text) if insisting else text
        source = self.analysis.source
        place = source.span(function.scope[-1])[1] if function.scope else len(source.data)
        return place, place, f"\n\n{text}\n"


def parse_module(path: str, source: bytes, packages: Collection[str]) -> TestModule | None:
    """Read a test module; what was read a moment ago is known.

    Args:
        path: Where it lies.
        source: Its bytes; UTF-8.
        packages: Names that code under test is imported by (``"toolz"``).

    Returns:
        The module, or None where it cannot be rewritten: not Python, not UTF-8, or nested deeper
        than can be followed.
    """
    return _parsed(path, source, tuple(sorted(packages)))


@lru_cache(maxsize=32)
def _parsed(path: str, source: bytes, packages: tuple[str, ...]) -> TestModule | None:
    parsed = read(source)
    try:
        return None if parsed is None else _module(path, parsed, packages)
    except RecursionError:
        return None


def _module(path: str, parsed: Source, packages: Collection[str]) -> TestModule:
    analysis = Analysis(path, parsed, packages)
    sealed = _sealed(analysis, frozenset(spot.site.id for spot in analysis.spots))
    sites = (spot.site for spot in analysis.spots)
    mutual = any(spot.mutual for spot in analysis.spots)
    return TestModule(
        path,
        tuple(replace(site, sealed=site.id in sealed) for site in sites),
        analysis,
        tuple(_silence(parsed)),
        remove(analysis, analysis.spots),
        remove(analysis, [spot.mirrored for spot in analysis.spots]) if mutual else None,
    )


def control_name(function: str, place: int) -> str:
    """What a control's copy of a test is called, by its place among them."""
    return f"{function}_asked_{place}"


def _whole(source: Source, function: Function) -> Span:
    """From its first decorator to its end."""
    node = function.node
    first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
    return source.starts[first - 1], source.span(node)[1]


def _failing(source: Source, function: Function) -> Edit:
    """A test fails before anything else."""
    first = function.node.body[0]
    decorators = getattr(first, "decorator_list", ())
    line = source.starts[min([first.lineno, *(part.lineno for part in decorators)]) - 1]
    lead = source.data[line : source.span(first)[0]]
    if lead.strip() and not decorators:  # all on one line
        start = line + len(lead)
        return start, start, "raise AssertionError; "
    indent = lead[: len(lead) - len(lead.lstrip())].decode()
    return line, line, f"{indent}raise AssertionError\n"


def _renamed(source: Source, function: Function, name: str) -> Edit:
    start = source.span(function.node)[0]
    found = re.compile(rb"def\s+").search(source.data, start)
    at = found.end() if found else start
    return at, at + len(function.node.name.encode()), name


def _guards(source: Source, function: Function) -> Iterator[Edit]:
    """Cases that cannot be made are none: the module, and all other copies in it, must not fail."""
    own = {name for part in function.scope for name in defined(part)}
    for table in function.tables[: len(function.tables) - function.shared]:
        # What a class names is not seen in a function there.
        given = ", ".join(f"{name}={name}" for name in sorted(own & reads(table.rows)))
        start, end = source.span(table.rows)
        size = len(table.names) if table.rowed else None
        yield start, start, f"{NAME}.rows({size}, lambda {given}: "
        yield end, end, ")"


def _emitted(analysis: Analysis, observed: frozenset[int]) -> list[Spot]:
    return [
        spot for spot in analysis.spots if spot.site.id in observed and spot.site.sides == "one"
    ]


def _sealed(analysis: Analysis, observed: frozenset[int]) -> frozenset[int]:
    emitted = _emitted(analysis, observed)
    removal = remove(analysis, emitted)
    return frozenset(spot.site.id for spot in emitted if removal.sealed(spot, analysis))


def _import(source: Source) -> Edit:
    """After what has to come first; where it can be, on a line that is there already."""
    body, at = source.tree.body, 0
    while at < len(body) and _comes_first(body[at], at):
        at += 1
    if at:
        end = source.span(body[at - 1])[1]
        return end, end, f"; {IMPORT}"
    if not body:
        return len(source.data), len(source.data), f"{IMPORT}\n"
    lines = [body[0].lineno]
    if isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        lines += [part.lineno for part in body[0].decorator_list]
    start = source.starts[min(lines) - 1]
    compound = hasattr(body[0], "body")
    return start, start, f"{IMPORT}\n" if compound else f"{IMPORT}; "


def _comes_first(node: ast.stmt, place: int) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return place == 0 and text and isinstance(getattr(node, "value").value, str)  # noqa: B009


def _silence(source: Source) -> Iterator[Edit]:
    """Empty comments and docstrings: they may tell what is expected."""
    yield from source.comments()
    if b"__doc__" in source.data:
        return
    scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(source.tree):
        if isinstance(node, scopes) and node.body:
            first = node.body[0]
            if _comes_first(first, 0) and not isinstance(first, ast.ImportFrom):
                start, end = source.span(first)
                if b">>>" not in source.data[start:end]:
                    yield start, end, f'"""{source.newlines(start, end)}"""'
