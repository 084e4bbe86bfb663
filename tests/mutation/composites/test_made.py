"""Composites that are made of the sources themselves: drift, masks, subtrees, failed patches."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codegym.mutation import COMPOSITES, Attempt
from codegym.mutation.candidates import Candidate
from codegym.mutation.composites import Calls, Ground, Tried
from codegym.mutation.composites.joining import alone
from codegym.mutation.composites.lines import line_edits, taken_back
from codegym.mutation.equivalence import same_code
from codegym.mutation.trial import Trial
from codegym.syntax import Edit, apply_edits, parse, reparse
from codegym.types import Change, File, Task

USERS = {
    "python": b"def f(a, b):\n    return a / b\n\n\ndef g():\n    return f(1, 2) + f(3, 4)\n",
    "javascript": b"function f(a, b) { return a / b }\nfunction g() { return f(1, 2) + f(3, 4) }\n",
    "typescript": b"function f(a: number, b: number): number { return a / b }\n"
    b"function g() { return f(1, 2) + f(3, 4) }\n",
    "go": b"package p\nfunc f(a int, b int) int { return a / b }\n"
    b"func g() int { return f(1, 2) + f(3, 4) }\n",
    "rust": b"fn f(a: i64, b: i64) -> i64 { return a / b }\nfn g() -> i64 { f(1, 2) + f(3, 4) }\n",
    "java": b"class C { int f(int a, int b) { return a / b; }\n"
    b"int g() { return f(1, 2) + f(3, 4); } }\n",
    "c": b"int f(int a, int b) { return a / b; }\nint g() { return f(1, 2) + f(3, 4); }\n",
}


def ground_of(files, language="python", **more):
    parsed = {path: parse(data, language) for path, data in files.items()}
    return Ground(
        environment=more.pop("environment", SimpleNamespace(language=language, head="0" * 40)),
        tree={path: File(data) for path, data in files.items()},
        files=parsed,
        baselines=more.pop("baselines", []),
        calls=Calls(parsed),
        **more,
    )


def sound(candidate):
    """All that any candidate of several edits promises."""
    for path, (parsed, edits) in candidate.files.items():
        after = reparse(parsed, edits)
        assert after.is_clean, candidate.mutants[path].decode()
        after.source.decode()
        if parsed.language == "python":
            assert same_code(parsed.source, after.source) is False
    assert candidate.order > 1
    return candidate


@pytest.mark.parametrize("language", sorted(USERS))
def test_only_some_users_follow_an_interface(language):
    found = list(COMPOSITES["composite.drift"].propose(ground_of({"f": USERS[language]}, language)))
    assert {dict(one.why)["drift"] for one in found} == {"parameters", "unit"}
    made = {sound(one).mutant for one in found}
    swapped = [one for one in made if b"f(2, 1)" in one or b"f(4, 3)" in one]
    scaled = [one for one in made if b"* 1000" in one]
    assert swapped
    assert scaled
    for one in swapped:
        assert (b"f(2, 1)" in one) != (b"f(4, 3)" in one)
        assert b"a, b" not in one
    for one in scaled:
        assert (b"(f(1, 2) / 1000)" in one) != (b"(f(3, 4) / 1000)" in one)


TYPED = {
    "go": b"package p\nfunc f(a int, b string) {}\nfunc g() { f(1, h()); f(2, k()) }\n",
    "java": b"class C { void f(int a, String b) {} void g() { f(1, h()); f(2, k()); } }\n",
    "c": b"void f(int a, char *b) {}\nvoid g() { f(1, h()); f(2, k()); }\n",
    "python": b"def f(a, *b): pass\ndef k(a, b=1): pass\ndef g():\n    f(1, 2)\n    f(3, 4)\n"
    b"    k(1, 2)\n    k(3, 4)\n",
}


@pytest.mark.parametrize("language", sorted(TYPED))
def test_what_would_not_compile_does_not_drift(language):
    ground = ground_of({"f": TYPED[language]}, language)
    assert list(COMPOSITES["composite.drift"].propose(ground)) == []


async def test_an_interface_drifts_where_both_sides_are_needed(project):
    ground = await project.ground()
    drift = COMPOSITES["composite.drift"]
    taken = 0
    for one in drift.propose(ground):
        reason, _ = await project.verdict(drift, sound(one))
        if reason is None:
            taken += 1
            assert (await project.attempt(alone(one.spots[:1], one.kind))).failing
    assert taken


def test_the_halves_of_a_drift_that_tests_do_not_notice():
    """A user that no test runs is no part of what is to be repaired."""
    drift = COMPOSITES["composite.drift"]
    one = next(iter(drift.propose(ground_of({"f": USERS["python"]}))))
    noticed, unnoticed = Trial(failing=("t",)), Trial("survived")
    assert len(drift.parts(one)) == 2
    assert drift.fault(one, noticed, [noticed, noticed]) is None
    for parts in ([noticed, unnoticed], [unnoticed, noticed]):
        assert drift.fault(one, noticed, parts) == "not_needed"


async def test_a_mask_hides_where_the_error_was_raised(project):
    ground = await project.ground()
    mask = COMPOSITES["composite.mask"]
    verdicts = set()
    for one in mask.propose(ground):
        reason, trial = await project.verdict(mask, sound(one))
        verdicts.add(reason)
        if reason is None:
            assert b"except Exception:" in b"".join(one.mutants.values())
            (fault,) = (spot for spot in one.spots if spot.operator != mask.id)
            single = await project.attempt(alone([fault], one.kind))
            shown = [frame for frame in single.frames if frame.startswith(fault.path)]
            assert shown
            assert not set(shown) & set(trial.frames)
            raised, now = dict(single.raised), dict(trial.raised)
            assert any(
                error not in ("AssertionError", "Failed") and now.get(test, error) != error
                for test, error in raised.items()
            )
            without = [spot for spot in one.spots if spot != fault]
            left = await project.attempt(alone(without, one.kind))
            assert set(trial.failing) - set(left.failing)
    assert {None, "not_hidden"} <= verdicts


def test_a_mask_is_put_around_what_an_edit_leaves():
    source = b"def f(a):\n    b = a\n    c = g(b)\n    return c\n\n\ndef g(b):\n    return 1 / b\n"
    ground = ground_of({"f.py": source})
    parsed = ground.files["f.py"]
    trial = Trial(failing=("t",), passing=("u",), raised=(("t", "ValueError"),))
    fields = {"operator": "x", "version": "1", "tier": 1, "kind": "FixTests"}
    for start in range(len(source)):
        for end in (start, start + 1, start + 14):
            edit = Edit(start, min(end, len(source)), b"")
            name = "f" if end < source.index(b"def g") else "g"
            one = Candidate("f.py", parsed, edit, function=name, **fields)
            for made in COMPOSITES["composite.mask"].propose(
                replace(ground, singles=[Tried(one, trial)])
            ):
                assert b"except Exception:" in made.mutant


FEATURE = {
    "feature.py": b'"""x"""\nimport re\n\n\ndef shared(text):\n    """s"""\n    a = text\n'
    b"    return a\n\n\n# What only summary needs.\ndef _words(text):\n    found = shared(text)\n"
    b"    return found.split()\n\n\ndef _longest(words):\n    best = max(words, key=len)\n"
    b'    return best\n\n\ndef summary(text):\n    """Say it."""\n    words = _words(text)\n'
    b'    longest = _longest(words)\n    return f"{len(words)} words, {longest} the longest"\n\n\n'
    b"def other(text):\n    a = shared(text)\n    b = a\n    return b + b\n",
}
TESTS = """\
from feature import other, summary


