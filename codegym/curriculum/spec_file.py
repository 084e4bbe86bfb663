"""The keys of a curriculum's file."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from codegym.tasks.edge import Keys, Strict
from codegym.tasks.environment_file import Name, Text
from codegym.types import Kind

Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Chance = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Category = Literal["environment", "kind", "language", "operator", "order"]
Value = str | int | float | bool | list[str] | list[int] | list[float]


class PoolTable(Strict):
    """``[pool]``: which tasks there are."""

    tasks: list[Text] = Field(default_factory=list)
    kinds: list[Kind] = Field(default_factory=list)
    environments: list[Text] = Field(default_factory=list)
    operators: list[Text] = Field(default_factory=list)
    orders: list[Annotated[int, Field(ge=1)]] = Field(default_factory=list)
    category: Category = "environment"
    mastered: Share = 1.0


class CapsTable(Strict):
    """``[caps]``: the largest share of one operator, or environment, in what is drawn."""

    operator: Share = 1.0
    environment: Share = 1.0

    @model_validator(mode="after")
    def _one(self) -> Self:
        # Two at once can exclude each other, and only some draws would find that out.
        if self.operator < 1.0 and self.environment < 1.0:
            raise ValueError("one cap at a time; quotas can share out environments")
        return self


class EvolutionTable(Strict):
    """``[evolution]``: chances that a task which was tried becomes a parent of new ones."""

    informative: Chance = 0.4
    easy: Chance = 0.25
    hard: Chance = 0.02

    @model_validator(mode="after")
    def _any(self) -> Self:
        if not (self.informative or self.easy or self.hard):
            raise ValueError("no task could become a parent: one of them must be more than 0")
        return self


class SamplerTable(Strict):
    """``[sampler]``: how tasks are chosen."""

    name: Text = "frontier_hybrid"
    options: dict[str, Value] = Field(default_factory=dict)


class CurriculumFile(Strict):
    """The whole file."""

    name: Name
    summary: Text
    seed: Annotated[int, Field(ge=0)] = 0
    state: Text | None = None
    pool: PoolTable = PoolTable()
    quotas: dict[str, Share] = Field(default_factory=dict)
    caps: CapsTable = CapsTable()
    evolution: EvolutionTable = EvolutionTable()
    sampler: SamplerTable = SamplerTable()

    @model_validator(mode="after")
    def _shares(self) -> Self:
        total = sum(self.quotas.values())
        if total > 1.0 + 1e-9:
            raise ValueError(f"the quotas add up to {total:g}; they are shares of 1")
        return self


MODELS: dict[Keys, type[BaseModel]] = {
    (): CurriculumFile,
    ("pool",): PoolTable,
    ("caps",): CapsTable,
    ("evolution",): EvolutionTable,
    ("sampler",): SamplerTable,
}
