"""What a path of a policy's work is judged from: the rules' and the trusted trees' side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from codegym.grading.shape import prefixes
from codegym.tasks import Environment, Suite
from codegym.types import Change, Tree

#: How a compiled module's name ends.
NATIVE = (".so", ".pyd", ".dylib", ".dll")
#: How the name of what other compilers make ends: linked or loaded in place of its source.
MADE = (".o", ".a", ".lib", ".obj", ".rlib", ".rmeta", ".node", ".wasm", ".class", ".jar")
#: How a file's name ends that an interpreter may import.
IMPORTABLE = (".py", ".pyc", *NATIVE)


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of the work: a change, or something that was seen and not read (``unread``)."""

    path: str
    change: Change | None = None
    unread: str = ""

    @property
    def name(self) -> str:
        """Its last part."""
        return self.path.rpartition("/")[2]

    @property
    def deleted(self) -> bool:
        """Whether the file is gone."""
        return self.change is not None and self.change.data is None

    @property
    def data(self) -> bytes | None:
        """Its new content, where there is one."""
        return self.change.data if self.change else None


@dataclass(frozen=True)
class Scene:
    """What a judgement is made from: the environment's rules, and the trusted trees.

    Attributes:
        permitted: Globs of where edits cross.
        protected: Globs of where they never do.
        config: Files that configure the suite.
        select: Files and folders of the suite's tests.
        import_paths: Folders on the import path; ``""`` for the repository's root.
        start: The tree the policy was given.
        grading: The tree it is graded in.
    """

    permitted: tuple[str, ...]
    protected: tuple[str, ...]
    config: frozenset[str]
    select: tuple[str, ...]
    import_paths: frozenset[str]
    start: Tree
    grading: Tree

    @staticmethod
    def of(environment: Environment, suite: Suite, start: Tree, grading: Tree) -> Scene:
        """Put an environment's paths together; those of a suite are relative to ``subdir``."""

        def inside(paths: Iterable[str]) -> tuple[str, ...]:
            return tuple(_join(environment.subdir, path) for path in paths)

        return Scene(
            permitted=environment.edits.permitted,
            protected=environment.edits.protected,
            config=frozenset(inside(suite.config)),
            select=inside(name.partition("::")[0] for name in suite.select),
            import_paths=frozenset(inside((*suite.import_paths, *environment.image.import_paths))),
            start=start,
            grading=grading,
        )

    @cached_property
    def roots(self) -> frozenset[str]:
        """Folders that modules are imported from, those that pytest adds for its files included."""
        files = (path for path in self.grading if _is_test_name(path.rpartition("/")[2]))
        return self.import_paths | {self._package_root(path) for path in files}

    def _package_root(self, path: str) -> str:
        folder = path.rpartition("/")[0]
        while folder and f"{folder}/__init__.py" in self.grading:
            folder = folder.rpartition("/")[0]
        return folder

    @cached_property
    def folders(self) -> frozenset[str]:
        """Folders of the tree it is graded in."""
        found = (prefix for path in self.grading for prefix in prefixes(path) if prefix != path)
        return frozenset(found)

    @cached_property
    def modules(self) -> frozenset[tuple[str, str]]:
        """Modules of the trusted trees that lie at an import root, as (root, name)."""
        trees = (*self.start, *self.grading)
        return frozenset(place for path in trees for place in self.places(path))

    @cached_property
    def package_names(self) -> frozenset[str]:
        """Top-level modules of the repository itself, tests left out."""
        found = (name for root, name in self.modules if root in self.import_paths)
        return frozenset(found) - {"conftest", "setup", "test", "tests"}

    def places(self, path: str) -> list[tuple[str, str]]:
        """At which import roots a file is, or is part of, a top-level module; with its name."""
        if not path.endswith(IMPORTABLE):
            return []
        inside = (
            (root, path[len(root) + 1 if root else 0 :])
            for root in self.roots
            if not root or path.startswith(root + "/")
        )
        return [(root, rest.partition("/")[0].partition(".")[0]) for root, rest in inside]

    def is_test(self, path: str) -> bool:
        """Whether a protected path is a test, or data that a test needs."""
        parts = path.split("/")
        return (
            path in self.config
            or _is_test_name(parts[-1])
            or any(part in ("test", "tests", "testing") for part in parts[:-1])
            or any(path == chosen or path.startswith(chosen + "/") for chosen in self.select)
        )


def _join(subdir: str, path: str) -> str:
    parts = (part for part in f"{subdir}/{path}".split("/") if part not in ("", "."))
    return "/".join(parts)


def _is_test_name(name: str) -> bool:
    return name == "conftest.py" or (
        name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))
    )
