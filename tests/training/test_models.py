"""Adapters, and devices that are not there."""

import pytest

torch = pytest.importorskip("torch")

from codegym.agents.lm.loading import device_named  # noqa: E402
from codegym.agents.lm.tiny import TinyShape, make_tiny  # noqa: E402
from codegym.errors import UnavailableError, UsageError  # noqa: E402
from codegym.training.learner import Learner, Steps  # noqa: E402
from codegym.training.models import for_training, load, save_model  # noqa: E402
from codegym.training.sequences import Span, TokenSequence  # noqa: E402
from codegym.training.sft import imitate  # noqa: E402

pytestmark = [pytest.mark.train, pytest.mark.timeout(400)]


# Of peft 0.21 over transformers 5.24.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_adapters_alone_are_trained_and_what_is_written_is_the_whole(tmp_path):
    pytest.importorskip("peft")
    base = make_tiny(tmp_path / "base", ["def f(x): return x"] * 9, shape=TinyShape(32, 1, 2, 300))
    model, tokenizer = load(str(base))
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    model = for_training(model, torch.device("cpu"), lora=4)
    learner = Learner(model, tokenizer, Steps(learning_rate=1e-2))
    ids = tuple(range(20, 40))
    sequence = TokenSequence(ids, (True,) * 8 + (False,) * 12, (0.0,) * 20, (Span(0, 8, 20),))
    told = [imitate(learner, [sequence]).loss for _ in range(8)]
    assert told[-1] < told[0]
    for name, weight in model.named_parameters():
        assert ("lora_" in name) == weight.requires_grad
        if "lora_" not in name:
            plain = name.removeprefix("base_model.model.").replace(".base_layer", "")
            assert torch.equal(weight, before[plain])

    out = tmp_path / "out"
    save_model(model, tokenizer, out)
    again, _ = load(str(out))
    asked = torch.tensor([ids])
    with torch.no_grad():
        assert torch.allclose(again(asked).logits, model(asked).logits, atol=1e-5)
    assert not any("lora" in name for name, _ in again.named_parameters())


def test_a_device_that_is_no_name_is_refused():
    with pytest.raises(UsageError, match="device: 'warp' is none"):
        device_named("warp")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_no_gpu_is_told_with_what_to_do():
    assert device_named("auto").type == "cpu"
    with pytest.raises(UnavailableError, match=r"no GPU that torch can use here. Use device=auto"):
        device_named("cuda")
