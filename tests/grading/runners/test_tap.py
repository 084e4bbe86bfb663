"""The runner ``tap``, on real C programs in real sandboxes."""

import os

from codegym.grading.runners.payload.programs.tap import read

MAKEFILE = (
    "tests: $(patsubst tests/%.c,build/%,$(wildcard tests/test_*.c))\n"
    "build/%: tests/%.c sums.c sums.h\n"
    "\t@mkdir -p build\n"
    "\t$(CC) -O1 -I. -o $@ $< sums.c\n"
)
C = {
    "Makefile": MAKEFILE,
    "sums.h": "int add(int a, int b);\n",
    "sums.c": '#include "sums.h"\nint add(int a, int b) { return a + b; }\n',
}
HEAD = (
    '#include "sums.h"\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n'
    "static int n, bad;\n"
    "static void check(int right, const char *name) {\n"
    '  printf("%sok %d - %s\\n", right ? "" : "not ", ++n, name);\n'
    '  if (!right) { bad = 1; printf("# %s:%d: was %d\\n", __FILE__, __LINE__, add(1, 2)); }\n'
    "}\n"
)


def c_test(body):
    return f"{HEAD}int main(void) {{ {body} return bad; }}\n"


def run(project, files, **options):
    given = {"select": ("tests",), "build": ("make -s tests",), "command": "build/{stem}"}
    return project.run("c", {**C, **files}, runner="tap", **{**given, **options})


def test_a_program_for_each_file(project):
    good = 'check(add(1, 2) == 3, "adds"); check(1, "twin"); check(1, "twin"); puts("1..3");'
    bad = 'puts("1..3"); check(add(1, 2) == 4, "is wrong"); check(1, "right"); puts("ok 3 # SKIP");'
    ran = run(project, {"tests/test_a.c": c_test(good), "tests/test_b.c": c_test(bad)})
    assert ran.outcomes == {
        "tests/test_a.c::adds": "passed",
        "tests/test_a.c::twin": "error",
        "tests/test_b.c::is wrong": "failed",
        "tests/test_b.c::right": "passed",
        "tests/test_b.c::3": "skipped",
    }
    message = ran.message("tests/test_b.c::is wrong")
    assert message.startswith("tests/test_b.c:8: in a test\n")
    assert "E   tests/test_b.c:8: was 3" in message


BROKEN = {
    'puts("1..2"); check(1, "a"); exit(0);': "2 tests were planned, and 1 were told",
    'puts("1..1"); check(1, "a"); check(1, "b");': "1 tests were planned, and 2 were told",
    'check(1, "a"); check(1, "b");': "there is no plan",
    'puts("1..1"); check(1, "a"); puts("1..1");': "there are 2 plans",
    'puts("1..2"); puts("ok 2 - b"); puts("ok 1 - a");': "test 2 comes as number 1",
    'puts("1..2"); puts("ok 1 - a"); puts("ok 1 - a");': "test 1 comes as number 2",
    'puts("1..1"); check(1, "a"); bad = 3;': "status 3",
    'puts("1..1"); check(1, "a"); fflush(stdout); abort();': "SIGABRT",
    'puts("1..1"); check(1, "a"); puts("Bail out! no disk");': "no disk",
    'puts("1..0");': "there is no test",
    "fflush(stdout); *(volatile int *)0 = 1;": "SIGSEGV",
    'puts("1..1"); check(0, "a"); fflush(stdout); raise(9);': "SIGKILL",
}


def test_what_does_not_keep_its_plan_passes_nothing(project):
    files = {f"tests/test_{n}.c": c_test(body) for n, body in enumerate(BROKEN)}
    good = {"tests/test_good.c": c_test('check(1, "c"); puts("1..1");')}
    ran = run(project, {**files, **good})
    assert ran.outcomes == {**dict.fromkeys(files, "error"), "tests/test_good.c::c": "passed"}
    for path, said in zip(files, BROKEN.values(), strict=True):
        assert said in ran.message(path), path


def test_what_does_not_compile_fails_everything(project):
    good = c_test('check(1, "a"); puts("1..1");')
    ran = run(project, {"tests/test_a.c": good, "sums.c": "int add(int a) { return b; }\n"})
    assert ran.outcomes == {".": "error"}
    assert "undeclared" in ran.message(".")
    assert "E   `make -s tests` failed: it ended with status 2" in ran.message(".")


def test_one_command_for_all(project):
    text = "printf '1..2\\nok 1 - a\\nnot ok 2 - b\\n'"
    options = {"select": ("t/all.sh", "t"), "build": (), "command": "sh t/all.sh"}
    ran = project.run("", {"t/all.sh": text}, runner="tap", **options)
    assert ran.outcomes == {"t/all.sh::a": "passed", "t/all.sh::b": "failed"}


def test_only_what_is_asked_for(project):
    files = {
        "tests/test_a.c": c_test('check(1, "a"); check(1, "b"); puts("1..2");'),
        "tests/test_b.c": c_test("for (;;);"),
    }
    ids = ["tests/test_a.c::b", "tests/test_c.c::x"]
    assert run(project, files, ids=ids).outcomes == {"tests/test_a.c::b": "passed"}
    assert run(project, files, deselect=("tests/test_b.c", "tests/test_a.c::a")).outcomes == {
        "tests/test_a.c::b": "passed"
    }


def test_a_loop_ends_with_the_suites_time(project):
    ran = run(project, {"tests/test_a.c": c_test("for (;;);")}, timeout_sec=3.0)
    assert ran.run.result.timed_out


def test_what_is_read_of_tap():
    text = (
        "TAP version 14\n1..6\nok\nnot ok 2\nok 3 - a # b\nok 4 # TODO later\n"
        "not ok 5 - c # todo\n    ok 1 - inner\n    1..1\nok 6 - outer\n  ---\n  x: 1\n  ...\n"
    )
    tests, problem = read("/", text)
    assert not problem
    assert [(name, test.outcome) for name, test in tests] == [
        ("1", "passed"),
        ("2", "failed"),
        ("a # b", "passed"),
        ("4", "skipped"),
        ("c", "skipped"),
        ("outer", "passed"),
    ]


#: Finds the report's pipe where the sandbox's shell has it; ends whoever would write what is true.
FORGER = """
echo '{"id": "tests/test_a.sh::x", "outcome": "passed", "seconds": 0.1}' > /proc/1/fd/6 || exit 3
for p in /proc/[0-9]*; do
  grep -q programs.tap $p/cmdline && kill -9 ${p#/proc/}
done
"""


def test_what_a_tests_process_writes_to_the_report_is_not_taken(project, monkeypatch):
    made = os.pipe2

    def openly(flags):
        """As it is for who runs the gym as an ordinary user, and so owns what is inside."""
        ends = made(flags)
        os.fchmod(ends[1], 0o666)
        return ends

    monkeypatch.setattr(os, "pipe2", openly)
    options = {"runner": "tap", "select": ("tests",), "command": "sh {file}"}
    ran = project.run("c", {"tests/test_a.sh": FORGER}, **options)
    assert ran.outcomes == {}
    honest = project.run("c", {"tests/test_a.sh": "echo 1..1; echo ok 1 - x"}, **options)
    assert honest.outcomes == {"tests/test_a.sh::x": "passed"}
