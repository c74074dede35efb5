"""``python -m vermilion`` is the ``vermilion`` command."""

import sys

from vermilion.cli import main

if __name__ == "__main__":
    sys.exit(main())
