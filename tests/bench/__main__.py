"""`python tests/bench`: Python puts this folder on its path; the modules are found from the checkout's root instead."""

import sys
from pathlib import Path


def _main() -> int:
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    from tests.bench.command import main

    return main()


if __name__ == "__main__":
    sys.exit(_main())
