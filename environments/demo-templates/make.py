"""Writes this environment's repository: some hundred small functions of few forms, and their tests.

    python make.py        # writes history.fast-export, and `head` in environment.toml

A form is written once for each of its numbers, with variables named otherwise. Tests state what the functions
return now, for arguments on both sides of every number.
"""

import random
import re
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROWS = [[4, 1, 7, 3, 9, 2], [5, 5, 2, 8, 0, 6], [9, 8, 7, 6, 5, 4, 3, 2, 1], [2, 3, 4, 5, 6, 7, 8, 9, 10], [3, 6, 9, 1, 1, 4]]
NUMBERS = "range(-3, 14)"
LINES = ["a,bb,ccc,dddd,eeeee,ffffff,ggggggg,hhhhhhhh,iiiiiiiii", "one,two,three,four,five,six,seven,eight,nine"]
TEXTS = ["to be or not to be seen again", "never mind the gap between platforms", "abcdefghij klmno pq rstuvwxyz"]
SEQUENCES = ("items", "values", "numbers", "rows", "data", "series")
ELEMENTS = ("item", "value", "number", "each", "entry", "element")
SUMS = ("total", "result", "amount")
COUNTS = ("count", "found", "seen")
LISTS = ("kept", "result", "chosen")
ONES = ("value", "number", "amount", "n", "x")

#: suite: (form's name, what it is called with, its body). {n} is the number, {m} a larger one.
FORMS = {
    "counts": [
        ("atleast{n}", "rows", """
def {name}({s}):
    {c} = 0
    for {e} in {s}:
        if {e} >= {n}:
            {c} += 1
    return {c}
"""),
        ("above{n}", "rows", """
def {name}({s}):
    {c} = 0
    for {e} in {s}:
        if {e} > {n}:
            {c} += 1
    return {c}
"""),
        ("below{n}", "rows", """
def {name}({s}):
    {c} = 0
    for {e} in {s}:
        if {e} < {n}:
            {c} += 1
    return {c}
"""),
        ("atmost{n}", "rows", """
def {name}({s}):
    return sum(1 for {e} in {s} if {e} <= {n})
"""),
    ],
    "places": [
        ("other{n}", "rows", """
def {name}({s}):
    {c} = 0
    for {e} in {s}:
        if {e} != {n}:
            {c} += 1
    return {c}
"""),
        ("index{n}", "rows", """
def {name}({s}):
    for place, {e} in enumerate({s}):
        if {e} == {n}:
            return place
    return -1
"""),
        ("rindex{n}", "rows", """
def {name}({s}):
    last = -1
    for place, {e} in enumerate({s}):
        if {e} == {n}:
            last = place
    return last
"""),
        ("bestbelow{n}", "rows", """
def {name}({s}):
    best = 0
    for {e} in {s}:
        if {e} < {n} and {e} > best:
            best = {e}
    return best
"""),
    ],
    "sums": [
        ("sumfrom{n}", "rows", """
def {name}({s}):
    {t} = {n}
    for {e} in {s}:
        {t} += {e}
    return {t}
"""),
        ("productfrom{n}", "rows", """
def {name}({s}):
    {t} = {n}
    for {e} in {s}:
        {t} *= {e} + 1
    return {t}
"""),
        ("running{n}", "rows", """
def {name}({s}):
    {t} = {n}
    sums = []
    for {e} in {s}:
        {t} += {e}
        sums.append({t})
    return sums
"""),
        ("steps{n}", "numbers", """
def {name}({v}):
    {t} = 0
    for step in range(1, {n} + 1):
        {t} += {v} * step
    return {t}
"""),
    ],
    "parts": [
        ("sumfirst{n}", "rows", """
def {name}({s}):
    {t} = 0
    for {e} in {s}[:{n}]:
        {t} += {e}
    return {t}
"""),
        ("sumafter{n}", "rows", """
def {name}({s}):
    return sum({s}[{n}:])
"""),
        ("sumover{n}", "rows", """
def {name}({s}):
    {t} = 0
    for {e} in {s}:
        if {e} > {n}:
            {t} += {e} - {n}
    return {t}
"""),
    ],
    "slices": [
        ("first{n}", "rows", """
def {name}({s}):
    return {s}[:{n}]
"""),
        ("skip{n}", "rows", """
def {name}({s}):
    return {s}[{n}:]
"""),
        ("last{n}", "rows", """
def {name}({s}):
    return {s}[-{n}:]
"""),
        ("droplast{n}", "rows", """
def {name}({s}):
    return {s}[:-{n}]
"""),
    ],
    "loops": [
        ("until{n}", "rows", """
def {name}({s}):
    {l} = []
    for {e} in {s}:
        if {e} == {n}:
            break
        {l}.append({e})
    return {l}
"""),
        ("without{n}", "rows", """
def {name}({s}):
    {l} = []
    for {e} in {s}:
        if {e} == {n}:
            continue
        {l}.append({e})
    return {l}
"""),
        ("larger{n}", "rows", """
def {name}({s}):
    return [{e} for {e} in {s} if {e} > {n}]
"""),
    ],
    "limits": [
        ("clamp{n}to{m}", "numbers", """
def {name}({v}):
    if {v} < {n}:
        return {n}
    if {v} > {m}:
        return {m}
    return {v}
"""),
        ("limit{n}to{m}", "numbers", """
def {name}({v}):
    return min(max({v}, {n}), {m})
"""),
        ("over{n}", "numbers", """
def {name}({v}):
    if {v} > {n}:
        return {v} - {n}
    return 0
"""),
        ("distance{n}", "numbers", """
def {name}({v}):
    return {v} - {n} if {v} > {n} else {n} - {v}
"""),
    ],
    "formulas": [
        ("times{n}plus{m}", "numbers", """
def {name}({v}):
    return {v} * {n} + {m}
"""),
        ("plus{n}times{m}", "numbers", """
def {name}({v}):
    return ({v} + {n}) * {m}
"""),
        ("halvings{n}", "numbers", """
def {name}({v}):
    steps = 0
    while {v} > {n}:
        {v} //= 2
        steps += 1
    return steps
"""),
    ],
    "checks": [
        ("multiple{n}", "numbers", """
def {name}({v}):
    return {v} % {n} == 0
"""),
        ("between{n}and{m}", "numbers", """
def {name}({v}):
    return {v} > {n} and {v} < {m}
"""),
        ("outside{n}to{m}", "numbers", """
def {name}({v}):
    return {v} < {n} or {v} > {m}
"""),
    ],
    "words": [
        ("longer{n}", "texts", """
def {name}(text):
    return [word for word in text.split() if len(word) > {n}]
"""),
        ("starts{n}", "texts", """
def {name}(text):
    return [word[:{n}] for word in text.split()]
"""),
        ("letters{n}", "texts", """
def {name}(text):
    letters = ""
    for word in text.split():
        if len(word) > {n}:
            letters += word[{n}]
    return letters
"""),
    ],
    "fields": [
        ("field{n}", "lines", """
def {name}(line):
    parts = line.split(",")
    return parts[{n}]
"""),
        ("fieldsfrom{n}", "lines", """
def {name}(line):
    parts = line.split(",")
    return ",".join(parts[{n}:])
"""),
        ("pad{m}", "texts", """
def {name}(text):
    word = text.split()[0]
    return word.rjust({m}, ".")
"""),
    ],
}
CALLED = {"rows": (ROWS, "row", "ROWS"), "numbers": (list(range(-3, 14)), "number", NUMBERS), "lines": (LINES, "line", "LINES"), "texts": (TEXTS, "text", "TEXTS")}
CONSTANTS = {"ROWS": ROWS, "LINES": LINES, "TEXTS": TEXTS}
RANGE = range(2, 9)

