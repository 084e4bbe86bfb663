"""``codegym pack split``: two packs that share no function."""

import json

from codegym.tasks import read_info, read_rows


def test_functions_are_on_one_side_of_every_pack(codegym, tmp_path):
    sides = {}
    for name in ("arithmetic", "comparison,python.boolean"):
        out = tmp_path / name.replace(",", "-")
        ran = codegym(
            "pack", "split", "demo-templates", "--operators", name, "--out", out, "--json"
        )
        assert ran.status == 0, ran.err
        made = json.loads(ran.out)
        for side, one in made.items():
            folder = tmp_path / f"{out.name}-{side}"
            rows = list(read_rows(folder / "tasks.jsonl"))
            assert one == {"folder": str(folder), "tasks": len(rows)}
            assert read_info(folder).name == folder.name
            sides.setdefault(side, set()).update(row.provenance["function"] for row in rows)
            wanted = {f"python.{each.removeprefix('python.')}" for each in name.split(",")}
            assert {each for row in rows for each in row.provenance["operators"]} <= wanted
    assert sides["train"]
    assert sides["held-out"]
    assert not sides["train"] & sides["held-out"]


def test_what_cannot_be_split_is_named(codegym, tmp_path):
    def split(*more):
        return codegym("pack", "split", "demo-templates", "--out", tmp_path / "a", *more)

    ran = split("--operators", "comparisom")
    assert (ran.status, "did you mean 'comparison'" in ran.err) == (2, True)
    ran = split("--held-out", "1.5")
    assert (ran.status, "more than 0 and less than 1" in ran.err) == (2, True)
