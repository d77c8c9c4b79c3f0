"""Structured logs: one JSON object a line, with connector, task and batch, and no secret in it."""

import json
import logging
import re
import sys
import time
from collections.abc import Callable, Mapping
from typing import IO, Any, Final

__all__ = ["JsonLines", "Seldom", "configure"]

_REMEMBERED: Final = 200
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON.

    Args:
        context: asked for fields that every line carries (connector, task, batch).
        redact: takes secrets out of the finished line's texts.
    """

    def __init__(self, context: Callable[[], Mapping[str, Any]], redact: Callable[[str], str]) -> None:
        super().__init__()
        self._context = context
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{stamp}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redact(record.getMessage()),
            **self._context(),
            **{k: v for k, v in vars(record).items() if k not in _OWN},
        }
        if record.exc_info:
            line["trace"] = self._redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)


class Seldom(logging.Filter):
    """Lets a message through once in a while only: a client that has lost its broker repeats itself twice a second."""

    def __init__(self, seconds: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._seconds = seconds
        self._clock = clock
        self._seen: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this one is new."""
        text = re.sub(r"[0-9]+(ms|s)?\b", "0", record.getMessage())
        now = self._clock()
        if now - self._seen.get(text, -self._seconds) < self._seconds:
            return False
        if len(self._seen) >= _REMEMBERED:
            self._seen.clear()
        self._seen[text] = now
        return True


def configure(
    *, level: str = "INFO", stream: IO[str] | None = None, context: Callable[[], Mapping[str, Any]] = dict,
    redact: Callable[[str], str] = str,
) -> None:  # fmt: skip
    """Send every log line of this process to `stream` (standard error)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(context, redact))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("py4j", "pyspark", "penstock.librdkafka"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    logging.getLogger("penstock.librdkafka").filters[:] = [Seldom()]
