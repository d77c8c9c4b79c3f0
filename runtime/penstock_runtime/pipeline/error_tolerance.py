"""Handling of records that fail: retries, tolerance, log lines (KIP-298), as data.

A stage never fails a batch. It calls `RetryWithToleranceOperator.attempt` for each record that its batch form could not
process. Records that fail there become `Failure`s. At the end of the batch, `errors.tolerance` applies to all of them:
`source/delivery` and `sink/sink_process` skip them, or raise the error that `fatal` builds.
"""

import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

from penstock.errors import ConnectError, RetriableError
from penstock_runtime.java_plugins.java_error import PluginFailed
from penstock_runtime.process.liveness import LOOP
from penstock_runtime.process.plugin_place import raised_in

__all__ = ["ErrorPolicy", "Failure", "RetryWithToleranceOperator", "Stage"]

T = TypeVar("T")
_FIRST_DELAY: Final = 0.3
_SLICE: Final = 0.1
"""Maximum seconds between two checks during a wait whether the task stops."""


class Stage(StrEnum):
    """Stage at which a record can fail, by the names that Kafka Connect uses."""

    TRANSFORMATION = "TRANSFORMATION"
    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"
    TASK_PUT = "TASK_PUT"


_ONCE: Final = (Stage.KAFKA_PRODUCE, Stage.TASK_PUT)
"""Stages at which a single record is not retried."""


@dataclass(frozen=True)
class ErrorPolicy:
    """Settings `errors.*` of one connector; times in seconds."""

    tolerate: bool = False
    retry_timeout: float = 0.0
    """0: one attempt; negative: retry forever."""
    retry_delay_max: float = 60.0
    log: bool = False
    log_messages: bool = False
    dead_letter_topic: str | None = None
    dead_letter_headers: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """Record that failed permanently.

    Attributes:
        position: row of the record in the batch as it was read.
        stage: stage of the failure.
        plugin: class that failed, as named in the configuration.
        error: exception that was raised.
    """

    position: int
    stage: Stage
    plugin: str
    error: Exception

    def trace(self) -> str:
        """Return the Python stack trace of the error, as in the dead letter queue and the log."""
        return "".join(traceback.format_exception(self.error))


@dataclass
class RetryWithToleranceOperator:
    """Runner of single records through a stage, which collects those that fail.

    If no failure is tolerated, the first record that fails ends the task. Records after it are not attempted, because each
    could wait for as long as `errors.retry.timeout`. Records before it are attempted, because they may fail at a later
    stage.

    Args:
        policy: limits of retries.
        stopping: called while waiting; returning true abandons the batch.
        waiting: called with the reason before each wait.
    """

    policy: ErrorPolicy
    stopping: Callable[[], bool] = lambda: False
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    failures: list[Failure] = field(default_factory=list)
    retries: int = 0
    waiting: Callable[[str], None] = lambda text: None

    def attempt(self, position: int, stage: Stage, plugin: str, work: Callable[[], T]) -> tuple[bool, T | None]:
        """Call `work`, and retry on `RetriableError` until the deadline. Return `(False, None)` if it failed.

        The wait before retry n is the one that the error requests, else 0.3 s * 2^(n-1), or a random part of the cap once
        this exceeds it; the last wait ends at the deadline, counted from the first attempt's start (connect-semantics 5).
        An outage is retried until it ends if no timeout is set: skipping the record would not help the next one.

        Raises:
            RetriableError: the task stops, or may no longer wait here, while a record waits for its next attempt. The record
                has not failed, so it must not be skipped: the batch is abandoned and read again.
            MemoryError, PluginFailed: errors of this process, not of the record: like Java's errors, they are not tolerated.
        """
        if self.failures and not self.policy.tolerate and position > self.failures[-1].position:
            return False, None
        limit = self.policy.retry_timeout
        deadline = self.clock() + limit if limit >= 0 else float("inf")
        attempt = 0
        while True:
            try:
                return True, work()
            except RetriableError as e:
                now = self.clock()
                attempt += 1
                if e.outage and limit == 0:
                    deadline = float("inf")
                if now >= deadline:
                    self.failures.append(Failure(position, stage, plugin, e))
                    return False, None
                self.waiting(f"a record is retried (attempt {attempt}, {stage}, {plugin}): {e}")
                pause = self._delay(attempt) if e.retry_after is None else e.retry_after
                self._wait(now + min(pause, deadline - now), e)
                self.retries += 1
            except (MemoryError, PluginFailed):
                raise
            except Exception as e:  # noqa: BLE001 (a record's failure is data, for any exception of a plugin)
                self.failures.append(Failure(position, stage, plugin, e))
                return False, None

    def _wait(self, until: float, error: RetriableError) -> None:
        while (left := until - self.clock()) > 0 or self.stopping():
            if self.stopping():
                raise RetriableError(f"a record waits for its next attempt: {error}", error.retry_after) from error
            LOOP.turned()
            self.sleep(min(left, _SLICE))

    def _delay(self, attempt: int) -> float:
        delay: float = _FIRST_DELAY * 2.0 ** min(attempt - 1, 60)
        cap = max(0.0, self.policy.retry_delay_max)
        return delay if delay <= cap else random.uniform(0, cap)  # noqa: S311 (spreads load, guards nothing)


def describe(error: Exception) -> str:
    """Return class and message of an error, for use in a sentence."""
    text = printable(_noted(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def sentence(error: Exception) -> str:
    """Return the message of an error that ends a task or a job; with its class, unless it is a `ConnectError`."""
    return (_noted(error) if isinstance(error, ConnectError) else describe(error)) + raised_in(error)


def _noted(error: Exception) -> str:
    """Return the message, with one-line notes, which locate the error. Notes of several lines are traces."""
    return "; ".join([str(error), *(note for note in getattr(error, "__notes__", ()) if "\n" not in note)])


def printable(text: str) -> str:
    """Return a string that UTF-8 can encode: a plugin's message with half of a surrogate pair must be visible, too."""
    return text.encode("utf-8", "backslashreplace").decode()


def fatal(failure: Failure, policy: ErrorPolicy, *, where: str, task: str) -> ConnectError:
    """Return the error that ends a task whose record failed under tolerance `none`; its cause is the record's error."""
    reason = describe(failure.error).removesuffix(".") + raised_in(failure.error)
    advice = "Correct the data or the configuration and restart"
    if isinstance(failure.error, RetriableError) and failure.stage not in _ONCE:
        advice = (
            f"The plugin requests a later retry: set errors.retry.timeout (now {round(policy.retry_timeout * 1000)}) to the "
            f"number of milliseconds for which to retry, or to -1 to retry forever"
        )
    error = ConnectError(
        f"Tolerance exceeded in error handler: {where} failed in task {task} at stage {failure.stage} "
        f"({failure.plugin}): {reason}. {advice}, or set "
        f"errors.tolerance=all (with errors.deadletterqueue.topic.name, to keep such records) to skip it."
    )
    error.__cause__ = failure.error
    return error
