"""``codegym cache``: what images and prepared trees take, and removing those not used lately."""

from __future__ import annotations

from typing import Annotated

import typer

from codegym.cli.options import Json
from codegym.cli.output import console, print_json

app = typer.Typer(
    help="Images and prepared trees that are kept between runs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("show")
def show(json: Json = False) -> None:
    """Show where the cache is and what it holds."""
    from codegym.store.cache import cache_dir
    from codegym.store.layers import LayerStore, disk_bytes

    root = cache_dir()
    held: dict[str, tuple[int, int]] = {}
    for layer in sorted(LayerStore().root.iterdir()):
        kind = layer.name.split("-")[0]
        if kind and not kind.startswith("."):
            count, size = held.get(kind, (0, 0))
            held[kind] = count + 1, size + disk_bytes(layer)
    total = disk_bytes(root)
    if json:
        kinds = {kind: {"count": count, "bytes": size} for kind, (count, size) in held.items()}
        print_json({"path": root, "bytes": total, "layers": kinds})
        return
    out = console()
    out.print(f"{root}: {megabytes(total)}", soft_wrap=True)
    for kind, (count, size) in held.items():
        out.print(f"  {count:>5} {kind:<8} {megabytes(size):>10}")


@app.command("prune")
def prune(
    older_than: Annotated[
        float, typer.Option(min=0, help="Remove what was not used for so many days.")
    ] = 30.0,
    json: Json = False,
) -> None:
    """Remove layers not used lately, and what killed builds left. Those in use stay."""
    from codegym.store.layers import LayerStore

    pruned = LayerStore().prune(older_than)
    if json:
        print_json(
            {
                "removed": pruned.removed,
                "freed_bytes": pruned.freed_bytes,
                "kept": pruned.kept,
            }
        )
        return
    console().print(
        f"removed {pruned.removed} ({megabytes(pruned.freed_bytes)}), kept {pruned.kept}"
    )


def megabytes(size: int) -> str:
    """A size for people."""
    return f"{size / 1e6:.1f} MB"
