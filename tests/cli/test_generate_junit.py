"""Real tools that write JUnit XML, from ``generate`` to a graded run: Maven, Gradle, vitest, jest.

What they need beside their toolchain is had from wherever this machine's own ``mvn`` and ``npm``
get it. Where they are missing, or get nothing, that is skipped and said.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
from ladder import from_generate_to_run, make_environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

GENERATED = 'generated = "generated"\n'

SOURCE = """/** The step that a height has reached, from 0 to count. */
function rung(height, step, count) {
  if (step <= 0 || height < 0) {
    return 0;
  }
  const reached = Math.floor(height / step);
  return reached > count ? count : reached;
}

function heights(step, count) {
  const found = [];
  for (let each = 1; each <= count; each++) {
    found.push(each * step);
  }
  return found;
}
"""
TESTS = """
describe('rung', () => {
  test('reached', () => expect(rung(7, 3, 5)).toBe(2));
  test('ground', () => expect(rung(0, 3, 5)).toBe(0));
  test('top', () => expect(rung(99, 3, 5)).toBe(5));
  test('no step', () => expect(rung(9, 0, 5)).toBe(0));
  test('below', () => expect(rung(-1, 3, 5)).toBe(0));
});

test('heights', () => expect(heights(4, 3)).toEqual([4, 8, 12]));
"""
#: How jest-junit names files and tests.
JEST = (
    'env = { JEST_JUNIT_OUTPUT_FILE = "reports/all.xml", JEST_JUNIT_CLASSNAME = "{filepath}", '
    'JEST_JUNIT_TITLE = "{classname} > {title}" }\n'
)
#: What is installed; the kind of modules, and how sources end; how tests begin; the command.
SCRIPTS = {
    "vitest": (
        ("vite@8.3.8", "vitest@4.1.12"),
        ("module", "export { rung, heights };\n"),
        """import { describe, expect, test } from 'vitest';
import { heights, rung } from '../src/ladder.js';
""",
        "node node_modules/vitest/vitest.mjs run --reporter=junit --outputFile=reports/all.xml",
    ),
    "jest": (
        ("jest@30.5.2", "jest-junit@17.0.0"),
        ("commonjs", "module.exports = { rung, heights };\n"),
        "const { heights, rung } = require('../src/ladder.js');\n",
        "node node_modules/jest/bin/jest.js --ci --reporters=jest-junit",
    ),
}

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId>
  <artifactId>ladder</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.release>11</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.junit.jupiter</groupId>
      <artifactId>junit-jupiter</artifactId>
      <version>5.10.2</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
  <build>
    <plugins>
      <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.1</version></plugin>
      <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.11.0</version></plugin>
      <plugin>
        <artifactId>maven-surefire-plugin</artifactId>
        <version>3.2.5</version>
        <configuration><argLine>-Xmx128m -XX:TieredStopAtLevel=1</argLine></configuration>
      </plugin>
    </plugins>
  </build>
</project>
"""
JAVA = {
    "pom.xml": POM,
    "src/main/java/ladder/Ladder.java": """package ladder;

import java.util.ArrayList;
import java.util.List;

public final class Ladder {
    /** The step that a height has reached, from 0 to count. */
    public static int rung(int height, int step, int count) {
        if (step <= 0 || height < 0) {
            return 0;
        }
        int rung = height / step;
        return rung > count ? count : rung;
    }

    public static List<Integer> heights(int step, int count) {
        List<Integer> found = new ArrayList<>();
        for (int rung = 1; rung <= count; rung++) {
            found.add(rung * step);
        }
        return found;
    }
}
""",
    "src/test/java/ladder/LadderTest.java": """package ladder;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class LadderTest {
    @Test void reached() { assertEquals(2, Ladder.rung(7, 3, 5)); }
    @Test void ground() { assertEquals(0, Ladder.rung(0, 3, 5)); }
    @Test void top() { assertEquals(5, Ladder.rung(99, 3, 5)); }
    @Test void noStep() { assertEquals(0, Ladder.rung(9, 0, 5)); }
    @Test void below() { assertEquals(0, Ladder.rung(-1, 3, 5)); }
    @Test void heights() { assertEquals(List.of(4, 8, 12), Ladder.heights(4, 3)); }
}
""",
}
MAVEN_SUITE = """runner = "junit"
select = ["src/test"]
command = "mvn -o -B -q test -Dmaven.repo.local=.m2"
reports = ["target/surefire-reports/*.xml"]
config = ["pom.xml"]
"""
GRADLE = """plugins { id 'java' }
dependencies { testImplementation fileTree('libs') }
test {
    maxHeapSize = '128m'
    jvmArgs '-XX:TieredStopAtLevel=1'
}
"""
GRADLE_SUITE = """runner = "junit"
select = ["src/test"]
command = "gradle --offline --no-daemon -q -g .gradle-home test"
reports = ["build/test-results/test/*.xml"]
config = ["build.gradle"]
"""
#: JUnit 4 and what it needs, as Debian has them.
JARS = [Path("/usr/share/java") / name for name in ("junit4.jar", "hamcrest-all.jar")]
#: A repository that earlier runs of Maven on this machine filled, in the place of the remote one.
MIRROR = """<settings><mirrors><mirror>
  <id>central</id><mirrorOf>*</mirrorOf><url>{}</url>
</mirror></mirrors></settings>
"""


