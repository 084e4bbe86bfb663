"""``python -m codegym``."""

from codegym.cli import main

if __name__ == "__main__":
    main()
