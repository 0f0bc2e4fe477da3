"""``python -m hushd`` is ``hushd``."""

import sys

from hushd.cli import main

if __name__ == "__main__":
    sys.exit(main())
