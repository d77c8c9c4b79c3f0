"""The work queue: each key once, in turn, again after a failure."""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from penstock_operator.errors import NotYet, Unavailable
from penstock_operator.key import Key
from penstock_operator.queue.backoff import RECONCILE_BACKOFF
from penstock_operator.queue.workqueue import WorkQueue

from ..virtual_time import run

A, B, C = Key("shop", "a"), Key("shop", "b"), Key("shop", "c")


class Worked:
    """What was worked on, and when."""

    def __init__(self, then: Callable[[Key, int], Awaitable[float | None]] | None = None) -> None:
        self.runs: list[tuple[Key, float]] = []
        self.at_once = self.most_at_once = 0
        self._then = then

    async def __call__(self, key: Key) -> float | None:
        self.runs.append((key, asyncio.get_running_loop().time()))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self._then is not None:
                return await self._then(key, self.of(key))
            await asyncio.sleep(1)
            return None
        finally:
            self.at_once -= 1

    def of(self, key: Key) -> int:
        return sum(k == key for k, _ in self.runs)

    def times(self, key: Key) -> list[float]:
        return [round(t, 3) for k, t in self.runs if k == key]


def with_queue(worked: Worked, test: Callable[[WorkQueue], Coroutine[Any, Any, None]], **more: Any) -> None:
    async def all_of_it() -> None:
        queue = WorkQueue(worked, **{"slots": 2, "chance": lambda: 1.0, **more})
        queue.start()
        await test(queue)
        await queue.stop()

    run(all_of_it())


def test_a_key_that_is_added_ten_times_is_worked_on_once() -> None:
    worked = Worked()

    async def test(queue: WorkQueue) -> None:
        for _ in range(10):
            queue.add(A)
        await asyncio.sleep(10)

    with_queue(worked, test)
    assert worked.runs == [(A, 0.0)]


