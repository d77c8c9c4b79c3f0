"""Track the progress of a task's loop, for the kubelet's health check.

The loop's thread calls `turned` in each iteration: after each batch and portion, and while it waits without a time limit
(for Kafka, an unavailable external system, or the end of a pause). Calls into other code, above all into a plugin, have a
limit (`allow`). `task/runner` sets that limit (`_set_time_limits`), and the operator's `connector/render/pod_manifests` sets
how often the kubelet checks, and when it ends the task (`_probes`). Calls of `turned` in other threads have no effect, so
that they cannot hide a blocked loop. In Spark's workers nothing in this module has an effect.
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

__all__ = ["LOOP", "Loop", "Standstill", "is_standard", "place_of"]

_AT_THE_START: Final = 600.0
"""Seconds for importing plugins and reading the configuration, before `allow` sets a limit."""
_LONGEST: Final = 86_400.0
"""Seconds for which `at_work` of `witnessed` may extend the limit."""
_ANSWER: Final = 5.0
"""Seconds within which `at_work` must return. The kubelet waits 10 s for the whole health check."""
_STANDARD: Final = sysconfig.get_paths()["stdlib"]


@dataclass(frozen=True, slots=True)
class Standstill:
    """Loop that has made no progress within its limit.

    Attributes:
        seconds: seconds since its last progress.
        most: limit in seconds.
        rule: reason for the limit.
        where: current function of the loop's thread, with file and line.
        trace: stack of that thread.
    """

    seconds: float
    most: float
    rule: str
    where: str
    trace: str

    def __str__(self) -> str:
        return (
            f"The task's loop has made no progress for {self.seconds:.0f} s in {self.where}; the limit is {self.most:.0f} s "
            f"({self.rule})"
        )


class Loop:
    """Progress of the loop of one thread. All methods except `begin` may be called in any thread.

    Args:
        clock: returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._thread: int | None = None
        self._turned = 0.0
        self._most, self._rule = _AT_THE_START, "startup"
        self.call: float | None = None
        """Seconds that one call of a plugin may take, once `allow` has set it."""
        self._at_work: Callable[[], bool] | None = None
        self._call: threading.Thread | None = None

    def begin(self) -> None:
        """Watch the calling thread from now on."""
        self._thread, self._turned = threading.get_ident(), self._clock()

    def allow(self, seconds: float, rule: str, call: float | None = None) -> None:
        """Set the limit of one iteration in seconds, its reason for messages, and the limit of one call of a plugin.

        Without `call`, the limit of a call stays the same.
        """
        self._most, self._rule = seconds, rule
        self.call = call or self.call

    @contextmanager
    def longer(self, seconds: float, rule: str) -> Iterator[None]:
        """Raise the limit within the block. No effect in other threads."""
        if threading.get_ident() != self._thread or seconds <= self._most:
            yield
            return
        most, usual = self._most, self._rule
        self.turned()
        self.allow(seconds, rule)
        try:
            yield
        finally:
            self.turned()  # must come first, so that the time of the block does not count against the usual limit
            self.allow(most, usual)

    def turned(self) -> None:
        """Record progress of the loop. No effect in other threads."""
        if threading.get_ident() == self._thread:
            self._turned = self._clock()

    @property
    def age(self) -> float:
        """Seconds since the last call of `turned`."""
        return self._clock() - self._turned

    @contextmanager
    def witnessed(self, at_work: Callable[[], bool]) -> Iterator[None]:
        """Let the block take up to a day, as long as `at_work` returns True.

        Args:
            at_work: called in another thread once the usual limit is exceeded; must return False if the state is unknown.
                No answer within five seconds counts as False, because the call may hang.
        """
        self.turned()
        self._at_work = at_work
        try:
            yield
        finally:
            self._at_work = None
            self.turned()

    @property
    def most(self) -> float:
        """Maximum seconds that an iteration may take."""
        return self._most

    def standstill(self, after: float | None = None) -> Standstill | None:
        """Return the standstill of the loop; None if it makes progress or has not started.

        Args:
            after: seconds after which it counts as one; None: the limit.
        """
        thread, turned = self._thread, self._turned
        seconds = self._clock() - turned
        if thread is None or seconds <= (self._most if after is None else after):
            return None
        at_work = self._at_work
        if at_work is not None and seconds <= _LONGEST and self._is_at_work(at_work):
            return None
        frame = sys._current_frames().get(thread)  # noqa: SLF001 (there is no other way to see another thread's stack)
        if frame is None or self._turned != turned:
            return None
        return Standstill(seconds, self._most, self._rule, _where(frame), "".join(traceback.format_stack(frame)))

    def _is_at_work(self, at_work: Callable[[], bool]) -> bool:
        """Call `at_work` in a thread. While one call hangs, return False without another call: threads must not pile up."""
        if self._call is not None and self._call.is_alive():
            return False
        answers: list[bool] = []
        call = threading.Thread(target=lambda: answers.append(at_work()), name="at-work", daemon=True)
        self._call = call
        call.start()
        call.join(_ANSWER)
        return answers == [True]


def place_of(thread: int) -> str:
    """Return the innermost function of a thread outside of the standard library, with file and line."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 (there is no other way to see another thread's stack)
    return "a thread that has ended" if frame is None else _where(frame)


def _where(frame: FrameType) -> str:
    """Return the innermost function of the stack outside of the standard library."""
    inner: FrameType | None = frame
    while inner is not None and is_standard(inner.f_code.co_filename):
        inner = inner.f_back
    of = inner or frame
    return f"{of.f_code.co_qualname} ({of.f_code.co_filename}, line {of.f_lineno})"


def is_standard(file: str) -> bool:
    """Return whether a source file belongs to Python's standard library."""
    return file.startswith((_STANDARD, "<frozen ")) and "-packages" not in file


LOOP: Final = Loop()
"""The loop of this process's task."""
