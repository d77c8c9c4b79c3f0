"""Work queue: each key once, one run per key at a time, a limited number of parallel runs, backoff after failures.

Urgent keys, for a change by a user or a task, have precedence: ten thousand connectors that are reconciled after a start,
or created by others, do not delay a change. The other keys always get a share of the runs. In both groups, namespaces take
turns.

Used in the event loop's thread. Times are in seconds of its clock.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final

from penstock_operator.errors import NotYet, OperatorError
from penstock_operator.key import Key
from penstock_operator.metrics import QueueFigures
from penstock_operator.queue.backoff import RECONCILE_BACKOFF
from penstock_operator.queue.fair_lane import Lane

__all__ = ["WorkQueue", "current_key"]

log = logging.getLogger(__name__)

_LIMIT: Final = 120.0
_HOT: Final = 5
_COOL: Final = 1.0
"""Seconds after the end of a run within which, after `_HOT` consecutive failures, not even an event runs the key."""
_TURN: Final = 8
"""One in this many runs is for a key that is not urgent, if there is one."""

current_key: ContextVar[Key | None] = ContextVar("current_key", default=None)
"""Key of the current run, for log lines."""

Work = Callable[[Key], Awaitable[float | None]]


class WorkQueue:
    """Keys to reconcile.

    Args:
        work: called for a key; returns the seconds until the next call, None: only at an event.
        slots: maximum number of parallel runs.
        limit: maximum seconds of one run.
        chance: returns a random number from 0 to 1.
        on_done: called after every run with its outcome (`done`, `error`, `timeout`) and its seconds.
    """

    def __init__(
        self,
        work: Work,
        *,
        slots: int,
        limit: float = _LIMIT,
        chance: Callable[[], float] = random.random,
        on_done: Callable[[str, float], None] = lambda outcome, seconds: None,
    ) -> None:
        self._work = work
        self._slots = slots
        self.limit = limit
        self._chance = chance
        self._on_done = on_done
        self._due: dict[Key, float] = {}
        # By urgency. A lane may contain entries that are no longer in `_due`.
        self._lanes = {urgent: self._lane(urgent=urgent) for urgent in (True, False)}
        self._urgent: set[Key] = set()
        self._known: set[Key] = set()
        self._runs = 0
        self._running: dict[Key, float] = {}
        self._begun: dict[Key, asyncio.Task[None]] = {}  # only tasks that have executed their first step
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures: dict[Key, int] = {}
        self._ended: dict[Key, float] = {}  # end of the last run, for keys that failed
        self._blockers: set[str] = set()
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._scheduler: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start running keys."""
        self._scheduler = self._loop.create_task(self._schedule(), name="work queue")

    def add(self, key: Key, delay: float = 0.0) -> None:
        """Run a key after `delay` seconds at the latest; a key that is running now runs once more.

        Without a delay, a key in backoff runs immediately.
        """
        when = self._loop.time() + delay
        if key not in self._running:
            when = max(when, self._not_before(key))
        self._put(key, when)

    def add_urgent(self, key: Key) -> None:
        """Run a key as urgent, unless it has never run before: then it is added without urgency."""
        when = self._loop.time()
        if key not in self._running:
            when = max(when, self._not_before(key))
        self._put(key, when, urgent=key in self._known)

    def forget(self, key: Key) -> None:
        """Forget a deleted key, so that it counts as new if it is added again."""
        self._known.discard(key)

    def block(self, reason: str) -> None:
        """Start no more runs until `unblock` is called with the same reason."""
        self._blockers.add(reason)

    def unblock(self, reason: str) -> None:
        """Remove a reason that `block` added; an unknown reason has no effect."""
        self._blockers.discard(reason)
        self._news.set()

    def interrupt(self) -> None:
        """Cancel the current runs; their keys are due again as soon as nothing blocks the queue."""
        for key, task in [*self._begun.items()]:
            self._put(key, self._loop.time())
            task.cancel()

    async def stop(self, grace: float = 10.0) -> None:
        """Start no more runs, wait `grace` seconds for the current ones, then cancel them."""
        if self._scheduler is not None:
            self._scheduler.cancel()
            await asyncio.wait({self._scheduler})
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=grace)
            for task in late:
                task.cancel()
            if late:
                log.warning("%d reconciliations did not end within %.0f s and were cancelled", len(late), grace)
                await asyncio.wait(late, timeout=1.0)

    def figures(self) -> QueueFigures:
        """Return the current figures. Thread-safe."""
        now = self._loop.time()
        # `copy` is atomic; a list of the items is not, because a garbage collection may switch threads.
        running, all_due = self._running.copy(), self._due.copy()
        due = [when for key, when in all_due.items() if key not in running]
        waiting = [when for when in due if when <= now]
        return QueueFigures(
            waiting=len(waiting),
            delayed=len(due) - len(waiting),
            running=len(running),
            oldest_waiting=max((now - when for when in waiting), default=0.0),
            oldest_running=max((now - begun for begun in running.values()), default=0.0),
        )

    def _put(self, key: Key, when: float, *, urgent: bool = False) -> None:
        known, was_urgent = self._due.get(key), key in self._urgent
        urgent = urgent or was_urgent
        if known is not None and known <= when and urgent == was_urgent:
            return
        when = when if known is None else min(known, when)
        self._due[key] = when
        if urgent:
            self._urgent.add(key)
        self._lanes[urgent].put(key, when)
        self._news.set()

    async def _schedule(self) -> None:
        while True:
            self._news.clear()
            wait = self._start_due_keys()
            try:
                async with asyncio.timeout(wait):
                    await self._news.wait()
            except TimeoutError:
                pass

    def _start_due_keys(self) -> float | None:
        """Start runs while there are slots. Return the seconds until the next key is due; None: wait for an event."""
        while len(self._running) < self._slots and not self._blockers:
            now = self._loop.time()
            lanes = [self._lanes[urgent] for urgent in self._turns()]
            key = next((key for lane in lanes if (key := lane.take(now)) is not None), None)
            if key is None:
                wait = min(lane.wait(now) for lane in lanes)
                return None if wait == float("inf") else wait
            self._begin(key)
        return None

    def _turns(self) -> tuple[bool, ...]:
        """Return the order in which the lanes are tried in this turn, by urgency."""
        return (False, True) if self._runs % _TURN == _TURN - 1 else (True, False)

    def _lane(self, *, urgent: bool) -> Lane:
        def counts(key: Key, when: float) -> bool:
            # A running key is put again when its run ends.
            return self._due.get(key) == when and (key in self._urgent) == urgent and key not in self._running

        return Lane(counts)

    def _begin(self, key: Key) -> None:
        del self._due[key]
        self._urgent.discard(key)
        self._runs += 1
        self._known.add(key)
        self._running[key] = self._loop.time()
        task = self._loop.create_task(self._run(key), name=f"reconcile {key}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, key: Key) -> None:
        begun = self._running[key]
        task = asyncio.current_task()
        assert task is not None
        self._begun[key] = task
        current_key.set(key)
        outcome = "error"
        again: float | None = None
        limit = asyncio.timeout(self.limit)
        try:
            async with limit:
                again = await self._work(key)
            outcome = "done"
            self._failures.pop(key, None)
        except NotYet as e:
            log.info("%s", e)
            again = e.retry_after
        except Exception as e:
            again = self._failed(key)
            if isinstance(e, TimeoutError) and limit.expired():
                outcome = "timeout"
                log.error(
                    "Reconciliation took longer than %.0f s and was cancelled; retrying in %.1f s", self.limit, again
                )
            elif isinstance(e, OperatorError):
                log.warning("Reconciliation failed, retrying in %.1f s: %s", again, e)
            else:
                log.exception("Reconciliation failed, retrying in %.1f s", again)
        finally:
            self._ended_now(key)
            self._on_done(outcome, self._loop.time() - begun)
            if again is not None:
                self._put(key, self._loop.time() + again, urgent=True)
            if key in self._due:  # the run may have added it, or was interrupted
                when, urgent = max(self._due.pop(key), self._not_before(key)), key in self._urgent
                self._urgent.discard(key)
                self._put(key, when, urgent=urgent)

    def _not_before(self, key: Key) -> float:
        return self._ended[key] + _COOL if self._failures.get(key, 0) >= _HOT else 0.0

    def _ended_now(self, key: Key) -> None:
        del self._running[key], self._begun[key]
        if key in self._failures:
            self._ended[key] = self._loop.time()
        else:
            self._ended.pop(key, None)
        self._news.set()

    def _failed(self, key: Key) -> float:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        return RECONCILE_BACKOFF.pause(failures, self._chance())
