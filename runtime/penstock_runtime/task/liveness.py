"""Whether the loop of a task goes on: what the kubelet asks for, and what a task that stands still is known by.

The loop's thread says `turned` wherever it comes round: after each batch and portion, and while it waits for something
that it may wait for as long as that takes (Kafka, an outside that is away, the end of a pause). What it calls and cannot
look into, a plugin above all, has so many seconds (`allow`). Other threads say nothing by it, so that their waiting does
not hide a loop that is blocked; in workers of Spark it does nothing.
"""

import sys
import sysconfig
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final

__all__ = ["LOOP", "Loop", "Standstill"]

_AT_THE_START: Final = 600.0
"""Seconds for importing plugins and reading the configuration, before the loop has a bound of its own."""
_LONGEST: Final = 86_400.0
"""Seconds for which somebody else may say that work goes on."""
_ANSWER: Final = 5.0
"""Seconds within which somebody else must have said so; the kubelet gives us ten."""
_STANDARD: Final = sysconfig.get_paths()["stdlib"]


@dataclass(frozen=True, slots=True)
class Standstill:
    """A loop that does not turn.

    Attributes:
        seconds: for how long.
        most: how long it might have taken.
        rule: where that bound comes from.
        where: the function that it is in, with file and line.
        trace: the stack of its thread.
    """

    seconds: float
    most: float
    rule: str
    where: str
    trace: str

    def __str__(self) -> str:
        return (
            f"The task's loop has stood still for {self.seconds:.0f} s in {self.where}; it may for {self.most:.0f} s "
            f"({self.rule})"
        )


class Loop:
    """Signs of life of one thread. All but `begin` may be called from any thread.

    Args:
        clock: monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._thread: int | None = None
        self._turned = 0.0
        self._most, self._rule = _AT_THE_START, "a start"
        self._at_work: Callable[[], bool] | None = None
        self._asking: threading.Thread | None = None

    def begin(self) -> None:
        """From now on this is about the thread that calls."""
        self._thread, self._turned = threading.get_ident(), self._clock()

    def allow(self, seconds: float, rule: str) -> None:
        """A call out of the loop may take so long, and where that bound comes from."""
        self._most, self._rule = seconds, rule

    @contextmanager
    def longer(self, seconds: float, rule: str) -> Iterator[None]:
        """What is called now may take so long, where other calls may not. Nothing when another thread says so."""
        if threading.get_ident() != self._thread or seconds <= self._most:
            yield
            return
        most, usual = self._most, self._rule
        self.turned()
        self.allow(seconds, rule)
        try:
            yield
        finally:
            self.turned()  # first: what it took is over before the bound of others holds
            self.allow(most, usual)

    def turned(self) -> None:
        """The loop goes on. Nothing when another thread says so."""
        if threading.get_ident() == self._thread:
            self._turned = self._clock()

    @property
    def age(self) -> float:
        """Seconds since the loop turned last."""
        return self._clock() - self._turned

    @contextmanager
    def witnessed(self, at_work: Callable[[], bool]) -> Iterator[None]:
        """What is called now may take up to a day where somebody else sees that it works.

        Args:
            at_work: asked from another thread, once the time of a usual call is over; false when in doubt. No answer
                within five seconds is false: it may hang itself.
        """
        self.turned()
        self._at_work = at_work
        try:
            yield
        finally:
            self._at_work = None
            self.turned()

    def standstill(self) -> Standstill | None:
        """What is wrong; None: nothing, also where no loop has begun."""
        thread, turned = self._thread, self._turned
        seconds = self._clock() - turned
        if thread is None or seconds <= self._most:
            return None
        at_work = self._at_work
        if at_work is not None and seconds <= _LONGEST and self._says(at_work):
            return None
        frame = sys._current_frames().get(thread)  # noqa: SLF001 (there is no other way to see another thread's stack)
        if frame is None or self._turned != turned:
            return None
        return Standstill(seconds, self._most, self._rule, _where(frame), "".join(traceback.format_stack(frame)))

    def _says(self, at_work: Callable[[], bool]) -> bool:
        """Its answer. Only one question is open at a time, so that one that hangs does not pile up threads."""
        if self._asking is not None and self._asking.is_alive():
            return False
        said: list[bool] = []
        asking = threading.Thread(target=lambda: said.append(at_work()), name="at-work", daemon=True)
        self._asking = asking
        asking.start()
        asking.join(_ANSWER)
        return said == [True]


def _where(frame: FrameType) -> str:
    """The innermost function that is not Python's own."""
    inner: FrameType | None = frame
    while inner is not None and _is_standard(inner.f_code.co_filename):
        inner = inner.f_back
    of = inner or frame
    return f"{of.f_code.co_qualname} ({of.f_code.co_filename}, line {of.f_lineno})"


def _is_standard(file: str) -> bool:
    return file.startswith((_STANDARD, "<frozen ")) and "-packages" not in file


LOOP: Final = Loop()
"""Of this process's task."""
