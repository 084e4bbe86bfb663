"""From a model's name to its weights on a device, and to what tells them from all others."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codegym.errors import DataError, NotFoundError, UnavailableError, UsageError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

#: The files of a model that make it sample as it does.
_FILES = (
    "*.safetensors", "*.bin", "config.json", "generation_config.json", "adapter_config.json",
    "tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab*", "merges.txt",
    "chat_template*", "*.index.json", "*.model",
)  # fmt: skip
_CONFIG, _ADAPTER = "config.json", "adapter_config.json"


def need(extra: str, *modules: str) -> None:
    """Raise ``UnavailableError`` where a library of an extra is missing."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise UnavailableError(
                f"language models need {name.partition('.')[0]}, which is not installed ({error})",
                f"pip install 'codegym[{extra}]'",
            ) from error


def find(model: str) -> Path:
    """The folder of a model; one that is not here is fetched from the hub.

    Raises:
        NotFoundError: There is no such folder, and no such model on the hub.
        UnavailableError: The hub cannot be reached.
    """
    folder = Path(model)
    if folder.is_dir():
        if not any((folder / name).is_file() for name in (_CONFIG, _ADAPTER)):
            raise DataError(folder / _CONFIG, "there is none, so this is no model's folder")
        return folder
    if Path(model).parent.is_dir() and "/" in model:
        raise NotFoundError("model", model, hint=f"in {Path(model).parent} there is no such folder")
    if model.count("/") != 1 or model.startswith((".", "/", "~")):
        raise NotFoundError("model", model, hint="give a folder, or OWNER/NAME on the hub")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model, allow_patterns=list(_FILES)))
    except (LocalEntryNotFoundError, OSError) as error:
        if isinstance(error, HfHubHTTPError):
            raise NotFoundError("model", model, hint=f"the hub says: {error}") from error
        raise UnavailableError(
            f"{model} is no folder here, and the hub cannot be asked for it ({error})",
            "Fetch it where there is a network, and give its folder: hf:PATH",
        ) from error
    except HFValidationError as error:
        raise NotFoundError("model", model, hint=str(error)) from error


def digest(folder: Path) -> str:
    """Digest of weights, tokenizer and settings, in 16 hex digits; of no folder, of nothing."""
    total = hashlib.sha256()
    for path in sorted({path for pattern in _FILES for path in folder.glob(pattern)}):
        if path.is_file():
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            total.update(f"{path.name} {content}\n".encode())
    return total.hexdigest()[:16]


def device_named(name: str) -> torch.device:
    """The device of a name; ``"auto"``: a GPU where there is one.

    Raises:
        UnavailableError: A GPU is asked for that is not there.
        UsageError: No device is named so.
    """
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UsageError(f"device: {name!r} is none; use auto, cpu, cuda or cuda:N") from None
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device.type == "cuda" and (device.index or 0) >= count:
        found = f"this machine has {count}" if count else "there is no GPU that torch can use here"
        raise UnavailableError(f"device={name}: {found}", "Use device=auto or device=cpu")
    return device


def dtype_named(name: str, device: torch.device) -> torch.dtype:
    """The number format of a name; ``"auto"``: bfloat16 on a GPU, float32 elsewhere."""
    import torch

    if name == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    found: torch.dtype = getattr(torch, name)
    return found


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """A model's tokenizer. Raises ``DataError`` where there is none that can be read."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(folder, f"no tokenizer can be read ({_line(error)})") from error


def load_model(folder: Path, device: torch.device, dtype: torch.dtype) -> PreTrainedModel:
    """A causal model on its device, ready to generate; an adapter with its base.

    Raises:
        DataError: It cannot be read.
        UnavailableError: It does not fit into the device's memory, or ``peft`` is missing.
    """
    import torch
    from safetensors import SafetensorError

    try:
        with quietly():
            model = _loader(folder).from_pretrained(folder, dtype=dtype)
        return model.to(device).eval()
    except torch.OutOfMemoryError as error:
        raise UnavailableError(
            f"{folder} does not fit into the memory of {device} ({_line(error)})",
            "Use a smaller model, dtype=bfloat16, or device=cpu",
        ) from error
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise DataError(folder, f"no causal model can be read ({_line(error)})") from error


def _loader(folder: Path) -> Any:
    if (folder / _ADAPTER).is_file() and not (folder / _CONFIG).is_file():
        need("lora", "peft")
        from peft import AutoPeftModelForCausalLM

        return AutoPeftModelForCausalLM
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM


@contextmanager
def quietly() -> Iterator[None]:
    """Without progress bars of transformers' own."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
