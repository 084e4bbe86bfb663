"""``codegym serve``: what other machines may use of this one."""

from __future__ import annotations

import asyncio
import secrets
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codegym.cli.options import Json
from codegym.cli.options import Sandbox as SandboxName
from codegym.cli.output import console, print_json

if TYPE_CHECKING:
    from codegym.server.listening import Options

app = typer.Typer(
    help="Serve parts of this machine to others.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def group() -> None:
    """Keep ``sandbox`` a command of its own."""


@app.command("sandbox")
def sandbox(
    host: Annotated[
        str, typer.Option(help="Own address to listen on; any but loopback needs --cert.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 0,
    backend: SandboxName = "auto",
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="Holds what clients have to know. Default: CODEGYM_TOKEN, CODEGYM_TOKEN_FILE, "
            "or one that is made and printed.",
            show_default=False,
        ),
    ] = None,
    cert: Annotated[
        Path | None, typer.Option(help="Certificate (PEM); turns on TLS.", show_default=False)
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="The certificate's key (PEM).", show_default=False)
    ] = None,
    max_sandboxes: Annotated[int, typer.Option(min=1, help="How many there may be at once.")] = 256,
    json: Json = False,
) -> None:
    """Run sandboxes for other machines, which name them remote:URL. Ctrl-C ends it and them."""
    from codegym.sandbox.remote.address import find_token, read_token
    from codegym.server.listening import Options

    token = read_token(token_file, "--token-file") if token_file else find_token()
    made = "" if token else secrets.token_urlsafe(32)
    options = Options(host, port, token or made.encode(), max_sandboxes, cert, key)
    asyncio.run(_serve(backend, options, made, json))


async def _serve(backend_name: str, options: Options, made: str, json: bool) -> None:
    from codegym.sandbox.backends import pick
    from codegym.server.listening import listening
    from codegym.store import LayerStore

    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    told, store = console(stderr=True), LayerStore()
    backend = pick(backend_name, store=store)
    try:
        say = lambda text: told.print(text, soft_wrap=True)  # noqa: E731
        async with listening(backend, store, options, say) as address:
            _tell(f"{address}", backend.name, options, made, json)
            await ended.wait()
    finally:
        await backend.close()


def _tell(address: str, backend: str, options: Options, made: str, json: bool) -> None:
    if json:
        told = {"url": address, "backend": backend, "max_sandboxes": options.max_sandboxes}
        print_json({**told, "token": made} if made else told)
        return
    out = console()
    out.print(f"serving at most {options.max_sandboxes} {backend} sandboxes; Ctrl-C ends them")
    out.print("On a machine that is to use them:", style="dim")
    out.print(f"  export CODEGYM_TOKEN={made or '…'}", soft_wrap=True)
    out.print(f"  codegym run --sandbox remote:{address} …", soft_wrap=True)
