"""A tiny language model made from nothing: for tests, for figures, and to learn on two cores.

Byte-level BPE trained on given texts in under a second, and a Llama of about 0.85 million
parameters, saved in Hugging Face's format with a chat template that takes tools.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from codegym.agents.lm.loading import quietly
from codegym.agents.lm.template import NO_SYSTEM

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

START, END, PAD = "<|im_start|>", "<|im_end|>", "<|pad|>"
CALL, CALLED = "<tool_call>", "</tool_call>"
#: Names the tools, does not explain them, and leaves the system message out: a tiny model learns
#: both from what it is trained on, at no cost in tokens.
TEMPLATE = (
    NO_SYSTEM + "{%- if tools -%}"
    "{{ '<|im_start|>tools\n' }}"
    "{%- for tool in tools -%}{{ ' ' + tool['function']['name'] }}{%- endfor -%}"
    "{{ '<|im_end|>\n' }}{%- endif -%}"
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{%- if message['content'] -%}{{ message['content'] }}{%- endif -%}"
    "{%- for call in message['tool_calls'] or [] -%}{{ '<tool_call>' }}"
    "{{ {'name': call['function']['name'], 'arguments': call['function']['arguments']} | tojson }}"
    "{{ '</tool_call>' }}{%- endfor -%}{{ '<|im_end|>\n' }}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}"
)


@dataclass(frozen=True, slots=True)
class TinyShape:
    """The model's size; as it stands, 0.85 million parameters."""

    hidden: int = 128
    layers: int = 4
    heads: int = 4
    vocabulary: int = 708
    context_tokens: int = 4096


def train_tokenizer(texts: Iterable[str], vocabulary: int = 708) -> PreTrainedTokenizerBase:
    """Byte-level BPE: any text comes back as it was.

    Args:
        texts: What it is to write shortly.
        vocabulary: Number of tokens, at least 260.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[PAD, START, END, CALL, CALLED],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    inner.train_from_iterator(texts, trainer)
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token=END, pad_token=PAD, extra_special_tokens=[START]
    )
    made.chat_template = TEMPLATE
    return made


def make_model(
    tokenizer: PreTrainedTokenizerBase, *, seed: int = 0, shape: TinyShape | None = None
) -> PreTrainedModel:
    """A model with random weights in float32; the same for a seed."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    size = shape or TinyShape()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=size.hidden,
        intermediate_size=5 * size.hidden // 2,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        max_position_embeddings=size.context_tokens,
        initializer_range=0.06,  # at the usual 0.02 so narrow a model takes long to learn to copy
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):  # nobody else's draws change
        torch.manual_seed(seed)
        return LlamaForCausalLM(config).eval()


def make_tiny(
    folder: Path, texts: Iterable[str], *, seed: int = 0, shape: TinyShape | None = None
) -> Path:
    """Train a tokenizer, make a model, save both; ``hf:FOLDER`` then names it."""
    size = shape or TinyShape()
    tokenizer = train_tokenizer(texts, size.vocabulary)
    with quietly():
        make_model(tokenizer, seed=seed, shape=size).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder
