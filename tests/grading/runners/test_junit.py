"""The runner ``junit``: files read outside, and commands that write them in real sandboxes."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.grading.runners import runner
from codegym.grading.runners.junit import read_junit

HARNESS = """
import java.io.*; import java.util.*;
public class AllTests {
    static StringBuilder out = new StringBuilder("<testsuites><testsuite name='all'>");
    static void check(String name, boolean right) {
        out.append("<testcase classname='sums.SumsTest' name='" + name + "' time='0.001'>");
        if (!right) out.append("<failure message='was wrong'>at SumsTest.java:3</failure>");
        out.append("</testcase>");
    }
    public static void main(String[] args) throws Exception {
        check("adds", Sums.add(1, 2) == 3);
        check("is wrong", Sums.add(1, 2) == 4);
        out.append("</testsuite></testsuites>");
        new File("build/reports").mkdirs();
        try (Writer file = new FileWriter("build/reports/TEST-all.xml")) {
            file.write(out.toString());
        }
        System.exit(1);
    }
}
"""
JAVA = {
    "src/Sums.java": "class Sums { static int add(int a, int b) { return a + b; } }\n",
    "test/AllTests.java": HARNESS,
    "build/reports/TEST-old.xml": "<testsuite><testcase classname='a' name='old'/></testsuite>",
}


def test_java_compiled_and_run(project):
    options = {
        "runner": "junit",
        "select": ("test",),
        "build": ("mkdir -p build/classes", "javac -d build/classes src/*.java test/*.java"),
        "command": "java -cp build/classes AllTests",
        "reports": ("build/reports/**/*.xml",),
    }
    ran = project.run("java", JAVA, **options)
    assert ran.outcomes == {"sums.SumsTest::adds": "passed", "sums.SumsTest::is wrong": "failed"}
    assert "E   was wrong" in ran.message("sums.SumsTest::is wrong")
    ran = project.run("java", JAVA, ids=["sums.SumsTest::adds", "x::y"], **options)
    assert ran.outcomes == {"sums.SumsTest::adds": "passed"}
    ran = project.run("java", {**JAVA, "src/Sums.java": "class Sums {"}, **options)
    assert ran.outcomes == {".": "error"}
    assert "reached end of file" in ran.message(".")


CASE = "<testcase classname='a.B' name='{}'/>"
ONE = f"<testsuite>{CASE.format('x')}</testsuite>"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (f'echo "{ONE}" > r.xml; exit 3', "no test failed, but the command did"),
        (f'echo "{ONE}" > r.xml; kill -9 $$', "SIGKILL"),
        ("true", "no report of any test"),
        ("ln -s /etc/passwd r.xml", "no report that can be read"),
        ("mkfifo r.xml", "no report that can be read"),
        ("head -c 9000000 /dev/zero > r.xml", "no report that can be read"),
        ("mkdir r.xml", "no report of any test"),
        ('echo "<html/>" > r.xml', "its outermost element is 'html'"),
    ],
)
def test_what_a_command_may_leave(project, script, said):
    options = {"runner": "junit", "select": ("t",), "reports": ("*.xml",)}
    ran = project.run("", {"t/run.sh": script, "old.xml": ONE}, command="sh t/run.sh", **options)
    assert ran.outcomes == {".": "error"}
    assert said in ran.message(".")


def test_a_name_that_is_there_twice_is_an_error(project):
    text = f"<testsuite>{CASE.format('x')}{CASE.format('y')}</testsuite>"
    script = f'echo "{text}" > r.xml; echo "{ONE}" > s.xml'
    options = {"runner": "junit", "select": ("t",), "reports": ("*.xml",)}
    ran = project.run("", {"t/run.sh": script}, command="sh t/run.sh", **options)
    assert ran.outcomes == {"a.B::x": "error", "a.B::y": "passed"}


def test_what_is_deselected_is_not_told(project):
    text = f"<testsuite>{CASE.format('x')}{CASE.format('y')}</testsuite>"
    options = {"runner": "junit", "select": ("t",), "reports": ("*.xml",)}
    options |= {"command": "sh t/run.sh", "deselect": ("a.B::x", "a.C")}
    other = "<testsuite><testcase classname='a.C' name='z'><failure/></testcase></testsuite>"
    script = f'echo "{text}" > r.xml; echo "{other}" > s.xml; exit 1'
    assert project.run("", {"t/run.sh": script}, **options).outcomes == {"a.B::y": "passed"}


def test_what_is_read():
    text = (
        "<?xml version='1.0' encoding='UTF-8'?><testsuites><testsuite><properties/>"
        "<testcase classname='a' name='ok' time='1,000.5'/>"
        "<testsuite><testcase classname='a' name='inner'><skipped/></testcase></testsuite>"
        "<testcase classname='a' name='bad'><failure message='no'>at x\nat y</failure></testcase>"
        "<testcase classname='a' name='worse'><failure/><error>boo</error></testcase>"
        "<testcase name='alone'><system-out>1</system-out></testcase>"
        "</testsuite></testsuites>"
    )
    assert [(one.id, one.outcome, one.seconds) for one in read_junit(text.encode())] == [
        ("a::ok", "passed", 1000.5),
        ("a::inner", "skipped", 0.0),
        ("a::bad", "failed", 0.0),
        ("a::worse", "error", 0.0),
        ("?::alone", "passed", 0.0),
    ]


#: As Maven's Surefire, vitest and Gradle write them, cut down.
WRITTEN = {
    "surefire": (
        """<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="3.0" name="SumsTest">
  <properties><property name="java.version" value="17"/></properties>
  <testcase name="off" classname="SumsTest" time="0.0"><skipped message="@Disabled"/></testcase>
  <testcase name="adds" classname="SumsTest" time="0.592"/>
  <testcase name="isWrong" classname="SumsTest" time="0.289">
    <failure message="expected: &lt;4&gt; but was: &lt;3&gt;&#10;again" type="x"><![CDATA[x.Failed
\tat SumsTest.isWrong(SumsTest.java:2)
]]></failure>
  </testcase>
