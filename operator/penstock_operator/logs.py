"""The operator's log: JSON lines on standard error, in the format of tasks, each with the connector that it is about."""

import json
import logging
import re
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, Any, Final

from penstock_operator.kubernetes.optional_kinds import OPTIONAL_THREAD
from penstock_operator.queue.workqueue import current_key

__all__ = ["JsonLines", "Seldom", "configure"]

_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_OF_KOPF: Final = frozenset(("k8s_ref", "k8s_skip", "settings"))
_REMEMBERED: Final = 200
_REPEATING: Final = ("kopf", "penstock.librdkafka", "urllib3", "aiohttp", "asyncio")


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON; during a reconciliation it has the field `connector`."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        # kopf logs a request that it will retry as an error.
        level = (
            "warning" if record.name.startswith("kopf") and "will retry" in record.getMessage() else record.levelname
        )
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{stamp}.{int(record.msecs):03d}Z",
            "level": level.lower(),
            "logger": record.name,
            "message": self._redact(record.getMessage()),
        }
        if (key := current_key.get()) is not None:
            line["connector"] = str(key)
        line |= {k: v for k, v in vars(record).items() if k not in _OWN and k not in _OF_KOPF}
        if record.exc_info:
            line["trace"] = self._redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)


class Seldom(logging.Filter):
    """Lets each message of a library through once in a while. Messages that differ in numbers only count as one."""

    def __init__(self, seconds: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._seconds = seconds
        self._clock = clock
        self._seen: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is Penstock's own, or not a repetition."""
        if not record.name.startswith(_REPEATING):
            return True
        if record.threadName == OPTIONAL_THREAD and record.levelno >= logging.ERROR:  # `optional_kinds` reports it
            return False
        text = re.sub(r"[0-9]+", "0", record.getMessage())
        now = self._clock()
        if now - self._seen.get(text, -self._seconds) < self._seconds:
            return False
        if len(self._seen) >= _REMEMBERED:
            self._seen.clear()
        self._seen[text] = now
        return True


def configure(level: str = "INFO", *, redact: Callable[[str], str] = str, stream: IO[str] | None = None) -> None:
    """Write all log lines of this process to `stream`, also Python's warnings and uncaught errors."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(redact))
    handler.addFilter(Seldom())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name, least in (("kopf", "WARNING"), ("aiohttp", "WARNING"), ("urllib3", "ERROR")):
        logging.getLogger(name).setLevel("DEBUG" if level == "DEBUG" else least)
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)  # it warns of signals
    logging.getLogger("penstock.librdkafka").setLevel(logging.ERROR)
    logging.captureWarnings(capture=True)
    log = logging.getLogger("python")
    sys.excepthook = lambda kind, error, trace: log.critical(
        "%s: %s", kind.__name__, error, exc_info=(kind, error, trace)
    )
    threading.excepthook = lambda a: log.critical(
        "%s: %s", a.exc_type.__name__, a.exc_value,
        exc_info=(a.exc_type, a.exc_value, a.exc_traceback) if a.exc_value is not None else None,
    )  # fmt: skip
