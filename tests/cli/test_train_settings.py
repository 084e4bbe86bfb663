"""``--set``: every wrong name and value is told before anything starts."""

from dataclasses import dataclass

import pytest

from codegym.cli.train_settings import Settings
from codegym.errors import NotFoundError, UsageError

PARTS = ("step", "episode")


@dataclass(frozen=True)
class Step:
    rate: float = 0.1
    warmup: int = 0


def test_what_is_set_goes_before_what_is_usual():
    settings = Settings(["step.warmup=7"], PARTS)
    assert settings.make("step", Step, rate=0.5, warmup=2) == Step(0.5, 7)
    assert settings.make("episode", Step) == Step()


@pytest.mark.parametrize("wrong", ["step.warmup", "warmup=1", "=", ""])
def test_what_is_no_setting_is_refused(wrong):
    with pytest.raises(UsageError, match=r"PART\.KEY=VALUE"):
        Settings([wrong], PARTS)


def test_names_that_do_not_exist_are_told_with_the_nearest():
    with pytest.raises(NotFoundError, match="did you mean 'step'"):
        Settings(["steps.warmup=1"], PARTS)
    with pytest.raises(NotFoundError, match="did you mean 'warmup'"):
        Settings(["step.warmupp=1"], PARTS).make("step", Step)


def test_a_value_that_does_not_fit_is_told():
    with pytest.raises(UsageError, match="warmup='soon'"):
        Settings(["step.warmup=soon"], PARTS).make("step", Step)
