"""The command line: ``codegym``."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command that was typed."""
    # So that `my_agent:Careful` is found in the current folder; last, so that nothing is shadowed.
    if not sys.flags.safe_path and "" not in sys.path:
        sys.path.append("")
    try:
        from codegym.cli.app import app

        app()
    except KeyboardInterrupt:  # while it was still importing: a command's own is told by `app`
        sys.exit(INTERRUPTED)
    except RuntimeError as error:  # likewise, in the midst of a class (Python before 3.12)
        if isinstance(error.__cause__, KeyboardInterrupt):
            sys.exit(INTERRUPTED)
        raise
