"""What happens to a record that fails: retries, tolerance, log lines (KIP-298), as data.

A stage never fails a batch. It calls `RetryWithToleranceOperator.attempt` for each record that its fast form could not do.
What fails there becomes a `Failure`, and at the end of the batch `errors.tolerance` decides once for all of them.
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
"""Waits are cut to this, in seconds, so that a task which is to stop does so."""


class Stage(StrEnum):
    """Where a record can fail, in Connect's words."""

    TRANSFORMATION = "TRANSFORMATION"
    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"
    TASK_PUT = "TASK_PUT"


_ONCE: Final = (Stage.KAFKA_PRODUCE, Stage.TASK_PUT)
"""Stages at which a record is not tried again by itself."""


@dataclass(frozen=True)
class ErrorPolicy:
    """`errors.*` of one connector; times in seconds."""

    tolerate: bool = False
    retry_timeout: float = 0.0
    """0 tries once, a negative one for ever."""
    retry_delay_max: float = 60.0
    log: bool = False
    log_messages: bool = False
    dead_letter_topic: str | None = None
    dead_letter_headers: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """A record that failed for good.

    Attributes:
        position: its row in the batch as it was read.
        stage: where.
        plugin: the class that failed, under the name by which the configuration knows it.
        error: what was raised.
    """

    position: int
    stage: Stage
    plugin: str
    error: Exception

    def trace(self) -> str:
        """The Python stack trace of the error, as the dead letter queue and the log show it."""
        return "".join(traceback.format_exception(self.error))


@dataclass
class RetryWithToleranceOperator:
    """Runs single records through a stage and collects those that fail.

    Where nothing is tolerated the first record that fails ends the task. Those behind it are not tried any more: each could
    wait for as long as `errors.retry.timeout` says. Those before it are, since they may fail at a later stage.

    Args:
        policy: how often to try.
        stopping: asked while waiting; true abandons the batch.
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
        """Do it, again while it raises `RetriableError` and time is left. `(False, None)` when it failed for good.

        The wait before retry n is what the error asks for, else 0.3 s * 2^(n-1), once past the cap a random part of it, and
        the last one ends at the deadline, which counts from the beginning of the first try (connect-semantics 5).

        Raises:
            RetriableError: the task is to stop, or may wait here no longer, while a record waits for its next try. The
                record has not failed, so that it must not be passed over: the batch is abandoned and comes again.
            MemoryError, PluginFailed: of this process, not of the record: as Java's errors, it is not tolerated.
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
                if now >= deadline:
                    self.failures.append(Failure(position, stage, plugin, e))
                    return False, None
                self.waiting(f"a record is tried again (attempt {attempt}, {stage}, {plugin}): {e}")
                pause = self._delay(attempt) if e.retry_after is None else e.retry_after
                self._wait(now + min(pause, deadline - now), e)
                self.retries += 1
            except (MemoryError, PluginFailed):
                raise
            except Exception as e:  # noqa: BLE001 (a record's failure is data, whatever a plugin raises)
                self.failures.append(Failure(position, stage, plugin, e))
                return False, None

    def _wait(self, until: float, error: RetriableError) -> None:
        while (left := until - self.clock()) > 0 or self.stopping():
            if self.stopping():
                raise RetriableError(f"A record waits for its next try: {error}", error.retry_after) from error
            LOOP.turned()
            self.sleep(min(left, _SLICE))

    def _delay(self, attempt: int) -> float:
        delay: float = _FIRST_DELAY * 2.0 ** min(attempt - 1, 60)
        cap = max(0.0, self.policy.retry_delay_max)
        return delay if delay <= cap else random.uniform(0, cap)  # noqa: S311 (spreads load, guards nothing)


def describe(error: Exception) -> str:
    """Class and message of an error, for sentences."""
    text = printable(_noted(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def sentence(error: Exception) -> str:
    """What an error says that ends a task or a job: a `ConnectError` is worded for users, of others the class counts too."""
    return (_noted(error) if isinstance(error, ConnectError) else describe(error)) + raised_in(error)


def _noted(error: Exception) -> str:
    """The message, with the notes of one line that say where it was. One of several lines is a trace."""
    return "; ".join([str(error), *(note for note in getattr(error, "__notes__", ()) if "\n" not in note)])


def printable(text: str) -> str:
    """A text that UTF-8 can say: a plugin may quote half of a surrogate pair, which must not hide what it has to tell."""
    return text.encode("utf-8", "backslashreplace").decode()


def fatal(failure: Failure, policy: ErrorPolicy, *, where: str, task: str) -> ConnectError:
    """The error that ends a task whose record failed under tolerance `none`; its cause is the record's."""
    reason = describe(failure.error).removesuffix(".") + raised_in(failure.error)
    advice = "Correct the data or the configuration and restart"
    if isinstance(failure.error, RetriableError) and failure.stage not in _ONCE:
        advice = (
            f"It asks to be tried again later: set errors.retry.timeout (now {round(policy.retry_timeout * 1000)}) to the "
            f"milliseconds for which it is, or to -1 for ever"
        )
    error = ConnectError(
        f"Tolerance exceeded in error handler: {where} failed in task {task} at stage {failure.stage} "
        f"({failure.plugin}): {reason}. {advice}, or set "
        f"errors.tolerance=all (with errors.deadletterqueue.topic.name, to keep such records) to pass over it."
    )
    error.__cause__ = failure.error
    return error
