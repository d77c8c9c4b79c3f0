"""Find the location in a plugin's code that raised an error, which its author looks for first."""

import traceback
from collections.abc import Iterable
from itertools import dropwhile
from pathlib import Path
from types import FrameType
from typing import Final

from penstock.errors import ConnectError
from penstock_runtime.process.liveness import is_standard

__all__ = ["place_of_error", "place_of_frame", "raised_in"]

_CALLERS: Final = frozenset(
    (
        "penstock",
        "penstock_java_compat",
        "penstock_kafka",
        "penstock_logging",
        "penstock_model",
        "penstock_runtime",
        "pydantic",
    )
)
"""Packages that call plugins."""


def place_of_error(error: BaseException) -> str | None:
    """Return the innermost function of the plugin in the trace of an error, with file and line; None if there is none.

    The plugin's functions are those of the package that is called first, not those of libraries that it calls.
    """
    return _place(traceback.walk_tb(error.__traceback__))


def place_of_frame(frame: FrameType | None) -> str | None:
    """Return the innermost function of the plugin that a frame is in, as `place_of_error` does."""
    frames = reversed([*traceback.walk_stack(frame)])
    return _place(dropwhile(lambda walked: _package(walked[0]) not in _CALLERS, frames))


def _place(walked: Iterable[tuple[FrameType, int]]) -> str | None:
    frames = [
        (frame, line)
        for frame, line in walked
        if not is_standard(frame.f_code.co_filename) and _package(frame) not in _CALLERS
    ]
    own = [(frame.f_code, line) for frame, line in frames if _package(frame) == _package(frames[0][0])]
    if not own:
        return None
    code, line = own[-1]
    return f"{code.co_qualname} ({Path(code.co_filename).name}, line {line})"


def raised_in(error: BaseException) -> str:
    """Return a suffix for error messages that says where a plugin raised the error.

    Empty for a `ConnectError`, whose message the plugin wrote for users, and for an error that no plugin raised.
    """
    place = None if isinstance(error, ConnectError) and not _is_of_the_api(error) else place_of_error(error)
    return "" if place is None else f", in {place}"


def _is_of_the_api(error: BaseException) -> bool:
    """Return whether `penstock` raised the error because of a plugin's arguments, for example to `value_of`."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and _package(frames[-1]) == "penstock"


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