def test_summary():
    assert summary("a bcd e") == "3 words, bcd the longest"


def test_other():
    assert other("a") == "aa"


def test_other_empty():
    assert other("") == ""
"""


@pytest.fixture
async def feature(make_project):
    made = make_project({path: data.decode() for path, data in FEATURE.items()}, TESTS)
    home = SimpleNamespace(language="python", head="0" * 40)
    return made, await made.ground(environment=home)


async def test_a_feature_goes_with_what_only_it_needed(feature):
    made, ground = feature
    subtree = COMPOSITES["composite.subtree"]
    (one,) = subtree.propose(ground)
    left = sound(one).mutant
    assert one.kind == "ImplementFeature"
    assert dict(one.why)["feature"] == "feature.py::summary"
    assert b'def summary(text):\n    """Say it."""\n    raise NotImplementedError\n' in left
    for gone in (b"_words", b"_longest", b"What only summary", b"the longest"):
        assert gone not in left
    assert b"def shared" in left
    reason, trial = await made.verdict(subtree, one)
    assert trial.failing == ("test_all.py::test_summary",)
    assert reason is None


@pytest.mark.parametrize(
    "use", ["from feature import _words\n", "import feature\nfeature._words('x')\n", "_words = 1\n"]
)
async def test_what_a_test_names_stays(make_project, use):
    files = {path: data.decode() for path, data in FEATURE.items()}
    made = make_project(files, use + TESTS)
    ground = await made.ground(environment=SimpleNamespace(language="python", head="0" * 40))
    (one,) = COMPOSITES["composite.subtree"].propose(ground)
    assert b"def _words" in one.mutant
    assert b"_longest(" not in one.mutant


async def test_no_class_is_left_empty(make_project):
    """All of its methods are the feature's alone."""
    source = (
        "class Words:\n    def first(self, text):\n        a = text\n        return a[:1]\n\n"
        "    def last(self, text):\n        a = text\n        return a[-1:]\n\n\n"
        "def summary(text):\n    words = Words()\n    a = words.first(text)\n"
        "    b = words.last(text)\n    return a + b\n\n\n"
        "def other(text):\n    a = text\n    b = a\n    return b + b\n"
    )
    tests = TESTS.replace('"a bcd e") == "3 words, bcd the longest"', '"abc") == "ac"')
    made = make_project({"feature.py": source}, tests)
    ground = await made.ground(environment=SimpleNamespace(language="python", head="0" * 40))
    (one,) = COMPOSITES["composite.subtree"].propose(ground)
    assert b"def last" in sound(one).mutant
    assert b"def first" not in one.mutant


