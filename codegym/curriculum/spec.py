"""A curriculum's spec: what ``curricula/*.toml`` say."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from codegym.curriculum.spec_file import MODELS, CurriculumFile, Value
from codegym.errors import NotFoundError
from codegym.resources import data_root
from codegym.tasks.toml_file import read_toml


@dataclass(frozen=True, slots=True)
class Rates:
    """Chances that a task which was tried becomes a parent, each 0 to 1, not all 0.

    Attributes:
        informative: Where some of its latest episodes were solved and some were not.
        easy: Where all were.
        hard: Where none was.
    """

    informative: float
    easy: float
    hard: float


@dataclass(frozen=True, slots=True)
class Spec:
    """What to draw from, and how.

    Attributes:
        path: The file.
        name: Lower case, digits, ``.``, ``_`` and ``-``.
        summary: One sentence.
        seed: Of all that a sampler draws by itself.
        state: Where outcomes are kept, or None for the default.
        tasks: Names of task sources; empty: all bundled tasks in Python.
        kinds: Kinds of task to draw; empty: all. So for the next three.
        environments: Names.
        operators: Names; a task made by several has to be made by these alone.
        orders: How many edits a task undoes.
        category: What quotas and skills are for.
        mastered: Mean expected success of the pool at which drawing stops with an error; 1: never.
        quotas: Share of what is drawn, by category; the others share the rest by their size.
        operator_cap: Largest share of one operator in what is drawn of a category.
        environment_cap: Likewise, of one environment.
        evolution: How likely tasks become parents of new ones.
        sampler: A sampler's name, or ``module:attr``.
        options: Its options, as text.
        digest: Of the file.
    """

    path: Path
    name: str
    summary: str
    seed: int
    state: Path | None
    tasks: tuple[str, ...]
    kinds: frozenset[str]
    environments: frozenset[str]
    operators: frozenset[str]
    orders: frozenset[int]
    category: str
    mastered: float
    quotas: Mapping[str, float]
    operator_cap: float
    environment_cap: float
    evolution: Rates
    sampler: str
    options: Mapping[str, str]
    digest: str


def bundled() -> dict[str, Path]:
    """The specs that come with CodeGym, by name."""
    return {path.stem: path for path in sorted(data_root("curricula").glob("*.toml"))}


def load_spec(named: str) -> Spec:
    """Read a spec.

    Args:
        named: Its path, or the name of a bundled one.

    Raises:
        NotFoundError: There is no such file, and no bundled one of that name.
        DataError: It is wrong; says line where known, key, and the nearest known key.
    """
    path, known = Path(named).expanduser().absolute(), bundled()
    if not path.is_file():
        if named not in known:
            where = f"a curriculum is a TOML file. Bundled: {', '.join(known)}"
            if path.is_dir():
                where += ". That is a folder: write a file whose `[pool]` names it"
            raise NotFoundError("curriculum", named, known, where)
        path = known[named]
    text, parsed = read_toml(path, CurriculumFile, MODELS, missing="no such file")
    pool, rates = parsed.pool, parsed.evolution
    return Spec(
        path=path,
        name=parsed.name,
        summary=parsed.summary,
        seed=parsed.seed,
        state=None if parsed.state is None else path.parent / Path(parsed.state).expanduser(),
        tasks=tuple(pool.tasks),
        kinds=frozenset(pool.kinds),
        environments=frozenset(pool.environments),
        operators=frozenset(pool.operators),
        orders=frozenset(pool.orders),
        category=pool.category,
        mastered=pool.mastered,
        quotas=dict(parsed.quotas),
        operator_cap=parsed.caps.operator,
        environment_cap=parsed.caps.environment,
        evolution=Rates(rates.informative, rates.easy, rates.hard),
        sampler=parsed.sampler.name,
        options={name: _as_text(value) for name, value in parsed.sampler.options.items()},
        digest=hashlib.sha256(text.encode()).hexdigest(),
    )


def _as_text(value: Value) -> str:
    """As it would be typed: what a plug-in's options are read from."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
