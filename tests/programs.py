"""Complete environments in other languages, small enough to make anew in each test."""

from pathlib import Path

from support import git, make_repository

from codegym.tasks import Environment, load_environment

_TOML = """\
name = "{name}"
summary = "Statistics of a few numbers"
language = "{language}"
license = "Apache-2.0"
history = "history.fast-export"
head = "{head}"

[image]
toolchains = ["{toolchain}"]

[[suites]]
name = "unit"
select = ["tests"]
{suite}

[edits]
permitted = ["src/**"]
protected = ["tests/**", "Cargo.*", "Makefile", "package.json"]
"""

_SCRIPT = {
    "package.json": '{"name": "stats", "type": "commonjs"}\n',
    "src/stats.js": """\
function total(numbers) {
  let result = 0;
  for (const number of numbers) {
    result += number;
  }
  return result;
}

function mean(numbers) {
  if (numbers.length === 0) {
    return 0;
  }
  return total(numbers) / numbers.length;
}

module.exports = { total, mean, unused: (x) => { return x + 1; } };
""",
    "tests/total.test.js": """\
const { test } = require("node:test");
const assert = require("node:assert");
const { total } = require("../src/stats.js");

test("of some", () => assert.strictEqual(total([1, 2, 6]), 9));
test("of nothing", () => assert.strictEqual(total([]), 0));
""",
    "tests/mean.test.js": """\
const { describe, it } = require("node:test");
const assert = require("node:assert");
const { mean } = require("../src/stats.js");

describe("mean", () => {
  it("of some", () => assert.strictEqual(mean([1, 2, 6]), 3));
  it("of nothing", () => assert.strictEqual(mean([]), 0));
});
""",
}
_RUST = {
    "Cargo.toml": '[package]\nname = "stats"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": """\
//! Statistics.

/// The sum.
pub fn total(numbers: &[i64]) -> i64 {
    let mut result = 0;
    for number in numbers {
        result += number;
    }
    result
}

/// The mean, rounded down.
pub fn mean(numbers: &[i64]) -> i64 {
    if numbers.is_empty() {
        return 0;
    }
    total(numbers) / numbers.len() as i64
}
""",
    "tests/stats.rs": """\
use stats::{mean, total};

#[test]
fn total_of_some() {
    assert_eq!(total(&[1, 2, 6]), 9);
}

#[test]
fn total_of_nothing() {
    assert_eq!(total(&[]), 0);
}

#[test]
fn mean_of_some() {
    assert_eq!(mean(&[1, 2, 6]), 3);
}

#[test]
fn mean_of_nothing() {
    assert_eq!(mean(&[]), 0);
}
""",
}
_C = {
    "Makefile": """\
CFLAGS = -O1 -Wall -Isrc

tests: $(patsubst tests/%.c,build/%,$(wildcard tests/test_*.c))

build/%: tests/%.c tests/tap.h $(wildcard src/*)
\t@mkdir -p build
\t$(CC) $(CFLAGS) -o $@ $< $(wildcard src/*.c)
""",
    "src/stats.h": "long total(const long *n, int c);\nlong mean(const long *n, int c);\n",
    "src/stats.c": """\
#include "stats.h"

long total(const long *n, int c)
{
    long result = 0;
    for (int i = 0; i < c; i++) {
        result += n[i];
    }
    return result;
}

long mean(const long *n, int c)
{
    if (c == 0) {
        return 0;
    }
    return total(n, c) / c;
}
""",
    "tests/tap.h": """\
#include <stdio.h>
static int tap_n, tap_bad;
#define is(got, want, name) do { \\
    long g_ = (got), w_ = (want); \\
    printf("%sok %d - %s\\n", g_ == w_ ? "" : "not ", ++tap_n, name); \\
    if (g_ != w_) { \\
        tap_bad = 1; \\
        printf("# %s:%d: got %ld, expected %ld\\n", __FILE__, __LINE__, g_, w_); \\
    } \\
} while (0)
#define done() (printf("1..%d\\n", tap_n), tap_bad)
""",
    "tests/test_total.c": """\
#include "stats.h"
#include "tap.h"

int main(void)
{
    const long some[] = {1, 2, 6};
    is(total(some, 3), 9, "of some");
    is(total(some, 0), 0, "of nothing");
    return done();
}
""",
    "tests/test_mean.c": """\
#include "stats.h"
#include "tap.h"

int main(void)
{
    const long some[] = {1, 2, 6};
    is(mean(some, 3), 3, "of some");
    is(mean(some, 0), 0, "of nothing");
    return done();
}
""",
}
_KINDS = {
    "c": ("c", 'runner = "tap"\nbuild = ["make -s tests"]\ncommand = "build/{stem}"', _C),
    "javascript": ("node", 'runner = "node"\nconfig = ["package.json"]', _SCRIPT),
    "rust": ("rust", 'runner = "cargo"\nconfig = ["Cargo.toml"]', _RUST),
}

#: Languages that there is one of.
LANGUAGES = tuple(_KINDS)


def make_environment(folder: Path, language: str) -> Environment:
    """Write an environment whose one commit has two functions and four tests that pass."""
    toolchain, suite, files = _KINDS[language]
    repository = make_repository(folder / "repository", files, "Statistics")
    (folder / "history.fast-export").write_text(git(repository, "fast-export", "main"))
    head = git(repository, "rev-parse", "HEAD").strip()
    told = {"name": f"tiny-{language}", "language": language, "head": head}
    text = _TOML.format(toolchain=toolchain, suite=suite, **told)
    (folder / "environment.toml").write_text(text)
    return load_environment(folder)
