"""Retries of temporary failures (of a batch, a commit, a start), until the task stops.

Retries of a single record are in `error_tolerance`, and those of a sink's write in `sink/sink_process.py`.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from penstock_model.backoff import ExponentialBackoff
from penstock_runtime.pipeline.reports import Reports
from penstock_runtime.process.liveness import LOOP

__all__ = ["BATCH_BACKOFF", "rest", "until_done", "wait"]

log = logging.getLogger(__name__)
BATCH_BACKOFF: Final = ExponentialBackoff(first=0.2, longest=10.0)
"""Pauses before a batch, or a commit of a sink, is retried."""
_BACKOFF: Final = ExponentialBackoff(first=0.1, longest=10.0)
_SLICE: Final = 0.2


def rest(seconds: float, *, stopping: threading.Event, paused: threading.Event) -> None:
    """Wait this long, or until the task stops, pauses or resumes: a problem must not delay these."""
    deadline, before = time.monotonic() + seconds, paused.is_set()
    while (left := deadline - time.monotonic()) > 0 and not stopping.wait(min(_SLICE, left)):
        LOOP.turned()
        if paused.is_set() is not before:
            return


def wait(seconds: float, stopping: threading.Event) -> None:
    """Wait this long, or until the task stops; pausing does not end the wait."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0 and not stopping.wait(min(1.0, left)):
        LOOP.turned()


def until_done(
    work: Callable[[], None], *, passing: tuple[type[Exception], ...], stopping: threading.Event, reports: Reports
) -> None:
    """Call `work`, and retry it after growing pauses while it raises an exception in `passing`; return when the task stops.

    Raises:
        Exception: any other exception of `work`.
    """
    failures = 0
    while not stopping.is_set():
        LOOP.turned()
        try:
            work()
        except passing as e:
            failures += 1
            delay = getattr(e, "retry_after", None) or _BACKOFF.pause(failures)
            log.warning("Retrying in %.1f s: %s", delay, e)
            reports.trouble(str(e))
            wait(delay, stopping)
        else:
            if failures:  # other trouble lasts until the task has completed a round
                reports.trouble(None)
            return
