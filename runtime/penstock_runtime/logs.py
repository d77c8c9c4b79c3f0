"""Log of this process: JSON lines, or plain sentences if it was started by a user at a terminal."""

import logging
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from penstock_logging import JsonLines, RepetitionFilter

__all__ = ["TerminalHandler", "configure", "configure_for_terminal", "override_level", "say"]

_said = logging.getLogger("penstock")
_said.setLevel(logging.INFO)
_configured = "INFO"
"""Level of the root logger without an override."""


class TerminalHandler(logging.Handler):
    """Log handler that prints messages of `say`, and warnings, as plain sentences to the current `sys.stderr`."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the record on one line."""
        if record.name == _said.name:
            sys.stderr.write(f"{record.getMessage()}\n")
        elif record.levelno >= logging.WARNING:
            sys.stderr.write(f"penstock: {record.getMessage()}\n")
        sys.stderr.flush()


def configure(
    *,
    level: str = "INFO",
    descriptor: int | None = None,
    stream: IO[str] | None = None,
    context: Callable[[], Mapping[str, Any]] = dict,
    redact: Callable[[str], str] = str,
) -> None:
    """Write all log lines of this process as JSON to `stream` or a descriptor, by default to standard error.

    A line that cannot be written, for example because the disk is full, is dropped.
    """
    # Otherwise logging reports the failure on `sys.stderr`, which may lead back to the log, in an endless loop.
    logging.raiseExceptions = False
    if descriptor is not None:
        stream = open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115 (used until the process ends)
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(context, redact))
    _use(handler, level)


def configure_for_terminal(*, level: str = "WARNING", stream: IO[str] | None = None) -> None:
    """Print plain sentences for the user at the terminal, and write JSON lines of `level` to `stream`, if given."""
    _use(TerminalHandler(), level)
    if stream is not None:
        file = logging.StreamHandler(stream)
        file.setFormatter(JsonLines(dict, str))
        logging.getLogger().addHandler(file)


def say(text: str, *, level: int = logging.INFO) -> None:
    """Print a sentence for the user who started the process. Without a terminal, log it regardless of the log level."""
    _said.log(level, "%s", text)


def override_level(level: str | None) -> None:
    """Log at this level from now on; None restores the configured level."""
    logging.getLogger().setLevel(_configured if level is None else level)


def _use(handler: logging.Handler, level: str) -> None:
    global _configured
    _configured = level
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("pyspark", "penstock.librdkafka"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    # py4j raises its errors as well as logging them, and logs some of them under the root logger.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    handler.addFilter(lambda record: record.name != "root" or "py4j" not in Path(record.pathname).parts)
    logging.getLogger("penstock.librdkafka").filters[:] = [RepetitionFilter()]
