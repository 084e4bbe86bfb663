"""A package index as it was at a date: only what had been uploaded by then is there."""

from __future__ import annotations

from collections.abc import Mapping

from .kinds import Kind
from .npm import Npm
from .pip import Pip

#: The kinds of registries that can be answered for as of a date.
KINDS: Mapping[str, Kind] = {"pip": Pip(), "npm": Npm()}
