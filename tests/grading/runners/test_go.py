"""The runner ``go``, on real modules in real sandboxes."""

MODULE = {
    "go.mod": "module example.org/sums\n\ngo 1.16\n",
    "sums.go": "package sums\n\nfunc Add(a, b int) int { return a + b }\n",
    "deep/deep.go": 'package deep\n\nimport "example.org/sums"\n\n'
    "func Twice(a int) int { return sums.Add(a, a) }\n",
}
DEEP = (
    'package deep\n\nimport "testing"\n\n'
    "func TestTwice(t *testing.T) { if Twice(2) != 4 { t.Fail() } }\n"
)
HEAD = 'package sums\n\nimport (\n\t"os"\n\t"testing"\n)\n\nvar _ = os.Exit\n\n'


def run(project, text, **options):
    files = {**MODULE, "sums_test.go": HEAD + text, "deep/deep_test.go": DEEP}
    return project.run("go", files, runner="go", **{"select": (".",), **options})


def test_outcomes_and_names(project):
    ran = run(
        project,
        "func TestAdds(t *testing.T) { if Add(1, 2) != 3 { t.Fatal(1) } }\n"
        'func TestIsWrong(t *testing.T) { t.Errorf("it is %d", Add(1, 2)) }\n'
        'func TestSkips(t *testing.T) { t.Skip("no") }\n'
        "func TestParts(t *testing.T) {\n"
        '\tt.Run("one", func(t *testing.T) {})\n'
        '\tt.Run("two words", func(t *testing.T) { t.Error("bad") })\n'
        '\tt.Run("one", func(t *testing.T) {})\n}\n'
        "func helper() {}\n",
    )
    name = "sums_test.go::"
    assert ran.outcomes == {
        f"{name}TestAdds": "passed",
        f"{name}TestIsWrong": "failed",
        f"{name}TestSkips": "skipped",
        f"{name}TestParts": "failed",
        f"{name}TestParts/one": "passed",
        f"{name}TestParts/one#01": "passed",
        f"{name}TestParts/two_words": "failed",
        "deep/deep_test.go::TestTwice": "passed",
    }
    message = ran.message(f"{name}TestIsWrong")
    assert message.startswith("sums_test.go:11: in a test\n")
    assert "E   sums_test.go:11: it is 3" in message


BROKEN = {
    "func TestA(t *testing.T) { return 1 }\n": "too many return values",
    "func TestA(t *testing.T) {}\n"
    "func TestMain(m *testing.M) { m.Run(); os.Exit(3) }\n": "status 1",
    "func TestA(t *testing.T) { t.Error(1) }\n"
    "func TestMain(m *testing.M) { m.Run(); os.Exit(0) }\n": "status 0",
    "func TestMain(m *testing.M) { os.Exit(0) }\nfunc TestA(t *testing.T) {}\n": "status 0",
}


def test_a_package_that_does_not_end_as_it_should_passes_nothing(project):
    files = {"go.mod": MODULE["go.mod"]}
    paths = [f"p{number}/p_test.go" for number in range(len(BROKEN))]
    for path, text in zip(paths, BROKEN, strict=True):
        files[path] = HEAD + text
    ran = project.run("go", files, runner="go", select=(".",))
    assert ran.outcomes == dict.fromkeys(paths, "error")
    for path, said in zip(paths, BROKEN.values(), strict=True):
        assert said in ran.message(path)


def test_what_panics_or_exits_fails_itself_and_what_comes_after(project):
    text = (
        "func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) { os.Exit(0) }\n"
        "func TestC(t *testing.T) {}\n"
    )
    ran = run(project, text, select=("sums_test.go",))
    name = "sums_test.go::"
    assert ran.outcomes == {f"{name}TestA": "passed", f"{name}TestB": "failed"}


def test_only_what_is_asked_for(project):
    text = "func TestA(t *testing.T) {}\nfunc TestAB(t *testing.T) { os.Exit(2) }\n"
    ids = ["sums_test.go::TestA", "gone_test.go::TestX"]
    assert run(project, text, ids=ids).outcomes == {ids[0]: "passed"}
