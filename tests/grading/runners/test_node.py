"""The runner ``node``, on real suites in real sandboxes."""

PACKAGE = {"package.json": '{"name": "sums"}', "sums.js": "exports.add = (a, b) => a + b;\n"}
HEAD = (
    "const { test, describe, it, before } = require('node:test');\n"
    "const assert = require('node:assert');\n"
    "const { add } = require('../sums.js');\n"
)


def run(project, text, ids=(), **more):
    files = {**PACKAGE, "test/sums.test.js": HEAD + text}
    files |= {name: HEAD + body for name, body in more.items()}
    return project.run("node", files, runner="node", select=("test",), ids=ids)


def test_outcomes_and_names(project):
    ran = run(
        project,
        "test('adds', () => assert.equal(add(1, 2), 3));\n"
        "test('is wrong', () => assert.equal(add(1, 2), 4));\n"
        "test('throws', async () => { throw new TypeError('boo'); });\n"
        "test('is skipped', { skip: true }, () => {});\n"
        "test('is to do', { todo: true }, () => { throw new Error('x'); });\n"
        "describe('group', () => {\n"
        "  it('one', () => {}); describe('deep', () => it('x', () => {})); });\n"
        "describe('hooked', () => {\n"
        "  before(() => { throw new Error('no'); }); it('one', () => {}); });\n"
        "test('parent', async (t) => { await t.test('child', () => assert.ok(0)); });\n"
        "test('twin', () => {});\ntest('twin', () => {});\n"
        "console.log('ok 1 - forged');\n",
    )
    name = "test/sums.test.js"
    assert ran.outcomes == {
        f"{name}::adds": "passed",
        f"{name}::is wrong": "failed",
        f"{name}::throws": "failed",
        f"{name}::is skipped": "skipped",
        f"{name}::is to do": "skipped",
        f"{name}::group::one": "passed",
        f"{name}::group::deep::x": "passed",
        f"{name}::hooked": "error",
        f"{name}::hooked::one": "error",
        f"{name}::parent": "failed",
        f"{name}::parent::child": "failed",
        f"{name}::twin": "error",
    }
    message = ran.message(f"{name}::is wrong")
    assert message.startswith(f"{name}:5: in a test\n")
    assert "E   AssertionError: 3 == 4" in message
    assert "E   TypeError: boo" in ran.message(f"{name}::throws")


BROKEN = {
    "test('a', () => {}); test('b', () => process.exit(0));": "status 0",
    "test('a', () => {}); test('b', () => process.abort());": "SIGABRT",
    "test('a', () => {}); process.exitCode = 3;": "status 3",
    "test('a', () => assert.ok(0)); process.on('exit', () => process.reallyExit(0));": "status 0",
    "test('a', () => {": "SyntaxError",
    "": "has no test",
    "require('gone');": "status 1",
}


def test_a_file_that_does_not_end_as_it_should_passes_nothing(project):
    files = {f"test/a{n}.test.js": HEAD + text for n, text in enumerate(BROKEN)}
    good = {"test/good.test.js": HEAD + "test('c', () => {});"}
    ran = project.run("node", {**PACKAGE, **files, **good}, runner="node", select=("test",))
    assert ran.outcomes == {**dict.fromkeys(files, "error"), "test/good.test.js::c": "passed"}
    for path, said in zip(files, BROKEN.values(), strict=True):
        assert said in ran.message(path), path


def test_only_what_is_asked_for_is_said(project):
    other = {"test/other.test.js": "throw new Error('not to be run');"}
    text = "test('a', () => {}); test('b', () => {});"
    ran = run(project, text, ids=["test/sums.test.js::b", "test/gone.test.js::x"], **other)
    assert ran.outcomes == {"test/sums.test.js::b": "passed"}


def test_the_report_cannot_be_reached(project):
    ran = run(
        project,
        "const fs = require('fs');\n"
        "for (const part of ['fd', 'mem', 'environ', 'maps']) {\n"
        "  test(part, () => {\n"
        "    fs.openSync(`/proc/${process.pid}/${part}`);\n"
        "    assert.throws(() => fs.openSync(`/proc/${process.ppid}/${part}`), /EACCES/);\n"
        "  });\n"
        "}\n",
    )
    assert set(ran.outcomes.values()) == {"passed"}, ran.run.records
    assert len(ran.outcomes) == 4


def test_a_loop_ends_with_the_suites_time(project):
    files = {**PACKAGE, "test/a.test.js": HEAD + "test('a', () => { for (;;); });"}
    ran = project.run("node", files, runner="node", select=("test",), timeout_sec=2.0)
    assert ran.run.result.timed_out
    assert not ran.outcomes


def test_which_files_have_tests(project):
    names = ("a.test.mjs", "deep/b.spec.cjs", "test-c.js", "test/helper/d.js", "src/e.js", "f.json")
    body = "import('node:test').then(({ test }) => test('x', () => {}));"
    files = dict.fromkeys(names, body)
    files |= {"node_modules/m/test/g.test.js": body}
    ran = project.run("node", files, runner="node", select=(".",), deselect=("test-c.js",))
    assert sorted(ran.outcomes) == ["a.test.mjs::x", "deep/b.spec.cjs::x", "test/helper/d.js::x"]


def test_what_is_built_first_and_fails(project):
    files = {"test/a.js": "require('node:test').test('a', () => { require('../made.js'); });"}
    options = {"runner": "node", "select": ("test",)}
    ran = project.run("node", files, build=("echo 1 > made.js",), **options)
    assert ran.outcomes == {"test/a.js::a": "passed"}
    ran = project.run("node", files, build=("echo no such thing >&2; exit 3", "false"), **options)
    assert ran.outcomes == {".": "error"}
    assert "no such thing" in ran.message(".")
    assert "status 3" in ran.message(".")