def test_an_add_that_comes_while_the_key_runs_is_not_lost() -> None:
    worked = Worked()

    async def test(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(0.5)
        queue.add(A)
        queue.add(A)
        await asyncio.sleep(10)

    with_queue(worked, test)
    assert worked.times(A) == [0.0, 1.0]


def test_a_key_never_runs_twice_concurrently_while_others_have_slots() -> None:
    worked = Worked()

    async def test(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(0.5)
        queue.add(A)
        queue.add(B)
        await asyncio.sleep(10)

    with_queue(worked, test)
    assert worked.times(B) == [0.5]
    assert worked.times(A) == [0.0, 1.0]


def test_no_more_keys_run_concurrently_than_there_are_slots() -> None:
    worked = Worked()

    async def test(queue: WorkQueue) -> None:
        for n in range(10):
            queue.add(Key("shop", str(n)))
        await asyncio.sleep(20)

    with_queue(worked, test, slots=3)
    assert worked.most_at_once == 3
    assert len(worked.runs) == 10


def test_keys_run_in_the_order_in_which_they_were_due() -> None:
    worked = Worked()

    async def test(queue: WorkQueue) -> None:
        queue.add(C, 2.0)
        queue.add(B, 1.0)
        queue.add(A)
        await asyncio.sleep(20)

    with_queue(worked, test, slots=1)
    assert [key for key, _ in worked.runs] == [A, B, C]


def test_a_key_runs_again_after_the_time_that_it_asked_for() -> None:
    async def then(key: Key, run: int) -> float | None:
        return 7.0 if run == 1 else None

    worked = Worked(then)

    async def test(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(30)

    with_queue(worked, test)
    assert worked.times(A) == [0.0, 7.0]


def test_earlier_due_time_replaces_a_later_one() -> None:
    async def then(key: Key, run: int) -> float | None:
        return 600.0 if run == 1 else None

    worked = Worked(then)

    async def test(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(5)
        queue.add(A, 10.0)
        queue.add(A, 100.0)
        await asyncio.sleep(1000)

    with_queue(worked, test)
    assert worked.times(A) == [0.0, 15.0]


def test_back_off_doubles_up_to_a_minute() -> None:
    assert [RECONCILE_BACKOFF.pause(n, 1.0) for n in range(1, 10)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert RECONCILE_BACKOFF.pause(1_000_000, 1.0) == RECONCILE_BACKOFF.longest
    assert RECONCILE_BACKOFF.pause(1, 0.0) == RECONCILE_BACKOFF.first * 0.75


def test_a_key_that_fails_is_tried_again_with_back_off_until_it_succeeds() -> None:
    async def then(key: Key, run: int) -> float | None:
        if run <= 3:
            raise Unavailable("nobody answers")
        return None

    worked = Worked(then)
    outcomes: list[str] = []

    async def test(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(100)

    with_queue(worked, test, on_done=lambda outcome, seconds: outcomes.append(outcome))
    assert worked.times(A) == [0.0, 0.5, 1.5, 3.5]
    assert outcomes == ["error", "error", "error", "done"]


def test_a_key_in_back_off_runs_immediately_when_an_event_adds_it() -> None:
    async def then(key: Key, run: int) -> float | None:
        raise Unavailable("nobody answers")

    worked = Worked(then)

    async def test(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(4.0)  # the next try would be at 7.5
        queue.add(A)
        await asyncio.sleep(0.1)

    with_queue(worked, test)
    assert worked.times(A) == [0.0, 0.5, 1.5, 3.5, 4.0]


def test_a_key_that_fails_and_wakes_itself_does_not_run_hot() -> None:
    queues: list[WorkQueue] = []

    async def then(key: Key, run: int) -> float | None:
        queues[0].add(key)
        raise Unavailable("nobody answers")

    worked = Worked(then)

    async def test(queue: WorkQueue) -> None:
        queues.append(queue)
        queue.add(A)
        await asyncio.sleep(20)

    with_queue(worked, test)
    assert len(worked.runs) <= 30


def test_the_server_s_patience_is_kept_and_counts_as_no_failure() -> None:
    async def then(key: Key, run: int) -> float | None:
        if run <= 2:
            raise NotYet("the server is busy", 3.0)
        raise Unavailable("nobody answers") if run == 3 else NotYet("enough", 1000.0)

    worked = Worked(then)

    async def test(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(20)

    with_queue(worked, test)
    assert worked.times(A) == [0.0, 3.0, 6.0, 6.5]


def test_a_run_that_takes_too_long_is_given_up_reported_and_retried(caplog: pytest.LogCaptureFixture) -> None:
    async def then(key: Key, run: int) -> float | None:
        if run == 1:
            await asyncio.sleep(1_000_000)
        return None

    worked = Worked(then)
    outcomes: list[str] = []

    async def test(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(100)
        assert queue.figures().oldest_running == 100
        await asyncio.sleep(100)

    with_queue(worked, test, on_done=lambda outcome, seconds: outcomes.append(outcome))
    assert worked.times(A) == [0.0, 120.5]
    assert outcomes == ["timeout", "done"]
    assert "took longer than 120 s" in caplog.text


def test_a_time_out_of_the_work_s_own_is_an_error_not_ours(caplog: pytest.LogCaptureFixture) -> None:
    async def then(key: Key, run: int) -> float | None:
        if run == 1:
            raise TimeoutError("a socket's")
        return None

    outcomes: list[str] = []

    async def test(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(10)

    with_queue(Worked(then), test, on_done=lambda outcome, seconds: outcomes.append(outcome))
    assert outcomes == ["error", "done"]


def test_a_bug_in_one_key_does_not_hold_up_the_others(caplog: pytest.LogCaptureFixture) -> None:
    async def then(key: Key, run: int) -> float | None:
        if key == A:
            raise ZeroDivisionError
        return None

    worked = Worked(then)

    async def test(queue: WorkQueue) -> None:
        for key in (A, B, C):
            queue.add(key)
        await asyncio.sleep(1)

    with_queue(worked, test, slots=1)
    assert worked.times(B) == worked.times(C) == [0.0]
    assert caplog.records[0].exc_info is not None


def test_nothing_begins_while_the_queue_is_blocked() -> None:
    worked = Worked()

    async def test(queue: WorkQueue) -> None:
        queue.block("lease")
        queue.block("list")
        queue.add(A)
        await asyncio.sleep(5)
        queue.unblock("list")
        await asyncio.sleep(5)
        assert queue.figures().waiting == 1
        assert queue.figures().oldest_waiting == 10
        queue.unblock("lease")
        await asyncio.sleep(5)

    with_queue(worked, test)
    assert worked.times(A) == [10.0]


def test_figures_can_be_asked_for_by_another_thread_while_keys_come() -> None:
    """Another thread runs at a garbage collection, too: here it adds a key in the middle of every one."""

    async def test(queue: WorkQueue) -> None:
        queue.block("list")
        for n in range(20_000):
            queue.add(Key("shop", f"c{n}"))
        more = (Key("late", f"c{n}") for n in range(1_000_000))

        def collected(phase: str, info: object) -> None:
            queue.add(next(more))

        gc.callbacks.append(collected)
        try:
            assert queue.figures().waiting >= 20_000
        finally:
            gc.callbacks.remove(collected)

    with_queue(Worked(), test)


def test_stopping_waits_for_runs_under_way_and_begins_no_more() -> None:
    worked = Worked()

    async def all_of_it() -> None:
        queue = WorkQueue(worked, slots=1)
        queue.start()
        queue.add(A)
        queue.add(B)
        await asyncio.sleep(0.5)
        await queue.stop()
        assert asyncio.get_running_loop().time() == 1.0

    run(all_of_it())
    assert worked.runs == [(A, 0.0)]


def test_stopping_cancels_what_does_not_end_in_time(caplog: pytest.LogCaptureFixture) -> None:
    async def then(key: Key, run: int) -> float | None:
        await asyncio.sleep(1_000)
        return None

    worked = Worked(then)

    async def all_of_it() -> None:
        queue = WorkQueue(worked, slots=1)
        queue.start()
        queue.add(A)
        await asyncio.sleep(0.5)
        await queue.stop(10.0)
        assert asyncio.get_running_loop().time() == 10.5

    run(all_of_it())
    assert worked.at_once == 0
    assert "did not end within 10 s" in caplog.text


def test_log_lines_of_a_run_carry_its_key(caplog: pytest.LogCaptureFixture) -> None:
    from penstock_operator.queue.workqueue import current_key

    seen: list[Key | None] = []

    async def then(key: Key, run: int) -> float | None:
        await asyncio.sleep(1)
        seen.append(current_key.get())
        return None

    async def test(queue: WorkQueue) -> None:
        queue.add(A)
        queue.add(B)
        await asyncio.sleep(10)

    with caplog.at_level(logging.INFO):
        with_queue(Worked(then), test)
    assert seen == [A, B]
    assert current_key.get() is None


def test_runs_that_are_interrupted_start_again_when_they_may() -> None:
    worked = Worked()

    async def test(queue: WorkQueue) -> None:
        for key in (A, B, C):
            queue.add(key)
        await asyncio.sleep(0.5)
        queue.block("lease")
        queue.interrupt()
        await asyncio.sleep(10)
        assert worked.at_once == 0
        assert queue.figures().running == 0
        queue.unblock("lease")
        await asyncio.sleep(10)

    with_queue(worked, test)
    assert (worked.of(A), worked.of(B), worked.of(C)) == (2, 2, 1)


def test_a_run_that_has_not_done_a_step_is_not_lost_when_all_are_interrupted() -> None:
    worked = Worked()

    async def test(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(0)
        while not queue.figures().running:
            await asyncio.sleep(0)
        queue.interrupt()
        await asyncio.sleep(10)
        assert queue.figures().running == 0

    with_queue(worked, test)
    assert worked.of(A) >= 1


MANY = [Key("shop", f"many-{n}") for n in range(1000)]


def test_a_key_that_somebody_waits_for_goes_before_a_thousand_others() -> None:
    worked = Worked()

    async def test(queue: WorkQueue) -> None:
        queue.add_urgent(A)
        await asyncio.sleep(5)
        for key in MANY:
            queue.add(key)
        queue.add(A)  # and also as one of them
        await asyncio.sleep(3.5)
        queue.add_urgent(A)
        await asyncio.sleep(1000)

    with_queue(worked, test)
    assert worked.times(A) == [0.0, 9.0]
    assert len(worked.runs) == 1002


def test_a_key_that_is_new_takes_its_turn_whoever_is_in_a_hurry() -> None:
    worked = Worked()

    async def test(queue: WorkQueue) -> None:
        for key in MANY[:20]:
            queue.add(key)
        queue.add_urgent(B)
        await asyncio.sleep(100)

    with_queue(worked, test)
    assert worked.runs[-1] == (B, 10.0)


def test_a_key_that_was_forgotten_is_new_again() -> None:
    worked = Worked()

    async def test(queue: WorkQueue) -> None:
        queue.add_urgent(A)
        await asyncio.sleep(5)
        queue.forget(A)
        for key in MANY[:4]:
            queue.add(key)
        queue.add_urgent(A)
        await asyncio.sleep(100)

    with_queue(worked, test)
    assert worked.times(A) == [0.0, 7.0]


def test_keys_that_can_wait_get_their_part_while_others_hurry_without_an_end() -> None:
    worked = Worked()

    async def test(queue: WorkQueue) -> None:
        for key in (A, B, C):
            queue.add_urgent(key)
        await asyncio.sleep(5)
        for key in MANY[:10]:
            queue.add(key)
        for _ in range(100):
            for key in (A, B, C):
                queue.add_urgent(key)
            await asyncio.sleep(1)

    with_queue(worked, test)
    assert sum(worked.of(key) for key in MANY[:10]) == 10
    assert worked.of(A) + worked.of(B) + worked.of(C) >= 190


def test_a_key_that_waits_for_its_turn_is_worked_on_once_when_somebody_comes_to_wait_for_it() -> None:
    worked = Worked()

    async def test(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(5)
        queue.add(A, 50.0)
        queue.add_urgent(A)
        await asyncio.sleep(100)
        queue.add(A, 20.0)
        await asyncio.sleep(100)

    with_queue(worked, test)
    assert worked.times(A) == [0.0, 5.0, 125.0]


@pytest.mark.parametrize("urgent", [True, False])
def test_a_namespace_whose_keys_are_changed_without_an_end_holds_up_no_other(*, urgent: bool) -> None:
    noisy = [Key("noisy", str(n)) for n in range(100)]
    quiet = [Key(f"quiet-{n}", "c") for n in range(5)]
    queues: list[WorkQueue] = []

    async def then(key: Key, run: int) -> float | None:
        await asyncio.sleep(1)
        if key.namespace == "noisy":
            (queues[0].add_urgent if urgent else queues[0].add)(key)
        return None

    worked = Worked(then)

    async def test(queue: WorkQueue) -> None:
        queues.append(queue)
        for key in (*noisy, *quiet):
            queue.add(key)
        await asyncio.sleep(600)
        for _ in range(3):
            for key in quiet:
                (queue.add_urgent if urgent else queue.add)(key)
            begun = asyncio.get_running_loop().time()
            before = len(worked.runs)
            await asyncio.sleep(30)
            waited = [at - begun for key, at in worked.runs[before:] if key in quiet]
            assert len(waited) == len(quiet)
            assert max(waited) <= 8
        seen = {key for key, _ in worked.runs}
        assert set(noisy) <= seen, "nor do they stand still"

    with_queue(worked, test)


def test_namespaces_take_turns_and_within_one_who_waits_longest_goes_first() -> None:
    worked = Worked()
    keys = [Key("a", "1"), Key("a", "2"), Key("a", "3"), Key("b", "1"), Key("b", "2"), Key("c", "1")]

    async def test(queue: WorkQueue) -> None:
        for key in keys:
            queue.add(key)
        await asyncio.sleep(20)

    with_queue(worked, test, slots=1)
    assert [f"{key.namespace}{key.name}" for key, _ in worked.runs] == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_a_key_that_is_put_again_while_it_runs_is_worked_on_once_more_in_its_lane() -> None:
    worked = Worked()

    async def test(queue: WorkQueue) -> None:
        queue.add(A)
        await asyncio.sleep(0.2)
        queue.add(A, 0.5)  # its time comes while it runs
        await asyncio.sleep(0.2)
        queue.add_urgent(A)
        await asyncio.sleep(20)

    with_queue(worked, test)
    assert worked.times(A) == [0.0, 1.0]
