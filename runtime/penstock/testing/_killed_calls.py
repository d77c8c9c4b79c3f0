"""Calls of a plugin that are aborted before a given line, because a process may be killed at any time."""

import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

__all__ = ["killed", "lines_of"]


class _Killed(BaseException):
    """Raised to abort a call. It is not an `Exception`, so that code under test does not catch it."""


def lines_of(call: Callable[[], object], packages: Sequence[str]) -> int:
    """Make the call, and return the number of executed lines of these packages, counting repetitions."""
    lines = 0

    def see(frame: FrameType) -> None:
        nonlocal lines
        lines += 1

    _traced(call, packages, see)
    return lines


def killed(call: Callable[[], object], packages: Sequence[str], line: int) -> str:
    """Make the call, and abort it before the executed line with this index, starting at 0. Return where it was aborted."""
    left, where = line, "the end of the call"

    def see(frame: FrameType) -> None:
        nonlocal left, where
        if not left:
            where = f"line {frame.f_lineno} of {frame.f_code.co_filename} (in {frame.f_code.co_qualname})"
            raise _Killed
        left -= 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # a killed process closes nothing
        with suppress(_Killed):
            _traced(call, packages, see)
    return where


def _traced(call: Callable[[], object], packages: Sequence[str], see: Callable[[FrameType], None]) -> None:
    """Make the call, and pass the frame to `see` before each line of these packages is executed in this thread."""

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        return line if frame.f_globals.get("__name__", "").partition(".")[0] in packages else None

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            see(frame)
        return line

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        call()
    finally:
        sys.settrace(before)
