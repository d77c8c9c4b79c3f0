"""What scripted plugins share: the journal, and errors by name.

The journal is a pipe that the test reads (`journal.Journal`), one JSON object a line: `{"event": "put", ...}`.
"""

import json
import os
import sys
import time
from typing import Any, Final

from penstock import ConnectError, DataError, RetriableError, prop

JOURNAL: Final = prop("journal", "", doc="Where to tell what happens.")


class Teller:
    """Writes to the journal; to nowhere without one."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY) if path else None

    def __call__(self, event: str, **more: Any) -> None:
        if self._fd is not None:
            line = json.dumps({"event": event, "at": time.monotonic(), **more}, ensure_ascii=False)
            os.write(self._fd, line.encode() + b"\n")


def error_of(kind: str, message: str) -> Exception:
    """`retriable`, `data`, `fatal`, or a plugin's own mishap."""
    kinds: dict[str, type[Exception]] = {"retriable": RetriableError, "data": DataError, "fatal": ConnectError}
    return kinds.get(kind, RuntimeError)(message)


def in_driver() -> bool:
    """Whether this is the task's own process, and none of Spark's workers."""
    main = getattr(sys.modules["__main__"], "__spec__", None)
    return main is not None and main.name == "penstock_runtime.task.__main__"
