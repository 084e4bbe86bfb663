"""Specs: strict, and told where they are wrong."""

import pytest

from codegym.curriculum import load_spec, open_curriculum
from codegym.curriculum.spec import bundled
from codegym.errors import CodeGymError, DataError, NotFoundError, UsageError


@pytest.mark.parametrize("name", sorted(bundled()))
def test_every_bundled_spec_can_be_opened_by_name_and_says_which_it_is(name):
    spec = load_spec(name)
    assert (spec.name, spec.sampler in ("frontier_hybrid", name)) == (name, True)
    assert len(open_curriculum(str(spec.path))) >= 3


def test_the_adaptive_spec_states_the_defaults(write_spec):
    said, own = load_spec("adaptive"), load_spec(write_spec())
    from codegym.curriculum.samplers import load_sampler

    assert load_sampler(said.sampler, said.options) == load_sampler(own.sampler, own.options)
    fields = ("category", "mastered", "quotas", "operator_cap", "environment_cap", "evolution")
    for field in (*fields, "seed"):
        assert getattr(said, field) == getattr(own, field)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("sede = 1", r"own.toml:3: sede: unknown key; did you mean 'seed'\?"),
        ("[caps]\noperater = 0.5", r"caps.operater: unknown key; did you mean 'operator'\?"),
        ("[sampler]\nopts = 1", "sampler.opts: unknown key; did you mean 'options'"),
        ('seed = "1"', "seed: must be an integer"),
        ("[quotas]\ntiny = 0.7\nother = 0.5", "the quotas add up to 1.2; they are shares of 1"),
        ("[quotas]\ntiny = 0", "quotas.tiny: must be greater than 0"),
        ("[quotas]\ntinny = 1.0", "quotas: no environment named 'tinny'; did you mean 'tiny'"),
        ("[quotas]\ntiny = 0.5", "quotas: add up to 0.5, and no other environment is there"),
        (
            "[caps]\noperator = 0.5",
            r"caps\.operator: 0.5 cannot be met: .* have 1 operator, so 1 is",
        ),
        ("[caps]\noperator = 0.5\nenvironment = 0.5", "one cap at a time"),
        ("[evolution]\nhard = 1.5", "evolution.hard: must be at most 1"),
        ("[evolution]\nhrad = 0.5", "evolution.hrad: unknown key; did you mean 'hard'"),
        ("[evolution]\ninformative = 0\neasy = 0\nhard = 0", "evolution: no task could become"),
        ("[pool]\ncategory = 'colour'", "pool.category: input should be 'environment'"),
        (
            "[pool]\ntasks = ['tinny']",
            "no environment, pack or task named 'tinny'; did you mean 'tiny'",
        ),
        ("[pool]\ntasks = ['curriculum:x']", "a curriculum draws from other sources"),
        ("[pool]\ntasks = ['tiny']\noperators = ['negat']", "pool: no operator named 'negat'"),
        ("[pool]\ntasks = ['tiny']\norders = [3]", "pool: no order named '3'; .*have: 1"),
        ("[sampler]\nname = 'frontier'", "no task sampler named 'frontier'"),
        ("[sampler.options]\nexplor = 0.1", "did you mean 'explore'"),
        ("[sampler.options]\nband = [0.9, 1.0]", "band: needs 0 <= low"),
        ("this is no TOML", "own.toml:3: not TOML"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(write_spec, text, problem):
    with pytest.raises(CodeGymError, match=problem):
        open_curriculum(write_spec(text))


def test_a_spec_that_is_not_there(at_home):
    with pytest.raises(
        NotFoundError,
        match=r"'curricula/adaptiv.toml'; a curriculum is a TOML file. Bundled: adaptive",
    ):
        load_spec("curricula/adaptiv.toml")
    (at_home / "latin.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(DataError, match=r"latin\.toml:1: not UTF-8"):
        load_spec("latin.toml")


def test_an_empty_pool_is_told(write_spec, at_home, home):
    from codegym.tasks import resolve
    from codegym.tasks.rows import write_rows

    source = resolve("tiny")
    write_rows(at_home / "few.jsonl", list(source)[:1])
    quarantined = '{"task_id": "tiny-0", "reason": "flaky"}\n'
    (at_home / "few.quarantine.jsonl").write_text(quarantined)
    path = write_spec(f"[pool]\ntasks = ['{at_home}/few.jsonl']")
    with pytest.raises(UsageError, match=r"has no task to draw: all 1 are quarantined.*flaky"):
        open_curriculum(path)
