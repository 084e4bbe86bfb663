"""Composites of sources that others wrote, in every language: what they leave can be read."""

import sysconfig
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from codegym.mutation import COMPOSITES
from codegym.mutation.candidates import find_candidates
from codegym.mutation.composites import Calls, Ground, Tried
from codegym.mutation.coverage import Coverage
from codegym.mutation.equivalence import same_code
from codegym.mutation.operators import load_operators
from codegym.mutation.trial import Trial
from codegym.syntax import grammar, parse, reparse
from codegym.types import File

SAMPLES = Path(__file__).parent.parent / "samples"
LANGUAGES = ["python", "javascript", "typescript", "go", "rust", "java", "c"]
TESTS = tuple(f"t::{number}" for number in range(8))


def ground_of(files, language, seed=0):
    """As if tests noticed every edit, some more than others, and ran every line."""
    parsed = {path: one for path, data in files.items() if (one := parse(data, language)).is_clean}
    chance = np.random.default_rng(seed)
    singles = []
    for one in find_candidates(parsed, load_operators((), language, ["FixTests"]), seed):
        failing = [test for test in TESTS[:4] if chance.random() < 0.7] or ["t::0"]
        trial = Trial(failing=tuple(failing), passing=TESTS[4:], raised=(("t::0", "KeyError"),))
        singles.append(Tried(one, trial))
    chosen = chance.permutation(len(singles))[:400]
    lines = {path: frozenset(range(1, one.source.count(b"\n") + 2)) for path, one in parsed.items()}
    base = SimpleNamespace(seconds=dict.fromkeys(TESTS, 0.1), coverage=Coverage({"t::0": lines}))
    return Ground(
        environment=SimpleNamespace(language=language, head="0" * 40),
        tree={path: File(data) for path, data in files.items()},
        files=parsed,
        baselines=[base],
        calls=Calls(parsed),
        singles=tuple(singles[int(at)] for at in chosen),
        most=4,
        seed=seed,
    )


def proposed(ground, most):
    """What each composite that needs no history proposes, checked; and how much that is."""
    counts = dict.fromkeys(COMPOSITES, 0)
    for composite in COMPOSITES.values():
        if composite.id in ("composite.revert", "composite.failed"):
            continue
        for one in islice(composite.propose(ground), most):
            for path, (parsed, edits) in one.files.items():
                after = reparse(parsed, edits)
                said = (composite.id, path, edits, after.source.decode(errors="replace"))
                assert after.is_clean, said
                if parsed.language == "python":
                    assert same_code(parsed.source, after.source) is not None, said
                if parsed.source.isascii():
                    continue
                after.source.decode()
            counts[composite.id] += 1
            assert len(one.spots) > 1
            assert all(part.spots for part in composite.parts(one))
    return counts


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_composite_of_a_sample_parses(language):
    suffix = grammar(language).suffixes[0]
    (sample,) = SAMPLES.glob(f"*{suffix}")
    counts = proposed(ground_of({f"a{suffix}": sample.read_bytes()}, language), 60)
    assert counts["composite.pair"] > 5


def packages():
    """Modules of this machine, eight at a time, those with letters of two bytes first."""
    root = Path(sysconfig.get_path("stdlib"))
    files = [one for one in sorted(root.glob("**/*.py")) if 2_000 < one.stat().st_size < 16_000]
    texts = [one for one in files if not one.read_bytes().isascii()][:60] + files[:600]
    for at in range(0, len(texts), 8):
        yield {one.name: one.read_bytes() for one in texts[at : at + 8]}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_thousand_composites_of_python():
    total = dict.fromkeys(COMPOSITES, 0)
    for number, files in enumerate(packages()):
        for name, count in proposed(ground_of(files, "python", number), 400).items():
            total[name] += count
        if (
            sum(total.values()) >= 10_000
            and min(
                total[f"composite.{name}"]
                for name in ("pair", "linked", "drift", "mask", "subtree")
            )
            >= 50
        ):
            break
    print(total)
    assert sum(total.values()) >= 10_000
