"""The command line: ``codegym``."""


def main() -> None:
    """Run the command that was typed."""
    from codegym.cli.app import app

    app()
