"""Makes ready for a plan's tasks, and gives up in time where Kafka is away or refuses."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from penstock.errors import ConfigError, ConnectError, Superseded
from penstock_model.contracts.pod_identity import Standing
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.fencing.prepare import prepare
from penstock_runtime.kafka.connectivity import await_kafka
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.task.context import task_context

__all__ = ["Complaints", "Unavailable", "prepared", "with_kafka"]

T = TypeVar("T")
_REACH: Final = 10.0  # seconds
_TROUBLED: Final = 18.0
"""Seconds after which work is given up while clients complain."""
_LONGEST: Final = 75.0
_RECENT: Final = 3.0


class Unavailable(ConnectError):
    """Kafka, or something else that is needed, is away or refuses; the message says which and why."""


class Complaints:
    """What clients tell in the background."""

    def __init__(self) -> None:
        self._heard: deque[tuple[float, str]] = deque(maxlen=50)

    def __call__(self, text: str) -> None:
        """Take one in."""
        self._heard.append((time.monotonic(), text))

    def lately(self, seconds: float) -> str | None:
        """The last of so many seconds, if there is one: rather one that says more than that brokers are down."""
        since = time.monotonic() - seconds
        heard = [text for at, text in list(self._heard) if at >= since]
        return next((t for t in reversed(heard) if "_ALL_BROKERS_DOWN" not in t), heard[-1] if heard else None)


def prepared(task: TaskSpec, known: StatusSnapshot | None = None, owner: str = "") -> Standing:
    """The standing of the plan that this is the first task of.

    Args:
        task: likewise.
        known: what was read of the status topic before.
        owner: the Connector's mark.

    Raises:
        ConfigError: the configuration is wrong.
        Superseded: somebody else starts the same connector at this moment.
        Unavailable: Kafka is away, or refuses.
    """
    complaints = Complaints()
    setup = task_context(task, slots_dir=Path(os.devnull), on_error=complaints)
    setup = replace(setup, shared=replace(setup.shared, on_error=complaints))
    return with_kafka(lambda: prepare(setup, known, owner), setup.shared, setup.settings, complaints=complaints)


def with_kafka(work: Callable[[], T], *settings: ClientSettings, complaints: Complaints) -> T:
    """Reach Kafka, then do work with it, in a thread that is left behind when it does not end.

    Raises:
        ConfigError, Superseded: the work's.
        Unavailable: whatever else went wrong.
    """
    outcome: Future[T] = Future()
    try:
        await_kafka(*settings, seconds=_REACH)
        threading.Thread(target=_into, args=(outcome, work), daemon=True).start()
        begun = time.monotonic()
        while not outcome.done():
            wait([outcome], timeout=0.5)
            waited, last = time.monotonic() - begun, complaints.lately(_RECENT)
            if (waited > _TROUBLED - _REACH and last is not None) or waited > _LONGEST:
                why = f": {last}" if last is not None else ""
                raise Unavailable(
                    f"Kafka at {settings[0].bootstrap} answers, but work with it has not ended after {waited:.0f} s{why}. "
                    f"Check that the brokers can be reached under the names that they advertise, and that all of them run."
                )
        return outcome.result()
    except (ConfigError, Superseded, Unavailable):
        raise
    except ConnectError as e:
        raise Unavailable(str(e)) from e


def _into(outcome: "Future[T]", work: Callable[[], T]) -> None:
    try:
        outcome.set_result(work())
    except BaseException as e:  # noqa: BLE001 (raised where it is waited for)
        outcome.set_exception(e)
