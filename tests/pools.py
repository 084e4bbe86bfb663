"""Made-up tasks for samplers."""

from codegym.types import Task


def make_task(number: int, *, environment: str = "one", operator: str = "swap", **features) -> Task:
    return Task(
        instance_id=f"task-{number}",
        environment=environment,
        base_commit="",
        patch="",
        fail_to_pass=("test",),
        pass_to_pass=(),
        provenance={"operators": {operator: "1"}, "spans": [{}]},
        features={"files": 1, **features},
    )
