"""Write Python's warnings and uncaught errors to the log."""

import logging
import sys
import threading
from types import TracebackType

__all__ = ["log_warnings_and_uncaught_errors"]


def log_warnings_and_uncaught_errors() -> None:
    """Log Python's warnings and uncaught exceptions of all threads instead of printing them."""
    logging.captureWarnings(capture=True)
    log = logging.getLogger("python")

    def uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        log.critical("%s: %s", kind.__name__, error, exc_info=(kind, error, trace) if error is not None else None)

    sys.excepthook = uncaught
    threading.excepthook = lambda a: uncaught(a.exc_type, a.exc_value, a.exc_traceback)
