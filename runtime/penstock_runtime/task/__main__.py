"""The process of one task: `python -m penstock_runtime.task SPEC`.

Started by `penstock run`, or as the main process of a pod. Here is only what must be done before anything that takes long
to import: SIGTERM is heard from the first moment on.
"""

import logging
import os
import sys
from contextlib import suppress
from typing import NoReturn

from penstock_runtime.init import work_under_init
from penstock_runtime.task.shutdown import Stopping
from penstock_runtime.task.stdio_capture import last_lines

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the task of a spec file until it is told to stop (SIGTERM), fails, or is superseded."""
    stopping = Stopping()
    from penstock_runtime.task.process import run

    return run(arguments, stopping)


def _leave(code: int) -> NoReturn:
    """End now: an abandoned Spark job's thread must not hold the process up. The JVM ends with our pipe to it."""
    with suppress(OSError):  # whoever reads them may be gone
        last_lines()
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    work_under_init()
    _leave(main())
