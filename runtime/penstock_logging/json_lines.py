"""Format of log lines."""

import json
import logging
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

__all__ = ["JsonLines"]

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""Attributes of every record. All others were passed as `extra`, and become fields of the line."""


class JsonLines(logging.Formatter):
    """Formatter that writes each record as one line of JSON.

    The fields are, in this order: `time` (UTC, with milliseconds), `level`, `logger`, `message`, those of `context`, those
    passed as `extra`, and `trace` if an exception was logged.

    Args:
        context: called for each line; returns fields such as connector and task.
        redact: replaces secrets in the message and the trace.
        omit: names of `extra` fields to omit.
    """

    def __init__(
        self, context: Callable[[], Mapping[str, Any]], redact: Callable[[str], str], *, omit: Collection[str] = ()
    ) -> None:
        super().__init__()
        self._context = context
        self._redact = redact
        self._not_extra = _STANDARD | frozenset(omit)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without a newline."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{stamp}.{int(record.msecs):03d}Z",
            "level": self.level(record),
            "logger": record.name,
            "message": self._redact(record.getMessage()),
            **self._context(),
            **{name: value for name, value in vars(record).items() if name not in self._not_extra},
        }
        if record.exc_info:
            line["trace"] = self._redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)

    def level(self, record: logging.LogRecord) -> str:
        """Return the level to show in the line, in lower case."""
        return record.levelname.lower()
