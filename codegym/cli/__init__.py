"""The command line: ``codegym``."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command that was typed."""
    try:
        from codegym.cli.app import app

        app()
    except KeyboardInterrupt:  # while it was still importing: a command's own is told by `app`
        sys.exit(INTERRUPTED)