async def test_a_subtree_that_others_miss_is_not_exclusive(feature):
    made, ground = feature
    subtree = COMPOSITES["composite.subtree"]
    (one,) = subtree.propose(ground)
    parts = [await made.attempt(part) for part in subtree.parts(one)]
    trial = replace(await made.attempt(one), failing=("test_all.py::test_other",))
    assert subtree.fault(one, trial, parts) == "not_exclusive"


SOURCE = b"def f(a):\n    return a + 1\n\n\ndef g(a):\n    return f(a) * 2\n"
START = """\
diff --git a/f.py b/f.py
--- a/f.py
+++ b/f.py
@@ -1,2 +1,2 @@
 def f(a):
-    return a + 1
+    return a - 1
"""


def failed(changes, **fields):
    task = Task("t-1", "tiny", "0" * 40, "", ("t::a",), (), start_patch=START)
    attempt = Attempt(replace(task, **fields), tuple(Change(*one) for one in changes))
    return list(
        COMPOSITES["composite.failed"].propose(ground_of({"f.py": SOURCE}, attempts=[attempt]))
    )


def test_a_failed_patch_is_where_the_next_task_starts():
    left = SOURCE.replace(b"a + 1", b"a - 1").replace(b"* 2", b"* 3")
    (one,) = failed([("f.py", left), ("notes.txt", b"hm"), ("new.py", b"x = 1\n")])
    assert sound(one).mutants == {"f.py": left}
    assert (dict(one.why)["parent"], one.order) == ("t-1", 2)
    assert [spot.function for spot in one.spots] == ["f", "g"]
    (third,) = failed([("f.py", left)], features={"order": 2})
    assert third.order == 3


def test_attempts_that_nothing_can_be_made_of():
    assert failed([("f.py", SOURCE)]) == []  # it was the solution
    assert failed([("notes.txt", b"x")]) == []  # the start again
    assert failed([("f.py", SOURCE + b"# x\n")], base_commit="1" * 40) == []
    assert failed([("f.py", SOURCE + b"# x\n")], start_patch=START.replace("def f", "def h")) == []


LINES = st.lists(
    st.sampled_from([b"a\n", b"b\n", "é\n".encode(), b"\r\n", b"c\n", b"x"]), max_size=9
)
TEXTS = LINES.map(b"".join)


@given(TEXTS, TEXTS)
def test_line_edits_are_the_difference(old, new):
    assert apply_edits(old, line_edits(old, new)) == new


@given(TEXTS, TEXTS)
def test_what_was_just_changed_can_be_taken_back(before, after):
    assert taken_back(before, after, after) == before


@given(TEXTS, TEXTS, TEXTS)
def test_what_came_later_stays(before, after, later):
    far = b"1\n2\n3\n4\n"
    assert taken_back(before + far, after + far, after + far + later) == before + far + later


@given(TEXTS, TEXTS, TEXTS)
@example(b"x", b"a\n", b"a\na\n")
def test_taking_back_never_guesses(before, after, now):
    """What is given back holds no line that neither text of today nor of then has."""
    found = taken_back(before, after, now)
    if found is not None:
        known = set((now + b"\n" + before).split(b"\n"))
        assert set(found.split(b"\n")) <= known | {b""} or not now.endswith(b"\n")


def test_what_the_catalogue_says():
    assert all(one.kind in ("FixTests", "ImplementFeature") for one in COMPOSITES.values())
    assert {one.tier for one in COMPOSITES.values()} == {4, 5}
    assert all(one.says.endswith(".") for one in COMPOSITES.values())
