"""A tiny language model made from nothing: for tests, for figures, and to learn on two cores.

Byte-level BPE trained on given texts in under a second, and a Llama of about 0.85 million
parameters, saved in Hugging Face's format with a chat template that takes tools.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

START, END, PAD = "<|im_start|>", "<|im_end|>", "<|pad|>"
#: Names the tools, does not explain them, and leaves the system message out: a tiny model learns
#: both from what it is trained on, at no cost in tokens.
TEMPLATE = (
    "{%- if tools -%}"
    "{{ '<|im_start|>tools\n' }}"
    "{%- for tool in tools -%}{{ ' ' + tool['function']['name'] }}{%- endfor -%}"
    "{{ '<|im_end|>\n' }}{%- endif -%}"
    "{%- for message in messages -%}{%- if message['role'] != 'system' -%}"
    "{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{%- if message['content'] -%}{{ message['content'] }}{%- endif -%}"
    "{%- for call in message['tool_calls'] or [] -%}{{ '<tool_call>' }}"
    "{{ {'name': call['function']['name'], 'arguments': call['function']['arguments']} | tojson }}"
    "{{ '</tool_call>' }}{%- endfor -%}{{ '<|im_end|>\n' }}{%- endif -%}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}"
)


@dataclass(frozen=True, slots=True)
class TinyShape:
    """The model's size; 0.85 million parameters as it stands, with 708 tokens."""

    hidden: int = 128
    layers: int = 4
    heads: int = 4
    vocabulary: int = 708
    context_tokens: int = 4096


def train_tokenizer(texts: Iterable[str], vocabulary: int = 708) -> PreTrainedTokenizerBase:
    """Byte-level BPE: any text comes back as it was."""
    raise NotImplementedError


def make_model(
    tokenizer: PreTrainedTokenizerBase, *, seed: int = 0, shape: TinyShape | None = None
) -> PreTrainedModel:
    """A model with random weights in float32; the same for a seed."""
    raise NotImplementedError


def make_tiny(
    folder: Path, texts: Iterable[str], *, seed: int = 0, shape: TinyShape | None = None
) -> Path:
    """Train a tokenizer, make a model, save both; ``hf:FOLDER`` then names it."""
    raise NotImplementedError
