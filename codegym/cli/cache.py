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


#: What is not told by the name.
_MEANINGS = {
    "image": "which root and venv each is made of",
    "root": "programs and interpreter, shared by images",
    "venv": "installed packages, shared by images",
    "layer": "images of those whom `codegym serve sandbox` served",
    "workspace": "their workspaces",
    "tree": "workspaces as tasks start from them",
    "observed": "workspaces as they are graded, without expected values",
    "recording": "what tests see on solved trees",
}


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
        told = f"  {_MEANINGS[kind]}" if kind in _MEANINGS else ""
        out.print(f"  {count:>5} {kind:<9} {megabytes(size):>10}{told}", soft_wrap=True)


@app.command("prune")
def prune(
    older_than: Annotated[
        float, typer.Option(min=0, help="Remove what was not used for so many days.")
    ] = 30.0,
    json: Json = False,
) -> None:
    """Remove what was not used lately, and what killed builds left. Layers in use stay."""
    from codegym.store.cache import cache_dir
    from codegym.store.layers import LayerStore

    stores = (LayerStore(), LayerStore(cache_dir() / "repos"))
    pruned = [store.prune(older_than) for store in stores]
    removed = sum(each.removed for each in pruned)
    freed = sum(each.freed_bytes for each in pruned)
    kept = sum(each.kept for each in pruned)
    if json:
        print_json({"removed": removed, "freed_bytes": freed, "kept": kept})
        return
    console().print(f"removed {removed} ({megabytes(freed)}), kept {kept}")


def megabytes(size: int) -> str:
    """A size for people; what is small is not nothing."""
    return f"{size / 1e6:.1f} MB" if size >= 100_000 or not size else f"{size / 1e3:.1f} kB"
