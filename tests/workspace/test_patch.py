"""Patches: what is written can be applied, here and by git; what does not fit is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codegym.errors import TaskError
from codegym.types import Change, File, Mode, Tree
from codegym.workspace import git
from codegym.workspace.patch import apply_changes, apply_patch, diff_trees

NAMES = [
    "a",
    "b.py",
    "a b",
    " b/",
    'q"q',
    "é",
    "tab\there",
    "back\\slash",
    "n\nl",
    "\udcff",
    "dev/null",
]
FOLDERS = ["", "src/", "src/pkg/", "with space/", "b/"]
LINES = [
    b"\n",
    b"x\n",
    b"y\n",
    b"-- \n",
    b"+++ b/x\n",
    b"\r\n",
    b"a\rb\n",
    b"\x00\n",
    b"\xff\xfe\n",
    b"\x0c \xc2\x85\n",
]

paths = st.builds(str.__add__, st.sampled_from(FOLDERS), st.sampled_from(NAMES)).map(
    lambda path: path.replace("//", "/").strip("/")
)
texts = st.builds(
    lambda lines, end: b"".join(lines) + end,
    st.lists(st.sampled_from(LINES), max_size=24),
    st.sampled_from([b"", b"no newline", b"\r", b"\\ No newline at end of file"]),
)
regular: st.SearchStrategy[File] = st.builds(
    File, texts, st.sampled_from(["100644", "100644", "100755"])
)
links = st.builds(File, st.sampled_from([b"a", b"b.py", b"src"]), st.just("120000"))


def _sound(tree: dict[str, File]) -> bool:
    folders = {p[:i] for p in tree for i, c in enumerate(p) if c == "/"}
    return not folders & tree.keys()


def _linked(tree: dict[str, File]) -> bool:
    return all("/" not in path or file.mode != "120000" for path, file in tree.items())


trees = st.dictionaries(paths, st.one_of(regular, regular, regular, links), max_size=6).filter(
    lambda tree: _sound(tree) and _linked(tree)
)


@st.composite
def edited(draw: st.DrawFn) -> tuple[Tree, Tree]:
    """A tree and one made from it by small edits, or an unrelated one."""
    old = draw(trees)
    new = dict(draw(trees))
    for path, file in old.items():
        if draw(st.booleans()) and file.mode != "120000":
            lines = file.data.split(b"\n")
            at = draw(st.integers(0, len(lines)))
            cut = draw(st.integers(0, 3))
            new[path] = File(b"\n".join([*lines[:at], b"new", *lines[at + cut :]]), file.mode)
    return (old, new) if _sound(new) else (old, draw(trees))


@given(edited())
@settings(max_examples=400, deadline=None)
def test_a_difference_applied_gives_the_other_tree(pair):
    old, new = pair
    assert apply_patch(old, diff_trees(old, new), where="t") == new


@given(edited())
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_git_applies_our_patches_and_we_apply_gits(tmp_path_factory, pair):
    old, new = pair
    folder = tmp_path_factory.mktemp("g")
    git.run("init", "-q", "--template=", ".", folder=folder)
    commits = [_commit(folder, tree) for tree in (old, new)]
    ours = diff_trees(old, new)
    assert _git_applied(folder, commits[0], ours) == commits[1]
    for option in ("--no-renames", "--find-renames=10%", "--find-copies-harder"):
        theirs = git.run("diff", "--text", option, *commits, folder=folder)
        assert apply_patch(old, theirs.decode("utf-8", "surrogateescape"), where="t") == new


def _commit(folder: Path, tree: Tree) -> str:
    """Put a tree into git and return the tree's hash."""
    index = {"GIT_INDEX_FILE": str(folder / "scratch-index")}
    (folder / "scratch-index").unlink(missing_ok=True)
    entries = []
    for path, file in tree.items():
        oid = git.run("hash-object", "-w", "--stdin", folder=folder, stdin=file.data).strip()
        name = path.encode("utf-8", "surrogateescape")
        entries.append(b"%s %s\t%s\0" % (file.mode.encode(), oid, name))
    git.run("update-index", "-z", "--index-info", folder=folder, stdin=b"".join(entries), env=index)
    return git.run("write-tree", folder=folder, env=index).decode().strip()