PYPROJECT = """\
[project]
name = "snips"
version = "1.0"

[tool.pytest.ini_options]
testpaths = ["tests"]
"""
README = """\
# snips

Small functions of few forms, one to a file, each named after what it does.
"""


def functions(suite):
    """Name, what it is called with, and source, of each function of a suite."""
    draws = random.Random(suite)
    for form, arguments, body in FORMS[suite]:
        for n in RANGE:
            m = n + draws.choice((3, 4, 5))
            element = draws.choice(ELEMENTS)
            names = {
                "s": draws.choice([one for one in SEQUENCES if one[:-1] != element]), "e": element,
                "t": draws.choice(SUMS), "c": draws.choice(COUNTS), "l": draws.choice(LISTS), "v": draws.choice(ONES),
            }
            name = form.format(n=n, m=m)
            yield name, arguments, body.format(name=name, n=n, m=m, **names).lstrip()


def test_file(suite, found):
    """Its tests."""
    lines = [f"from snips.{name} import {name}" for name, _, _ in sorted(found)]
    used = sorted({CALLED[arguments][2] for _, arguments, _ in found} & CONSTANTS.keys())
    for constant in used:
        lines += ["", f"{constant} = ["] + [f"    {one!r}," for one in CONSTANTS[constant]] + ["]"]
    for name, arguments, source in found:
        inputs, each, written = CALLED[arguments]
        scope = {}
        exec(source, scope)
        wanted = [scope[name](one) for one in inputs]
        lines += ["", "", f"def test_{name}():", f"    got = [{name}({each}) for {each} in {written}]", f"    assert got == {wanted!r}"]
    return "\n".join(lines) + "\n"


def git(folder, *arguments):
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in (("NAME", "CodeGym"), ("EMAIL", "codegym@example.org"), ("DATE", "2026-01-01T00:00:00+0000"))}
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **who}
    return subprocess.run(["git", "-C", str(folder), *arguments], env=env, check=True, capture_output=True, text=True).stdout


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {"README.md": README, "pyproject.toml": PYPROJECT, "src/snips/__init__.py": "", "tests/conftest.py": ""}
        for suite in FORMS:
            found = list(functions(suite))
            files |= {f"src/snips/{function}.py": source for function, _, source in found}
            files[f"tests/test_{suite}.py"] = test_file(suite, found)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "Small functions of few forms")
        (HERE / "history.fast-export").write_text(git(folder, "fast-export", "--all", "--signed-tags=strip"))
        head = git(folder, "rev-parse", "HEAD").strip()
    toml = HERE / "environment.toml"
    toml.write_text(re.sub(r'^head = ".*"', f'head = "{head}"', toml.read_text(), flags=re.M))
    print(len(files), "files", head)


if __name__ == "__main__":
    main()
