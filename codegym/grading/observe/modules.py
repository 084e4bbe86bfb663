"""Test modules, rewritten so that assertions become observations. Text in, text out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from codegym.grading.observe.sites import Sibling, Site


@dataclass(frozen=True)
class TestModule:
    """A test module and what can be observed in it.

    Attributes:
        path: Where it lies, relative to the tree.
        sites: Its assertions that can be observed, in order of their lines.
    """

    __test__ = False  # not a pytest class

    path: str
    sites: tuple[Site, ...]

    def recording(self) -> str:
        """The source that asserts as before, and emits both sides of every site."""
        raise NotImplementedError

    def shipped(self, observed: Collection[int], *, siblings: Sequence[Sibling] = ()) -> str:
        """The source without the expected sides.

        Args:
            observed: Ids of sites. Of these, those with sides ``"one"`` only emit the actual value
                and assert nothing; those with ``"both"`` assert and emit both. Others stay.
            siblings: Copies to add; in them every site asserts nothing, and those observed emit
                the actual value alone.
        """
        raise NotImplementedError

    def sealed(self, observed: Collection[int]) -> frozenset[int]:
        """Those of the sites whose expected side is wholly gone from ``shipped(observed)``."""
        raise NotImplementedError

    @property
    def controllable(self) -> frozenset[str]:
        """Tests (as ``Site.test``) that ``control`` can perturb."""
        raise NotImplementedError

    def control(self, perturbed: Mapping[str, bool]) -> str:
        """The source with, for each test that maps to True, its assertions inverted.

        Args:
            perturbed: By test, as ``Site.test``. A test that maps to False, or is not named, stays.
        """
        raise NotImplementedError


def parse_module(path: str, source: bytes, packages: Collection[str]) -> TestModule | None:
    """Read a test module.

    Args:
        path: Where it lies.
        source: Its bytes; UTF-8.
        packages: Names that code under test is imported by (``"toolz"``).

    Returns:
        The module, or None where it cannot be rewritten: not Python, or not UTF-8.
    """
    raise NotImplementedError
