"""Process of one task: `python -m penstock_runtime.task SPEC`.

Started by `penstock run`, or as the main process of a pod. This module does only what must be done before the slow imports:
it handles SIGTERM from the start.
"""

import logging
import os
import sys
from contextlib import suppress
from typing import NoReturn

from penstock_runtime.process.init import work_under_init
from penstock_runtime.process.stdio_capture import last_lines
from penstock_runtime.task.shutdown import GracefulShutdown

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the task of a spec file until SIGTERM, until it fails, or until it is superseded."""
    stopping = GracefulShutdown()
    from penstock_runtime.task.runner import run

    return run(arguments, stopping)


def _leave(code: int) -> NoReturn:
    """Exit immediately, without waiting for threads of abandoned Spark jobs. The JVM ends when the pipe to it is closed."""
    with suppress(OSError):  # their reader may be gone
        last_lines()
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    work_under_init()
    _leave(main())