def ran(program, *arguments, cwd):
    """Run a tool of this machine; what it cannot get is no fault of ours."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not on this machine")
    command = [program, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        pytest.skip(f"`{' '.join(command)}` failed: {(done.stderr or done.stdout)[-500:]}")


def generated(home):
    """The folder whose files are laid into each workspace."""
    folder = home / ".codegym" / "environments" / "ladder" / "generated"
    folder.mkdir(parents=True)
    return folder


def test_maven(codegym, tmp_path):
    files = make_files(tmp_path / "project", JAVA)
    (tmp_path / "m2").mkdir()
    settings = ()
    if (mine := Path.home() / ".m2" / "repository").is_dir():
        (tmp_path / "settings.xml").write_text(MIRROR.format(mine.as_uri()))
        settings = ("-s", tmp_path / "settings.xml")
    # The commands of `docs/pages/guides/runners.md`, but for where artifacts come from.
    ran("mvn", *settings, "-B", "-q", "test", f"-Dmaven.repo.local={tmp_path / 'm2'}", cwd=files)
    options = 'env = { MAVEN_OPTS = "-Xmx256m -XX:TieredStopAtLevel=1" }\n'
    home = make_environment(
        tmp_path / "home", "java", "java", JAVA, MAVEN_SUITE, ["src/main/**"], GENERATED, options
    )
    shutil.copytree(tmp_path / "m2", generated(home) / ".m2")
    from_generate_to_run(codegym, home)


def test_gradle(codegym, tmp_path):
    if missing := [str(jar) for jar in JARS if not jar.is_file()]:
        pytest.skip(f"{' and '.join(missing)} are not on this machine")
    ran("gradle", "--version", cwd=tmp_path)
    tests = "src/test/java/ladder/LadderTest.java"
    files = JAVA | {"build.gradle": GRADLE, tests: as_junit4(JAVA[tests])}
    del files["pom.xml"]
    options = 'env = { GRADLE_OPTS = "-Xmx256m -XX:TieredStopAtLevel=1" }\n'
    home = make_environment(
        tmp_path / "home", "java", "java", files, GRADLE_SUITE, ["src/main/**"], GENERATED, options
    )
    libraries = generated(home) / "libs"
    libraries.mkdir()
    for jar in JARS:
        shutil.copy(jar, libraries)
    from_generate_to_run(codegym, home)


def as_junit4(text):
    """A test of JUnit 5 as one of JUnit 4."""
    text = text.replace("jupiter.api.Assertions", "Assert").replace("jupiter.api.", "")
    return text.replace("class ", "public class ").replace("@Test void", "@Test public void")


@pytest.mark.parametrize("tool", sorted(SCRIPTS))
def test_scripts(codegym, tmp_path, tool):
    packages, (kind, ends), begins, command = SCRIPTS[tool]
    files = {
        "package.json": f'{{"name": "ladder", "private": true, "type": "{kind}"}}\n',
        "src/ladder.js": SOURCE + ends,
        "tests/ladder.test.js": begins + TESTS,
    }
    (tmp_path / "npm").mkdir()
    ran("npm", "install", "--silent", "--ignore-scripts", *packages, cwd=tmp_path / "npm")
    suite = (
        f'runner = "junit"\nselect = ["tests"]\ncommand = "{command}"\n'
        'reports = ["reports/*.xml"]\nconfig = ["package.json"]\n'
    )
    home = make_environment(
        tmp_path / "home", "javascript", "node", files, suite, ["src/**"], GENERATED, JEST
    )
    shutil.copytree(tmp_path / "npm" / "node_modules", generated(home) / "node_modules")
    from_generate_to_run(codegym, home)


def make_files(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder
