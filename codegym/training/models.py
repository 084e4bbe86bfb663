"""Models: loaded for training, and written so that everything else can load them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from codegym.agents.lm.loading import find, need, quietly
from codegym.errors import UsageError


def for_training(model: Any, device: torch.device, *, lora: int = 0) -> Any:
    """Make a loaded model ready to be trained.

    Args:
        model: A causal model of ``transformers``.
        device: Where it is to be. On a GPU activations are computed again for the gradient.
        lora: Rank of adapters at all linear layers, which are then trained alone; 0: none.

    Raises:
        UnavailableError: ``peft`` is wanted, and is not installed.
    """
    if lora:
        model = _adapted(model, lora)
    model = model.to(device)
    if device.type == "cuda":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if lora:
            model.enable_input_require_grads()
    return model.eval()  # no dropout: what was sampled is what is learned from


def load(name: str, *, seed: int = 0) -> tuple[Any, Any]:
    """A causal model and its tokenizer, in float32, on the CPU.

    Args:
        name: A folder, or a name on the hub; adapters in it are merged.
        seed: Of what is not in its files, and so is made at random.

    Raises:
        UsageError: It cannot be loaded; says why. Else what ``loading.find`` raises.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = find(name)
    with quietly(), torch.random.fork_rng():
        torch.manual_seed(seed)
        try:
            if (folder / "adapter_config.json").exists():
                model = _merged(folder)
            else:
                model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
            tokenizer = AutoTokenizer.from_pretrained(folder)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{name}: cannot be loaded as a causal language model: {error}"
            ) from error
    return model, tokenizer


def _merged(folder: Path) -> Any:
    need("lora", "peft")
    from peft import AutoPeftModelForCausalLM

    return AutoPeftModelForCausalLM.from_pretrained(folder, dtype=torch.float32).merge_and_unload()


def _adapted(model: Any, rank: int) -> Any:
    need("lora", "peft")
    from peft import LoraConfig, get_peft_model

    wanted = LoraConfig(
        r=rank, lora_alpha=2 * rank, lora_dropout=0.0, target_modules="all-linear",
        task_type="CAUSAL_LM",
    )  # fmt: skip
    return get_peft_model(model, wanted)


def save_model(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write a model, or its adapters, and its tokenizer into a folder."""
    with quietly():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
