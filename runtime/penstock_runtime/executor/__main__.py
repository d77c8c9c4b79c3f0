"""Process of one executor: `python -m penstock_runtime.executor`, the main process of a pod."""

import logging
import os
import sys

from penstock_runtime.process.init import work_under_init

__all__ = ["main"]


def main() -> int:
    """Work for a task until SIGTERM, or until the task's Master is gone."""
    from penstock_runtime.executor.runner import run

    return run()


if __name__ == "__main__":
    work_under_init()
    code = main()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
