"""A command of `penstock` in the process of the tests: one of its own would spend most of its time on imports."""

import io
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from penstock_cli.__main__ import main

__all__ = ["Done", "own_log", "penstock"]


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def penstock(*arguments: str | Path) -> Done:
    """Carry out `penstock ARGUMENTS...`."""
    out, err = io.StringIO(), io.StringIO()
    with own_log(), redirect_stdout(out), redirect_stderr(err):
        try:
            code = main([*map(str, arguments)])
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
    return Done(code, out.getvalue(), err.getvalue())


@contextmanager
def own_log() -> Iterator[None]:
    """Leave the log of this process as it was."""
    root = logging.getLogger()
    handlers, level, raises = root.handlers[:], root.level, logging.raiseExceptions
    hooks = sys.excepthook, threading.excepthook, warnings.showwarning
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        sys.excepthook, threading.excepthook, warnings.showwarning = hooks
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.raiseExceptions = raises
