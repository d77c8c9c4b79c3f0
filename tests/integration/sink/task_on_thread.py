"""A sink task on a thread of this process, and what it reports: for tests that reach into it, or give it a clock."""

import itertools
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock import RetriableError
from penstock.errors import ConnectError
from penstock.sink import TopicPartition
from penstock.source import Backlog
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.pipeline.summary import Summary
from penstock_runtime.sink.commit_schedule import CommitSchedule
from penstock_runtime.sink.context import SinkContext
from penstock_runtime.sink.fence import SinkFence
from penstock_runtime.sink.task import SinkTask

from ..running import until


class News:
    """Reports, kept."""

    def __init__(self) -> None:
        self.states: list[State] = []
        self.troubles: list[str | None] = []
        self.summaries: list[Summary] = []
        self.turns = 0
        self.waits = 0
        self.proven = False
        self.failed: Exception | None = None

    def state(self, state: State, *, trace: str | None = None) -> None:
        self.states.append(state)

    def batch(self, summary: Summary, *, seconds: float, on_spark: bool) -> None:
        self.summaries.append(summary)

    def looped(self, *, proven: bool) -> None:
        self.proven = proven

    def committed(self) -> None: ...

    def waited(self, seconds: float) -> None:
        self.waits += 1

    def partitions(self, number: int) -> None: ...

    def lag(self, lags: Mapping[TopicPartition, int] | None) -> None: ...

    def backlog(self, backlog: Backlog) -> None: ...

    def active(self, topics: list[str]) -> None: ...

    def reads(self, is_read: Callable[[str], object], known: Collection[str]) -> None: ...

    def trouble(self, message: str | None) -> None:
        self.turns += 1
        if [message] != self.troubles[-1:]:
            self.troubles.append(message)

    def spark(self, workers: int | None) -> None: ...


class Task:
    """A sink task on a thread of this process."""

    def __init__(self, spec: TaskSpec, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.news = News()
        self.paused, self._stopping = threading.Event(), threading.Event()
        setup = SinkContext.of(spec, slots_dir=folder)
        fence = SinkFence(setup.at_least_once_fence(), StatusWriter(setup.shared, client_id="test-status"))
        self._task = SinkTask(
            setup, fence, self.news, stopping=self._stopping, paused=self.paused, spark=None, clock=clock
        )
        self._thread = threading.Thread(target=self._live, daemon=True)

    def _live(self) -> None:
        try:
            self._task.run()
        except ConnectError as e:
            self.news.failed = e
        finally:
            self._task.close()

    def lose_partitions(self) -> None:
        """Let the client fetch nothing more, as if it had missed that a broker is back. It is its thread's alone."""
        consumer, lost = self._task._consumer, threading.Event()
        consume = consumer.consume

        def losing(most: int, timeout: float) -> Any:
            if not lost.is_set():
                consumer._consumer.assign([])
                lost.set()
            return consume(most, timeout)

        consumer.consume = losing  # type: ignore[method-assign]
        assert lost.wait(20)

    def see_brokers_away(self) -> None:
        """Let the client tell, for one turn, that its brokers were away."""
        consumer, told = self._task._consumer, threading.Event()
        consume = consumer.consume

        def telling(most: int, timeout: float) -> Any:
            found = consume(most, timeout)
            consumer._error = None if told.is_set() else "brokers are away"
            told.set()
            return found

        consumer.consume = telling  # type: ignore[method-assign]
        assert told.wait(20)

    def fail_once(self, before: Callable[[], None]) -> None:
        """Let the next batch but the first fail, as Spark's do when a topic goes; nothing is committed until then."""
        self._task._offsets._schedule = CommitSchedule(3600.0, 3600.0, time.monotonic())
        process = self._task._process
        put, puts = process.put, itertools.count()

        def failing(consumed: Sequence[Consumed]) -> Summary:
            if next(puts) == 1:
                before()
                raise RetriableError("nothing came")
            return put(consumed)

        process.put = failing  # type: ignore[method-assign]

    def __enter__(self) -> "Task":
        self._thread.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._stopping.set()
        self._thread.join(30)
        assert not self._thread.is_alive()

    def until_state(self, state: State) -> None:
        until(
            lambda: self.news.states[-1:] == [state],
            seconds=20,
            what=lambda: f"{self.news.states}, {self.news.troubles}",
        )

    def until_gathered(self, records: int) -> None:
        """Until so many records wait in the client, and its thread has turned with them a few times."""
        until(lambda: self._task._lag() == records, seconds=20, what=lambda: f"{self._task._lag()} wait")
        before = self.news.turns
        until(lambda: self.news.turns > before + 2, seconds=20)

    def until_trouble(self, text: str | None) -> None:
        until(lambda: self.news.troubles[-1:] == [text], seconds=20, what=lambda: str(self.news.troubles))
