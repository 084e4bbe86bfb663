"""The proxy's own rules, loaded from its folder: what they say here is what they say there."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from codegym.errors import UnavailableError
from codegym.resources import data_root

if TYPE_CHECKING:
    import proxy.policy_file
    import proxy.rules

#: A name of our own: an installed package may be called `proxy`, too.
_PACKAGE = "_codegym_proxy"


@cache
def _package() -> ModuleType:
    start = data_root("proxy") / "__init__.py"
    spec = importlib.util.spec_from_file_location(
        _PACKAGE, start, submodule_search_locations=[str(start.parent)]
    )
    if spec is None or spec.loader is None or not start.is_file():
        raise UnavailableError(f"the proxy's rules are missing at {start}", "Install CodeGym again")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_PACKAGE] = module
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    rules = proxy.rules
    policy_file = proxy.policy_file
else:
    _package()
    rules = importlib.import_module(f"{_PACKAGE}.rules")
    policy_file = importlib.import_module(f"{_PACKAGE}.policy_file")