def _git_applied(folder: Path, tree: str, patch: str) -> str:
    index = {"GIT_INDEX_FILE": str(folder / "apply-index")}
    git.run("read-tree", tree, folder=folder, env=index)
    if patch:
        data = patch.encode("utf-8", "surrogateescape")
        git.run("apply", "--cached", "--whitespace=nowarn", folder=folder, stdin=data, env=index)
    return git.run("write-tree", folder=folder, env=index).decode().strip()


def f(text: str, mode: Mode = "100644") -> File:
    return File(text.encode(), mode)


BASE: Tree = {"a.py": f("one\ntwo\nthree\n"), "run.sh": f("#!/bin/sh\n", "100755"), "e": f("")}


MAIL = """\
From: someone
Subject: x

---
 a.py | 2 +-

diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -2 +2 @@ def f():
-two
+2
--\x20
2.39.5

"""
SWAP = """\
diff --git a/a.py b/run.sh
rename from a.py
rename to run.sh
diff --git a/run.sh b/a.py
rename from run.sh
rename to a.py
"""
MOVE = """\
diff --git a/e b/new dir/e
similarity index 100%
rename from e
rename to new dir/e
"""
CREATE = "diff --git a/x b/x\nnew file mode 100755\nindex 0000000..e69de29\n"
CHMOD = "diff --git a/run.sh b/run.sh\nold mode 100755\nnew mode 100644\n"
DATED = "--- a/a.py\t2020-01-01 00:00:00\n+++ b/a.py\t2020-01-01\n"
HEAD = "--- a/a.py\n+++ b/a.py\n"
CUT = "\\ No newline at end of file\n"


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ("", BASE),
        ("\n\n", BASE),
        (MAIL, {**BASE, "a.py": f("one\n2\nthree\n")}),
        (DATED + "@@ -1,3 +1,2 @@\n one\n-two\n three", {**BASE, "a.py": f("one\nthree\n")}),
        (MOVE, {"a.py": BASE["a.py"], "run.sh": BASE["run.sh"], "new dir/e": f("")}),
        (CHMOD, {**BASE, "run.sh": f("#!/bin/sh\n")}),
        (SWAP, {"a.py": BASE["run.sh"], "run.sh": BASE["a.py"], "e": BASE["e"]}),
        (CREATE, {**BASE, "x": f("", "100755")}),
        (HEAD + "@@ -3 +3 @@\n-three\n+three\n" + CUT, {**BASE, "a.py": f("one\ntwo\nthree")}),
    ],
)
def test_what_applies(patch, expected):
    assert apply_patch(BASE, patch, where="t") == expected


DELETE_E = "diff --git a/e b/e\ndeleted file mode 100644\n"


