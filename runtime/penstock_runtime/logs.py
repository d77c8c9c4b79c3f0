"""Structured logs: one JSON object a line, with connector, task and batch, and no secret in it."""

import json
import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

__all__ = ["JsonLines", "Seldom", "Spoken", "alike", "configure", "include_the_rest", "say", "speak"]

_REMEMBERED: Final = 200
_said = logging.getLogger("penstock")
_said.setLevel(logging.INFO)
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
        text = alike(record.getMessage())
        now = self._clock()
        if now - self._seen.get(text, -self._seconds) < self._seconds:
            return False
        if len(self._seen) >= _REMEMBERED:
            self._seen.clear()
        self._seen[text] = now
        return True


class Spoken(logging.Handler):
    """What a person at a terminal reads: what is said to them, and warnings; on what standard error is at the moment."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say it in one line."""
        if record.name == _said.name:
            sys.stderr.write(f"{record.getMessage()}\n")
        elif record.levelno >= logging.WARNING:
            sys.stderr.write(f"penstock: {record.getMessage()}\n")
        sys.stderr.flush()


def configure(
    *, level: str = "INFO", descriptor: int | None = None, stream: IO[str] | None = None,
    context: Callable[[], Mapping[str, Any]] = dict, redact: Callable[[str], str] = str,
) -> None:  # fmt: skip
    """Send every log line of this process to `stream`, or to a descriptor; else to standard error.

    A line that cannot be written there, as the disk is full, is left out.
    """
    # Else it is told on `sys.stderr`, which may lead to the log again, and so without end.
    logging.raiseExceptions = False
    if descriptor is not None:
        stream = open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115 (it lives as long as we do)
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(context, redact))
    _use(handler, level)


def speak(*, level: str = "WARNING", stream: IO[str] | None = None) -> None:
    """Speak to the person at the terminal; log lines of that level go to `stream`, if there is one."""
    _use(Spoken(), level)
    if stream is not None:
        file = logging.StreamHandler(stream)
        file.setFormatter(JsonLines(dict, str))
        logging.getLogger().addHandler(file)


def say(text: str, *, level: int = logging.INFO) -> None:
    """Tell whoever started this: at a terminal in plain words, else as a log line, whatever the level of the log is."""
    _said.log(level, "%s", text)


def include_the_rest() -> None:
    """Let Python's warnings, and errors that nobody caught, be log lines too."""
    logging.captureWarnings(capture=True)
    log = logging.getLogger("python")

    def uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        log.critical("%s: %s", kind.__name__, error, exc_info=(kind, error, trace) if error is not None else None)

    sys.excepthook = uncaught
    threading.excepthook = lambda a: uncaught(a.exc_type, a.exc_value, a.exc_traceback)


def alike(text: str) -> str:
    """The text without its numbers: what a client repeats differs in the milliseconds only."""
    return re.sub(r"[0-9]+(ms|s)?\b", "0", text)


def _use(handler: logging.Handler, level: str) -> None:
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("pyspark", "penstock.librdkafka"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    # It raises its errors besides, and tells of some of them as nobody in particular.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    handler.addFilter(lambda record: record.name != "root" or "py4j" not in Path(record.pathname).parts)
    logging.getLogger("penstock.librdkafka").filters[:] = [Seldom()]
