"""Where the bundled data is: the one place that knows how CodeGym was installed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from codegym.errors import UnavailableError

DataKind = Literal["environments", "curricula", "proxy"]

_PACKAGE = Path(__file__).resolve().parent


def data_root(kind: DataKind) -> Path:
    """The folder of bundled data of one kind; read it, never write to it.

    Args:
        kind: The folder's name.

    Returns:
        ``codegym/_data/KIND`` of an installed wheel, or ``KIND`` of the checkout.

    Raises:
        UnavailableError: The installation is broken.
    """
    # A checkout has no `_data`, even when an older wheel is installed beside it.
    for root in (_PACKAGE / "_data", _PACKAGE.parent):
        if (root / kind).is_dir():
            return root / kind
    raise UnavailableError(
        f"the bundled {kind} are missing beside {_PACKAGE}", "Install CodeGym again."
    )
