"""The command line: ``codegym``."""

import signal
import sys
import threading

INTERRUPTED = 130
_SOON_SEC = 0.01


def main() -> None:
    """Run the command that was typed."""
    # So that `my_agent:Careful` is found in the current folder; last, so that nothing is shadowed.
    if not sys.flags.safe_path and "" not in sys.path:
        sys.path.append("")
    sys.unraisablehook = _unraisable
    try:
        from codegym.cli.app import app

        app()
    except KeyboardInterrupt:  # while it was still importing: a command's own is told by `app`
        sys.exit(INTERRUPTED)
    except RuntimeError as error:  # likewise, in the midst of a class (Python before 3.12)
        if isinstance(error.__cause__, KeyboardInterrupt):
            sys.exit(INTERRUPTED)
        raise


def _unraisable(lost: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C that came in a callback, where it can end nothing (imports have many), comes again."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        main_thread = threading.main_thread().ident
        threading.Timer(_SOON_SEC, signal.pthread_kill, (main_thread, signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(lost)
