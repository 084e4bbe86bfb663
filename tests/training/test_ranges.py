"""No training starts with an option that it could not be trained with."""

import math
from dataclasses import fields

import pytest

from codegym.errors import UsageError

pytest.importorskip("torch")

from codegym.training.demonstrations import Showing
from codegym.training.feedback import Feedback
from codegym.training.learner import Steps
from codegym.training.objective import Objective

pytestmark = pytest.mark.train

WRONG = [
    (Steps, "learning_rate", (0.0, -1e-3, 1.5, math.inf)),
    (Steps, "warmup", (-1,)),
    (Steps, "max_norm", (0.0, -1.0, math.inf)),
    (Steps, "max_tokens", (0,)),
    (Objective, "clip_low", (-0.1, 1.1)),
    (Objective, "clip_high", (-0.1, math.inf)),
    (Objective, "cispo_cap", (0.0,)),
    (Objective, "correction_cap", (0.0, -2.0)),
    (Objective, "denominator", (-1.0, math.inf)),
    (Objective, "kl", (-0.1, math.inf)),
    (Objective, "updates", (0, -1)),
    (Feedback, "weight", (-1.0,)),
    (Feedback, "rate", (0.0, 1.5)),
    (Feedback, "top_k", (0,)),
    (Feedback, "alpha", (-0.1, 1.1)),
    (Feedback, "sharpness", (math.inf,)),
    (Feedback, "cap", (0.0,)),
    (Showing, "around", (-1,)),
]


@pytest.mark.parametrize(("kind", "name", "values"), WRONG)
def test_what_is_out_of_its_range_is_refused_by_name(kind, name, values):
    for value in (*values, math.nan):
        with pytest.raises(UsageError, match=rf"^{name}: must be .*, got {value}"):
            kind(**{name: value})


@pytest.mark.parametrize("kind", [Steps, Objective, Feedback, Showing])
def test_each_number_has_a_range(kind):
    numbers = {one.name for one in fields(kind) if type(one.default) in {int, float}}
    assert numbers == {name for of, name, _ in WRONG if of is kind}
