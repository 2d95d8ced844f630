"""`python -m midflight` is the command line."""

import sys

from midflight.cli import main

if __name__ == "__main__":
    sys.exit(main())