</testsuite>
""",
        {"SumsTest::off": "skipped", "SumsTest::adds": "passed", "SumsTest::isWrong": "failed"},
    ),
    "vitest": (
        """<?xml version="1.0" encoding="UTF-8" ?>
<testsuites name="vitest tests" tests="2" failures="1" errors="0" time="0.5">
    <testsuite name="test/a.test.js" timestamp="2026-01-01T00:00:00.000Z" hostname="box">
        <testcase classname="test/a.test.js" name="sums &gt; adds" time="0.001"></testcase>
        <testcase classname="test/a.test.js" name="sums &gt; is wrong" time="0.002">
            <failure message="expected 3 to be 4">at test/a.test.js:3:1</failure>
        </testcase>
    </testsuite>
</testsuites>
""",
        {"test/a.test.js::sums > adds": "passed", "test/a.test.js::sums > is wrong": "failed"},
    ),
}


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_what_tools_write(name):
    text, outcomes = WRITTEN[name]
    tests = read_junit(text.encode())
    assert {test.id: test.outcome for test in tests} == outcomes
    (message,) = (test.message for test in tests if test.outcome == "failed")
    assert "\nE   expected" in message


def test_all_of_a_message_is_marked():
    tests = read_junit(WRITTEN["surefire"][0].encode())
    assert tests[-1].message.endswith("\nE   expected: <4> but was: <3>\nE   again")


BOMB = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    "<testsuite><testcase classname='&b;' name='x'/></testsuite>"
)


@pytest.mark.parametrize(
    "data",
    [
        BOMB.encode(),
        BOMB.encode("utf-16"),
        b"<?xml version='1.0' encoding='utf-16'?>" + ONE.encode(),
        b"<!DOCTYPE x SYSTEM 'file:///etc/passwd'>" + ONE.encode(),
        b"\xff\xfe\x00",
        b"",
        b"<testsuite>",
        b"<testsuite>&unknown;</testsuite>",
        b"<a>" * 100_000,
    ],
)
def test_what_is_not_read(data):
    with pytest.raises(ValueError, match=r"."):
        read_junit(data)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused(data):
    tool = runner("junit")
    xml = base64.b64encode(data).decode()
    lines = [{"file": "r.xml", "xml": xml}, {"ids": [], "status": 0, "how": "", "tail": ""}]
    report = "\n".join(json.dumps(line) for line in lines).encode()
    for record in tool.parse(report) + tool.parse(data):
        assert record.outcome != "passed"