def created(path: str, line: str = "1\n", mode: str = "") -> str:
    head = f"diff --git a/{path} b/{path}\nnew file mode {mode}\n" if mode else ""
    return f"{head}--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}"


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("hello\n", "no file's header"),
        ("@@ -1 +1 @@\n-one\n+1\n", "before any file's header"),
        (HEAD + "@@ -1 +1 @@\n-uno\n+1\n", "does not match 'a.py' at line 1"),
        (HEAD + "@@ -2 +2 @@\n-one\n+1\n", "does not match 'a.py' at line 2"),  # no offset
        (HEAD + "@@ -1,2 +1 @@\n-one\n+1\n", "fewer lines"),
        (HEAD + "@@ -1 +1 @@\n-one\n+1\n+2\n", "neither a file's header"),
        (HEAD + "@@ -1 +1 @@\n-one\n+1\n@@ -1 +1 @@\n-one\n+1\n", "overlaps"),
        (HEAD + "@@ -0 +1 @@\n-one\n+1\n", "counted from 1"),
        (HEAD + "@@ bad @@\n", "no hunk header"),
        (HEAD, "a hunk"),
        (HEAD + "@@ -1 +1 @@\n\\ No newline at end of file\n-one\n+1\n", "no line before"),
        (HEAD + "@@ -1 +1 @@\n-one\n+1\n\\ No newline at end of file\n", "would not be the last"),
        (HEAD + "@@ -1 +1 @@\n-one\n+1\n" + HEAD + "@@ -2 +2 @@\n-two\n+2\n", "a second time"),
        ("--- a/no.py\n+++ b/no.py\n@@ -1 +1 @@\n-one\n+1\n", "no file 'no.py'"),
        ("--- a.py\n+++ a.py\n@@ -1 +1 @@\n-one\n+1\n", "should begin with `a/`"),
        ("--- a/a.py\n+++ b/b.py\n@@ -1 +1 @@\n-one\n+1\n", "nothing says it is renamed"),
        (created("a.py"), "is there already"),
        ("--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "not all its lines"),
        (created("../x"), "not normalised"),
        (created(".GIT/hooks/x"), "git keeps"),
        (created("a.py/x"), "file and a folder"),
        (created("l", "/etc/passwd\n" + CUT, "120000"), "leaves the tree"),
        (created("x", "Subproject commit 1\n", "160000"), "submodules"),
        ("diff --git a/x b/x\nnew file mode 100666\n", "no mode of a file"),
        ("diff --git a/a.py b/a.py\nold mode 100755\nnew mode 100644\n", "has mode 100644"),
        ("diff --git a/a.py b/a.py\nold mode 100644\nnew mode 120000\n", "by its mode"),
        ("diff --git a/a.py b/a.py\nindex 1..2\nBinary files a/a.py and b/a.py differ\n", "binary"),
        ("diff --git a/a.py b/a.py\nindex 1..2\nGIT binary patch\nliteral 0\n", "binary"),
        ("diff --git a/a.py b/b.py\n" + HEAD + "@@ -1 +1 @@\n-one\n+1\n", "do not agree"),
        ("diff --git a/a.py b/a.py\nindex 1..2\n", "what is done"),
        ("diff --git a/a.py b/c\nrename from a.py\n", "come together"),
        (DELETE_E + DELETE_E, "went before"),
        ("\ud800", "surrogate"),
    ],
)
def test_what_does_not_apply_says_why(patch, said):
    with pytest.raises(TaskError) as caught:
        apply_patch(BASE, patch, where="kv-1")
    assert said in str(caught.value)
    assert "task kv-1" in str(caught.value)


def test_patches_of_the_wild_with_carriage_returns_keep_them():
    tree = {"w.txt": File(b"a\r\nb\r\n")}
    patch = "diff --git a/w.txt b/w.txt\n--- a/w.txt\n+++ b/w.txt\n@@ -2 +2 @@\n-b\r\n+c\r\n"
    assert apply_patch(tree, patch, where="t") == {"w.txt": File(b"a\r\nc\r\n")}


def test_adversarial_files_are_compared_in_bounded_time():
    """Two long files of a few different lines, where an exact comparison takes hours."""
    dice = os.urandom(60_000)
    old = {"x": File(b"".join(b"%d\n" % (byte % 2) for byte in dice))}
    new = {"x": File(b"".join(b"%d\n" % (byte % 2) for byte in reversed(dice)))}
    assert apply_patch(old, diff_trees(old, new), where="t") == new


def test_a_small_change_in_a_large_file_stays_small():
    lines = [b"line %d\n" % number for number in range(20_000)]
    edited_lines = [b"first\n", *lines[:9_000], *lines[9_002:], b"last\n"]
    patch = diff_trees({"x": File(b"".join(lines))}, {"x": File(b"".join(edited_lines))})
    assert len(patch.splitlines()) < 30


def test_changes_are_laid_over():
    tree = {"a": f("1"), "d/x": f("2"), "d/y": f("3"), "l": File(b"a", "120000")}
    changed = apply_changes(
        tree,
        [
            Change("a/b", b"under"),
            Change("d", b"file", executable=True),
            Change("l", b"no link"),
            Change("gone", None),
            Change("d/y", None),
        ],
    )
    assert changed == {"a/b": f("under"), "d": f("file", "100755"), "l": f("no link")}
    assert tree["a"] == f("1")


def test_nothing_of_the_users_git_configuration_is_read(tmp_path, monkeypatch):
    marker = tmp_path / "ran"
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        f"[core]\n\thooksPath = {home}\n\tfsmonitor = touch {marker}\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    git.run("init", "-q", "--template=", ".", folder=tmp_path)
    git.run("status", folder=tmp_path)
    assert not marker.exists()
    shown = git.run("config", "--list", "--show-origin", folder=tmp_path)
    assert str(home).encode() not in shown
    with pytest.raises(git.GitError, match=r"git cat-file: .*abc"):
        git.run("cat-file", "-t", "abc", folder=tmp_path)
