"""What a statement must not give away, and whether it does.

The rule. What the failing tests' own files say is public: a user of the code would write it. All
else of the answer is secret:

* *places*: the paths of the edited files and their names, and anything that looks like the place of
  a line (``x.py:12``, ``line 12``);
* *names*: the functions and classes around the edits, and every identifier that the edit puts in or
  takes out, unless the tests' files have the same word;
* *runs*: three tokens in a row of a line that the patch removes or adds, two of them words, unless
  they stand like that in the tests' files.

The words of ``phrases`` are in statements whatever the answer is, so they tell nothing. Of a
feature that is to be written, its own name and file are what is asked for: they are told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from unidiff.patch import PatchSet

from codegym.mutation.statements import phrases
from codegym.types import Task, Tree

RUN = 3
_TOKEN = re.compile(r"[^\W\d]\w*|\d+(?:\.\d+)?|[^\w\s]")
_WORD = re.compile(r"[^\W\d]\w*")
#: Bounded, so that no text takes long.
_PLACE = re.compile(r"\b[\w/-]{1,80}\.\w{1,4}:\d+|\bline \d+", re.IGNORECASE)
#: Words of all languages that say nothing of where they stand.
_COMMON = frozenset({
    "and", "as", "assert", "await", "break", "case", "catch", "class", "const", "continue", "def",
    "default", "del", "do", "elif", "else", "enum", "except", "false", "False", "finally", "fn",
    "for", "from", "func", "function", "go", "if", "import", "in", "int", "is", "lambda", "let",
    "match", "mut", "new", "nil", "none", "None", "not", "null", "or", "pass", "print", "pub",
    "raise", "return", "self", "str", "struct", "switch", "this", "throw", "true", "True", "try",
    "type", "var", "void", "when", "where", "while", "with", "yield", "a", "an", "it", "the",
    "to", "of",
})  # fmt: skip


@dataclass(frozen=True)
class Secrets:
    """What is secret of one answer.

    Attributes:
        names: Words that must not be said.
        paths: Paths and names of files that must not be.
        lines: Lines that the patch removes or adds.
        public: Text of the failing tests' files.
    """

    names: frozenset[str]
    paths: frozenset[str]
    lines: tuple[str, ...]
    public: str

    @classmethod
    def of(cls, task: Task, tree: Tree) -> Secrets:
        """The secrets of a task whose tests are known; places in ``tree`` are its commit's."""
        removed, added = _lines(task.patch)
        public = "\n".join(
            tree[path].data.decode(errors="replace")
            for path in sorted({test.partition("::")[0] for test in task.fail_to_pass})
            if path in tree
        )
        paths = {file.path for file in PatchSet(task.patch)}
        if task.kind == "ImplementFeature":
            return cls(frozenset(), frozenset(), (*removed, *added), public)
        touched = _words(removed) ^ _words(added)
        around = {
            part
            for span in task.provenance.get("spans", ())
            for part in str(span.get("function", "")).split(".")
        }
        names = (touched | around) - _COMMON - _words([public, phrases.TEXT]) - {"", "?"}
        return cls(
            names=frozenset(name for name in names if len(name) > 1),
            paths=frozenset(
                paths | {_stem(path) for path in paths} - _words([public, phrases.TEXT])
            ),
            lines=(*removed, *added),
            public=public,
        )

    @cached_property
    def _runs(self) -> frozenset[tuple[str, ...]]:
        known = {*runs(self.public), *runs(phrases.TEXT)}
        found = {run for line in self.lines for run in runs(line)}
        return frozenset(found - known)

    def leaks(self, text: str) -> tuple[str, ...]:
        """What a text gives away, each in a few words; empty where nothing."""
        words = _words([text])
        found = [f"the name {name}" for name in sorted(self.names & words)]
        found += [f"the file {path}" for path in sorted(self.paths) if _says(text, path)]
        found += [f"the place {place[0]}" for place in _PLACE.finditer(text)]
        said = set(runs(text)) & self._runs
        found += [f"part of the patch: {' '.join(run)}" for run in sorted(said)]
        return tuple(found)

    def without(self, text: str) -> str:
        """A text with its secret words and places crossed out; runs of tokens may be left."""
        for path in sorted(self.paths, key=len, reverse=True):
            text = re.sub(_exactly(path), "…", text)
        text = _PLACE.sub("…", text)
        return _WORD.sub(lambda word: "…" if word[0] in self.names else word[0], text)


def runs(text: str) -> Iterator[tuple[str, ...]]:
    """Every run of tokens that says something: two of them words that are not in all code."""
    tokens = _TOKEN.findall(text)
    for at in range(len(tokens) - RUN + 1):
        run = tuple(tokens[at : at + RUN])
        telling = sum(_WORD.fullmatch(one) is not None and one not in _COMMON for one in run)
        if telling >= 2:
            yield run


def _says(text: str, path: str) -> bool:
    return re.search(_exactly(path), text) is not None


def _exactly(name: str) -> str:
    return rf"(?<![\w]){re.escape(name)}(?![\w])"


def _stem(path: str) -> str:
    """A file's name as an import has it; of ``a/__init__.py`` the folder's."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    return folder.rpartition("/")[2] if stem in {"__init__", "index", "mod", "lib", ""} else stem


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text)}


def _lines(patch: str) -> tuple[list[str], list[str]]:
    """The lines that a patch removes, and those that it adds."""
    changed = [line for file in PatchSet(patch) for hunk in file for line in hunk]
    return (
        [line.value for line in changed if line.is_removed],
        [line.value for line in changed if line.is_added],
    )
