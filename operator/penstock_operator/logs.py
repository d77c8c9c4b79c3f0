"""Log of the operator: JSON lines on standard error, in the format of tasks, each with the connector that it concerns."""

import logging
import re
import sys
import time
from collections.abc import Callable, Mapping
from typing import IO, Final

import penstock_logging
from penstock_operator.kubernetes.optional_kinds import OPTIONAL_THREAD
from penstock_operator.queue.workqueue import current_key

__all__ = ["JsonLines", "RepetitionFilter", "configure"]

_OF_KOPF: Final = frozenset(("k8s_ref", "k8s_skip", "settings"))
_REPEATING: Final = ("kopf", "penstock.librdkafka", "urllib3", "aiohttp", "asyncio")


class JsonLines(penstock_logging.JsonLines):
    """Formatter of records as lines of JSON, with the field `connector` during a reconciliation."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__(_reconciled_connector, redact, omit=_OF_KOPF)

    def level(self, record: logging.LogRecord) -> str:
        """Return `warning` if kopf logs a request that it will retry as an error."""
        if record.name.startswith("kopf") and "will retry" in record.getMessage():
            return "warning"
        return super().level(record)


class RepetitionFilter(penstock_logging.RepetitionFilter):
    """Filter that limits repetitions of libraries' messages. Messages that differ only in numbers count as the same."""

    def __init__(self, seconds: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(seconds, clock, same=lambda text: re.sub(r"[0-9]+", "0", text))

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log the record: not if it repeats a library's message, or `optional_kinds` reports it."""
        if not record.name.startswith(_REPEATING):
            return True
        if record.threadName == OPTIONAL_THREAD and record.levelno >= logging.ERROR:
            return False
        return super().filter(record)


def configure(level: str = "INFO", *, redact: Callable[[str], str] = str, stream: IO[str] | None = None) -> None:
    """Write all log lines of this process to `stream`, including Python's warnings and uncaught errors."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(redact))
    handler.addFilter(RepetitionFilter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name, least in (("kopf", "WARNING"), ("aiohttp", "WARNING"), ("urllib3", "ERROR")):
        logging.getLogger(name).setLevel("DEBUG" if level == "DEBUG" else least)
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)  # it warns about signals
    logging.getLogger("penstock.librdkafka").setLevel(logging.ERROR)
    penstock_logging.log_warnings_and_uncaught_errors()


def _reconciled_connector() -> Mapping[str, str]:
    key = current_key.get()
    return {} if key is None else {"connector": str(key)}
