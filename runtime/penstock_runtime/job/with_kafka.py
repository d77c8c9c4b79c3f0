"""Prepare Kafka for the tasks of a plan, and give up in time if Kafka is unavailable or refuses."""

import os
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from penstock.errors import ConfigError, ConnectError, Superseded
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.job.prepare import prepare
from penstock_runtime.kafka.connectivity import await_kafka
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.process.abandonable import start
from penstock_runtime.task.context import task_context

__all__ = ["ClientErrors", "OffsetsRefused", "Unavailable", "prepare_plan", "with_kafka"]

T = TypeVar("T")
_REACH_KAFKA: Final = 10.0  # seconds
_LONGEST_WITH_ERRORS: Final = 18.0
"""Seconds after which work is given up while clients log errors."""
_LONGEST: Final = 75.0
_RECENT: Final = 3.0


class Unavailable(ConnectError):
    """Raised when Kafka, or something else that the work needs, is unavailable or refuses; the message gives the reason."""


class OffsetsRefused(ConnectError):
    """Raised when offsets stay unchanged: the plugin does not agree, or they are in use. The message is for the user."""


class ClientErrors:
    """Latest errors that Kafka clients report in the background."""

    def __init__(self) -> None:
        self._errors: deque[tuple[float, str]] = deque(maxlen=50)

    def __call__(self, text: str) -> None:
        """Add an error."""
        self._errors.append((time.monotonic(), text))

    def latest(self, seconds: float) -> str | None:
        """Return the latest error of the last `seconds`, or None; prefer any other error to "all brokers are down"."""
        since = time.monotonic() - seconds
        texts = [text for at, text in list(self._errors) if at >= since]
        return next((t for t in reversed(texts) if "_ALL_BROKERS_DOWN" not in t), texts[-1] if texts else None)


def prepare_plan(task: TaskSpec, known: StatusSnapshot | None = None, owner: str = "") -> PlanEpoch:
    """Create topics, fence earlier tasks, and return the epoch of the plan.

    Args:
        task: first task of the plan.
        known: records that the operator has read from the status topic.
        owner: mark of the Connector (`JobRequest.owner`).

    Raises:
        ConfigError: the configuration is invalid.
        Superseded: the same connector is being started elsewhere now.
        Unavailable: Kafka is unavailable, or refuses.
    """
    client_errors = ClientErrors()
    context = task_context(task, slots_dir=Path(os.devnull), on_error=client_errors)
    context = replace(context, shared=replace(context.shared, on_error=client_errors))
    return with_kafka(
        lambda: prepare(context, known, owner), context.shared, context.settings, client_errors=client_errors
    )


def with_kafka(work: Callable[[], T], *settings: ClientSettings, client_errors: ClientErrors) -> T:
    """Wait for Kafka, then do work with it in a thread. The thread is abandoned if the work does not finish in time.

    Raises:
        ConfigError, Superseded, OffsetsRefused: raised by the work.
        Unavailable: Kafka is unavailable or refuses, or the work did not finish in time.
    """
    try:
        await_kafka(*settings, seconds=_REACH_KAFKA)
        outcome = start(work, "with-kafka")
        begun = time.monotonic()
        while not outcome.done():
            wait([outcome], timeout=0.5)
            waited, last = time.monotonic() - begun, client_errors.latest(_RECENT)
            if (waited > _LONGEST_WITH_ERRORS - _REACH_KAFKA and last is not None) or waited > _LONGEST:
                why = f": {last}" if last is not None else ""
                raise Unavailable(
                    f"Kafka at {settings[0].bootstrap} responds, but requests to it have not completed after "
                    f"{waited:.0f} s{why}. Check "
                    "that the brokers' advertised listeners are reachable, and that all brokers are running."
                )
        return outcome.result()
    except (ConfigError, Superseded, OffsetsRefused, Unavailable):
        raise
    except ConnectError as e:
        raise Unavailable(str(e)) from e
