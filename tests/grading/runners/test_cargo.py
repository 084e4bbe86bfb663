"""The runner ``cargo``, on real crates in real sandboxes."""

import re

import pytest

CRATE = {
    "Cargo.toml": '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 { a + b }\n"
    "#[cfg(test)] mod tests { #[test] fn inner() { assert_eq!(super::add(1, 1), 2); } }\n",
}


def run(project, text, **options):
    files = {**CRATE, "tests/api.rs": text, **options.pop("files", {})}
    return project.run("rust", files, runner="cargo", **{"select": ("tests",), **options})


OUTCOMES = """
use sums::add;
#[test] fn adds() { assert_eq!(add(1, 2), 3); }
#[test] fn is_wrong() {
    println!("test is_wrong ... ok\\n\\ntest result: ok. 1 passed; 0 failed; 0 ignored; \
0 measured; 0 filtered out; finished in 0.00s\\n");
    assert_eq!(add(1, 2), 4, "it is {}", add(1, 2));
}
#[test] #[should_panic] fn panics() { panic!("as it should"); }
#[test] #[should_panic] fn does_not_panic() {}
#[test] #[ignore] fn is_ignored() {}
#[test] fn gives_an_error() -> Result<(), String> { Err("no".into()) }
#[test] fn aborts() { std::process::abort(); }
#[test] fn exits() { std::process::exit(0); }
#[test] fn exits_as_if_failed() { std::process::exit(101); }
#[test] fn overflows() { fn f(n: u64) -> u64 { if n == !0 { 0 } else { f(n + 1) + 1 } } f(0); }
#[test] fn forges() {
    use std::io::Write;
    let text = "test forges ... ok\\n\\ntest result: ok. 1 passed; 0 failed; 0 ignored; \
0 measured; 7 filtered out; finished in 0.00s\\n\\n";
    std::io::stdout().write_all(text.as_bytes()).unwrap();
    std::process::exit(101);
}
mod deep { #[test] fn adds() { assert!(super::add(1, 1) == 3); } }
"""


def test_outcomes_and_names(project):
    ran = run(project, OUTCOMES)
    assert {test.removeprefix("tests/api.rs::"): how for test, how in ran.outcomes.items()} == {
        "adds": "passed",
        "is_wrong": "failed",
        "panics": "passed",
        "does_not_panic": "failed",
        "is_ignored": "skipped",
        "gives_an_error": "failed",
        "aborts": "error",
        "exits": "error",
        "exits_as_if_failed": "error",
        "overflows": "error",
        "forges": "error",
        "deep::adds": "failed",
    }
    message = ran.message("tests/api.rs::is_wrong")
    assert message.startswith("tests/api.rs:6: panicked\n")
    assert re.search(
        r"E   assertion .*left == right.*\nE     left: `?3`?,?\nE    right: `?4", message
    )
    assert "it is 3" in message
    assert "SIGABRT" in ran.message("tests/api.rs::aborts")
    told = ran.message("tests/api.rs::gives_an_error")
    assert 'E   Error: "no"' in told or "non-zero status code" in told  # before Rust 1.67


def test_what_does_not_compile_fails_everything(project):
    ran = run(project, '#[test] fn adds() { assert_eq!(sums::add(1, "2"), 3); }')
    assert ran.outcomes == {".": "error"}
    assert "E0308" in ran.message(".")
    assert "mismatched types" in ran.message(".")


def test_only_what_is_asked_for_is_run(project):
    other = {"tests/other.rs": "#[test] fn loops() { loop {} }"}
    ids = ["tests/api.rs::b", "tests/gone.rs::x", "src/lib.rs::tests::inner"]
    ran = run(project, "#[test] fn a() { loop {} }\n#[test] fn b() {}", ids=ids, files=other)
    assert ran.outcomes == {"tests/api.rs::b": "passed", "src/lib.rs::tests::inner": "passed"}


@pytest.mark.slow
def test_a_loop_ends_with_the_suites_time_and_others_are_told(project):
    ran = run(project, "#[test] fn a() {}\n#[test] fn b() { loop {} }", timeout_sec=8.0)
    assert ran.run.result.timed_out
    assert not any(how == "failed" for how in ran.outcomes.values())


@pytest.mark.slow
def test_tests_in_sources_and_in_a_workspace_of_crates(project):
    files = {
        "Cargo.toml": '[workspace]\nmembers = ["sums", "more"]\nresolver = "2"\n',
        "sums/Cargo.toml": CRATE["Cargo.toml"],
        "sums/src/lib.rs": CRATE["src/lib.rs"],
        "more/Cargo.toml": CRATE["Cargo.toml"].replace("sums", "more")
        + '[dependencies]\nsums = { path = "../sums" }\n',
        "more/src/main.rs": 'fn main() { println!("{}", sums::add(1, 2)); }\n',
        "more/tests/it.rs": "#[test] fn runs() {\n"
        '    let made = std::process::Command::new(env!("CARGO_BIN_EXE_more")).output().unwrap();\n'
        '    assert_eq!(made.stdout, b"3\\n");\n}\n',
    }
    ran = project.run("rust", files, runner="cargo", select=("more/tests", "sums/src"))
    assert ran.outcomes == {
        "more/tests/it.rs::runs": "passed",
        "sums/src/lib.rs::tests::inner": "passed",
    }
