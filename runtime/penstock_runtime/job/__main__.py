"""`python -m penstock_runtime.job REQUEST`. Process 1 of the container forwards signals to the process that works."""

import sys

from penstock_runtime.process.init import work_under_init


def main(arguments: list[str]) -> None:
    """Answer the request in a file. Does not return."""
    from penstock_runtime.job.runner import leave, run

    leave(run(arguments))


if __name__ == "__main__":
    work_under_init()
    main(sys.argv[1:])
