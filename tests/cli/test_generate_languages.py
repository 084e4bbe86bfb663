"""Tasks of small projects in Go, Java and TypeScript, from ``generate`` to a graded run."""

import json
import os
import shutil
import subprocess
import tarfile

import pytest
from ladder import checked, from_generate_to_run, make_environment, needs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

GO = {
    "go.mod": "module example.org/ladder\n\ngo 1.16\n",
    "ladder.go": """package ladder

// Rung is the step that a height has reached, from 0 to count.
func Rung(height, step, count int) int {
	if step <= 0 || height < 0 {
		return 0
	}
	rung := height / step
	if rung > count {
		return count
	}
	return rung
}

// Heights are those of all rungs, the lowest first.
func Heights(step, count int) []int {
	found := []int{}
	for rung := 1; rung <= count; rung++ {
		found = append(found, rung*step)
	}
	return found
}
""",
    "ladder_test.go": """package ladder

import (
	"reflect"
	"testing"
)

func TestRung(t *testing.T) {
	cases := [][4]int{{0, 3, 5, 0}, {7, 3, 5, 2}, {99, 3, 5, 5}, {9, 0, 5, 0}, {-1, 3, 5, 0}}
	for _, one := range cases {
		if got := Rung(one[0], one[1], one[2]); got != one[3] {
			t.Errorf("Rung(%d, %d, %d) is %d", one[0], one[1], one[2], got)
		}
	}
}

func TestHeights(t *testing.T) {
	if got := Heights(4, 3); !reflect.DeepEqual(got, []int{4, 8, 12}) {
		t.Errorf("got %v", got)
	}
}
""",
}
GO_SUITE = 'runner = "go"\nselect = ["."]\nconfig = ["go.mod"]\n'

JAVA = {
    "src/Ladder.java": """import java.util.ArrayList;
import java.util.List;

final class Ladder {
    /** The step that a height has reached, from 0 to count. */
    static int rung(int height, int step, int count) {
        if (step <= 0 || height < 0) {
            return 0;
        }
        int rung = height / step;
        return rung > count ? count : rung;
    }

    static List<Integer> heights(int step, int count) {
        List<Integer> found = new ArrayList<>();
        for (int rung = 1; rung <= count; rung++) {
            found.add(rung * step);
        }
        return found;
    }
}
""",
    "tests/LadderTest.java": """import java.util.List;

final class LadderTest {
    private static int number = 0;

    private static void check(String name, boolean holds) {
        number++;
        System.out.println((holds ? "ok " : "not ok ") + number + " - " + name);
    }

    public static void main(String[] arguments) {
        check("reached", Ladder.rung(7, 3, 5) == 2);
        check("ground", Ladder.rung(0, 3, 5) == 0);
        check("top", Ladder.rung(99, 3, 5) == 5);
        check("no step", Ladder.rung(9, 0, 5) == 0);
        check("below", Ladder.rung(-1, 3, 5) == 0);
        check("heights", Ladder.heights(4, 3).equals(List.of(4, 8, 12)));
        System.out.println("1.." + number);
    }
}
""",
}
JAVA_SUITE = """runner = "tap"
select = ["tests/LadderTest.java"]
build = ["javac -d build src/*.java tests/*.java"]
command = "java -Xmx128m -XX:+UseSerialGC -cp build {stem}"
"""

TYPESCRIPT = {
    "package.json": '{"name": "ladder", "private": true, "type": "module"}\n',
    "tsconfig.json": json.dumps(
        {
            "compilerOptions": {
                "target": "es2022",
                "module": "nodenext",
                "outDir": "build",
                "rootDir": ".",
                "types": [],
                "noEmitOnError": False,
            },
            "include": ["src/*.ts", "tests/*.ts"],
        }
    ),
    "src/ladder.ts": """/** The step that a height has reached, from 0 to count. */
export function rung(height: number, step: number, count: number): number {
  if (step <= 0 || height < 0) {
    return 0;
  }
  const reached: number = Math.floor(height / step);
  return reached > count ? count : reached;
}

export function heights(step: number, count: number): number[] {
  const found: number[] = [];
  for (let each = 1; each <= count; each++) {
    found.push(each * step);
  }
  return found;
}
""",
    "tests/ladder.test.ts": """// @ts-nocheck
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heights, rung } from '../src/ladder.js';

test('rungs', () => {
  assert.equal(rung(7, 3, 5), 2);
  assert.equal(rung(0, 3, 5), 0);
  assert.equal(rung(99, 3, 5), 5);
  assert.equal(rung(9, 0, 5), 0);
  assert.equal(rung(-1, 3, 5), 0);
});

test('heights', () => assert.deepEqual(heights(4, 3), [4, 8, 12]));
""",
}
TYPESCRIPT_SUITE = """runner = "node"
select = ["build/tests"]
build = ["node node_modules/typescript/bin/tsc -p ."]
config = ["package.json", "tsconfig.json"]
"""
TYPESCRIPT_VERSION = "5.4.5"


def compiler(folder):
    """TypeScript's, from the registry that this machine's npm uses."""
    needs("npm")
    command = ["npm", "pack", "--silent", f"typescript@{TYPESCRIPT_VERSION}"]
    got = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if got.returncode and not os.environ.get("CI"):
        pytest.skip(f"no registry of npm packages can be reached: {got.stderr[-300:]}")
    assert got.returncode == 0, got.stderr
    with tarfile.open(folder / got.stdout.strip()) as archive:
        archive.extractall(folder, filter="data")
    wanted = [folder / "package" / name for name in ("package.json", "bin/tsc", "lib/tsc.js")]
    return [*wanted, *(folder / "package" / "lib").glob("lib.*.d.ts")], folder / "package"


def test_go(codegym, tmp_path):
    needs("go")
    home = make_environment(tmp_path, "go", "go", GO, GO_SUITE, ["*.go"])
    from_generate_to_run(codegym, home)
    checked(codegym, home)


def test_java(codegym, tmp_path):
    needs("javac")
    home = make_environment(tmp_path, "java", "java", JAVA, JAVA_SUITE, ["src/**"])
    from_generate_to_run(codegym, home)
    checked(codegym, home)


def test_typescript(codegym, tmp_path):
    needs("node")
    files, root = compiler(tmp_path)
    home = make_environment(
        tmp_path / "home",
        "typescript",
        "node",
        TYPESCRIPT,
        TYPESCRIPT_SUITE,
        ["src/**"],
        'generated = "generated"\n',
    )
    laid = home / ".codegym/environments/ladder/generated/node_modules/typescript"
    for file in files:
        target = laid / file.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    from_generate_to_run(codegym, home)
    checked(codegym, home)
