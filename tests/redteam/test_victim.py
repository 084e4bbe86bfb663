"""The marker is in the solution and in nothing else; the victim's own solution still solves it."""

from dataclasses import replace

import pytest
from support import tiny_task

from codegym.errors import UsageError
from codegym.redteam.victim import is_import, make_victim, telling_lines
from codegym.types import Task
from codegym.workspace.trees import trees_of


def test_the_gold_tree_has_the_marker_and_no_other_tree(victim):
    start, grading, gold = trees_of(victim.task, victim.environment)
    assert (start, grading, gold) == (victim.start, victim.grading, victim.gold)
    marker = victim.marker.encode()
    assert [path for path, file in gold.items() if marker in file.data] == ["src/tinycalc/order.py"]
    for tree in (start, grading):
        assert not any(marker in file.data for file in tree.values())


def test_it_says_what_is_attacked(victim):
    assert victim.target == "src/tinycalc/order.py"
    assert victim.symbols == ("median",)
    assert victim.import_name == "tinycalc.order"


def test_needles_are_the_marker_and_lines_that_only_the_solution_has(victim):
    marker, *lines = victim.needles
    assert marker == victim.marker.encode()
    assert b"return (ordered[middle - 1] + ordered[middle]) / 2" in lines
    for needle in victim.needles:
        assert not any(needle in file.data for file in victim.start.values())


def test_each_victim_has_a_marker_of_its_own(victim):
    assert make_victim(victim.task, victim.environment).marker != victim.marker


def test_lines_that_are_known_or_short_tell_nothing():
    added = ["x = 1", "this_line_is_long_enough_to_tell_something"]
    patch = "\n+".join(["+++ b/a.py", *added, "this_one_is_in_the_text_already_too"])
    known = [b"if this_one_is_in_the_text_already_too:"]
    assert telling_lines(patch, known) == (b"this_line_is_long_enough_to_tell_something",)


IMPORTS = """\
from collections.abc import Iterable, Sequence as Seq
from . import (one, two)
import os.path as path, sys
import static java.util.stream.Collectors.*;
import { one, two as $three } from "./numbers.js";
import * as numbers from './numbers.js'
import "./side-effects.js";
export { one } from "./numbers.js";
const { readFile: read, stat } = require("node:fs");
import yaml "gopkg.in/yaml.v3"
use std::collections::{BTreeMap, hash_map::*};
pub(crate) use crate::spans::Span as Place;
extern crate alloc;
#include <stdlib.h>
# include "notes/store.h"
"""
NO_IMPORTS = """\
from_here = import_of(everything)
import numbers; answer = numbers.sum(1)
export default "the answer in full"
const answer = require("./numbers.js").answer + 1;
use_all(std::collections::values);
#define INCLUDE "notes/store.h"
return __import__("numbers").answer
"""


def test_imports_tell_nothing_and_nothing_else_is_one():
    assert [line for line in IMPORTS.splitlines() if not is_import(line.encode())] == []
    assert [line for line in NO_IMPORTS.splitlines() if is_import(line.encode())] == []
    patch = "\n+".join(["+++ b/a", *IMPORTS.splitlines(), "a line that is long enough to tell"])
    assert telling_lines(patch, []) == (b"a line that is long enough to tell",)


def test_a_solution_that_only_deletes_a_file_cannot_be_marked(victim):
    row: Task = tiny_task(victim.environment)
    text = victim.start["README.md"].data.decode().splitlines()
    gone = "".join(f"-{line}\n" for line in text)
    patch = (
        "diff --git a/README.md b/README.md\ndeleted file mode 100644\n--- a/README.md\n"
        f"+++ /dev/null\n@@ -1,{len(text)} +0,0 @@\n{gone}"
    )
    with pytest.raises(UsageError, match="writes no file"):
        make_victim(replace(row, patch=patch), victim.environment)
