"""What a repository declares of itself, as text: nothing of it is run to find out."""

from __future__ import annotations

import ast
import configparser
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from codegym.errors import DataError
from codegym.syntax.python import parse_module
from codegym.types import File, Tree

_NONE = File(b"")


@dataclass(frozen=True, slots=True)
class Declared:
    """A project's own words, from the first file that has each.

    Attributes:
        name: As it is written; ``""`` where none is.
        version: Likewise; ``""`` too where it is made by a build.
        summary: Likewise.
        license: Likewise.
        python: A version specifier, or ``""``.
        requires: What it needs to run.
        extras: What each extra needs besides.
        scripts: Commands, to the function of each.
        entry_points: Group to name to object.
    """

    name: str = ""
    version: str = ""
    summary: str = ""
    license: str = ""
    python: str = ""
    requires: tuple[str, ...] = ()
    extras: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scripts: Mapping[str, str] = field(default_factory=dict)
    entry_points: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def read_declared(tree: Tree) -> Declared:
    """Read ``pyproject.toml``, ``setup.cfg`` and ``setup.py``, in this order.

    Raises:
        DataError: One of the first two is not what its name says.
    """
    found = [_from_pyproject(tree), _from_setup_cfg(tree), _from_setup_py(tree)]
    chosen: dict[str, Any] = {}
    for one in found:
        for name in Declared.__slots__:
            value = getattr(one, name)
            if value and name not in chosen:
                chosen[name] = value
    return Declared(**chosen)


def pyproject(tree: Tree) -> dict[str, Any]:
    """``pyproject.toml``, empty where there is none. Raises ``DataError``."""
    try:
        return tomllib.loads(tree.get("pyproject.toml", _NONE).data.decode())
    except ValueError as error:
        raise DataError("pyproject.toml", f"cannot be read: {error}") from error


def table(value: Any, *keys: str) -> dict[str, Any]:
    """A table inside a table; empty where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def texts(value: Any) -> tuple[str, ...]:
    """The texts of a list; none where it is no list."""
    return tuple(each for each in value if isinstance(each, str)) if _is_list(value) else ()


def setup_cfg(tree: Tree) -> configparser.RawConfigParser:
    """``setup.cfg``, empty where there is none. Raises ``DataError``."""
    return ini(tree, "setup.cfg")


def ini(tree: Tree, name: str) -> configparser.RawConfigParser:
    """A file of sections, empty where there is none. Raises ``DataError``."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(tree.get(name, _NONE).data.decode())
    except (ValueError, configparser.Error) as error:
        raise DataError(name, f"cannot be read: {error}") from error
    return parser


def setup_arguments(tree: Tree) -> dict[str, Any]:
    """Keywords of the call of ``setup``, as far as they are literals or names of such."""
    try:
        module = parse_module(tree.get("setup.py", _NONE).data)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    known: dict[str, Any] = {}
    for node in module.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    known[target.id] = _literal(node.value, known)
    for call in ast.walk(module):
        if not isinstance(call, ast.Call) or ast.unparse(call.func).split(".")[-1] != "setup":
            continue
        return {each.arg: _literal(each.value, known) for each in call.keywords if each.arg}
    return {}


def _literal(node: ast.expr, known: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(each, known) for each in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {_literal(key, known): _literal(value, known) for key, value in pairs if key}
    return node.value if isinstance(node, ast.Constant) else None


def _from_pyproject(tree: Tree) -> Declared:
    whole = pyproject(tree)
    project, poetry = table(whole, "project"), table(whole, "tool", "poetry")
    stated = project.get("license", poetry.get("license"))
    return Declared(
        name=_text(project.get("name") or poetry.get("name")),
        version=_text(project.get("version") or poetry.get("version")),
        summary=_text(project.get("description") or poetry.get("description")),
        license=_text(stated.get("text") if isinstance(stated, dict) else stated),
        python=_text(project.get("requires-python")),
        requires=texts(project.get("dependencies")) or _poetry(poetry.get("dependencies")),
        extras={name: texts(each) for name, each in table(project, "optional-dependencies").items()}
        | {
            name: _poetry(table(each, "dependencies"))
            for name, each in table(poetry, "group").items()
        },
        scripts=_mapping(project.get("scripts") or poetry.get("scripts")),
        entry_points={
            name: _mapping(each)
            for name, each in (table(project, "entry-points") | table(poetry, "plugins")).items()
        },
    )


def _from_setup_cfg(tree: Tree) -> Declared:
    parser = setup_cfg(tree)

    def get(section: str, option: str) -> str:
        return (parser.get(section, option, fallback="") or "").strip()

    version = get("metadata", "version")
    groups = _items(parser, "options.entry_points")
    entries = {name: dict(_pair(line) for line in lines) for name, lines in groups.items()}
    return Declared(
        name=get("metadata", "name"),
        version="" if version.startswith(("attr:", "file:")) else version,
        summary=get("metadata", "description") or get("metadata", "summary"),
        license=get("metadata", "license"),
        python=get("options", "python_requires"),
        requires=_lines(get("options", "install_requires")),
        extras=_items(parser, "options.extras_require"),
        scripts=entries.pop("console_scripts", {}),
        entry_points=entries,
    )


def _from_setup_py(tree: Tree) -> Declared:
    told = setup_arguments(tree)
    extras = told.get("extras_require")
    tests = _words(told.get("tests_require"))
    found = {str(k): _words(v) for k, v in extras.items()} if isinstance(extras, dict) else {}
    if tests:
        found["tests"] = (*found.get("tests", ()), *tests)
    return Declared(
        name=_text(told.get("name")),
        version=_text(told.get("version")),
        summary=_text(told.get("description")),
        license=_text(told.get("license")),
        python=_text(told.get("python_requires")),
        requires=_words(told.get("install_requires")),
        extras=found,
    )


def _poetry(value: Any) -> tuple[str, ...]:
    """Poetry's own form, without what it says beyond the common one."""
    found = []
    for name, stated in (value if isinstance(value, dict) else {}).items():
        version = stated.get("version", "*") if isinstance(stated, dict) else stated
        if name == "python" or not isinstance(version, str):
            continue
        optional = isinstance(stated, dict) and bool(stated.get("optional"))
        if not optional:
            found.append(name + _range(version))
    return tuple(found)


def _range(version: str) -> str:
    """``^1.2`` as the range it means; exact and common forms as they are."""
    sign, number = version[:1], version.lstrip("^~").strip()
    if version == "*" or not number[:1].isdigit():
        return "" if version == "*" or "*" in version else version
    if sign == "^":
        parts = number.split(".")
        at = next((n for n, part in enumerate(parts) if part != "0"), len(parts) - 1)
        upper = [*parts[:at], str(int(parts[at]) + 1)] if parts[at].isdigit() else []
        return f">={number},<{'.'.join(upper)}" if upper else f">={number}"
    return f">={number}" if sign == "~" else f"=={number}"


def _items(parser: configparser.RawConfigParser, section: str) -> dict[str, tuple[str, ...]]:
    listed = parser.items(section) if parser.has_section(section) else []
    return {name: _lines(value or "") for name, value in listed}


def _lines(value: str) -> tuple[str, ...]:
    lines = (line.partition(" #")[0].strip() for line in value.replace(";\n", "\n").splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def _pair(line: str) -> tuple[str, str]:
    name, _, value = line.partition("=")
    return name.strip(), value.strip()


def _words(value: Any) -> tuple[str, ...]:
    return _lines(value) if isinstance(value, str) else texts(value)


def _mapping(value: Any) -> dict[str, str]:
    return {k: v for k, v in value.items() if isinstance(v, str)} if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)
