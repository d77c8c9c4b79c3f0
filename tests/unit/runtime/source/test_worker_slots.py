"""Two workers never share a slot, however Spark assigns parts to workers."""

import random

import pytest

from penstock_runtime.source.worker_slots import WorkerSlots


def test_a_worker_keeps_the_slot_that_it_took() -> None:
    slots = WorkerSlots()
    first, second = slots.offers(2, 4)
    assert (first.free, second.free) == (1, 2)
    slots.took(("a", 1))
    slots.took(("b", 2))
    later = slots.offers(2, 4)
    assert [(o.held, o.free) for o in later] == [({"a": 1, "b": 2}, 3), ({"a": 1, "b": 2}, 4)]


def test_after_a_lost_batch_no_worker_holds_a_slot() -> None:
    slots = WorkerSlots()
    slots.took(("a", 2))
    slots.clear()
    assert [(o.held, o.free) for o in slots.offers(1, 2)] == [({}, 1)]


def test_least_recently_delivering_worker_loses_its_slot_if_slots_run_out() -> None:
    slots = WorkerSlots()
    for holder in (("a", 1), ("b", 2), ("a", 1)):
        slots.took(holder)
    (offer,) = slots.offers(1, 2)
    assert (offer.held, offer.free) == ({"a": 1}, 2)


@pytest.mark.parametrize("seed", range(20))
def test_two_workers_never_share_a_slot_and_kept_producers_are_never_fenced(
    seed: int,
) -> None:
    """Workers come and go unseen, and Spark gives the parts to any of them."""
    dice = random.Random(seed)
    slots, count, producers, last = WorkerSlots(), 2 * 3, dict[str, int](), dict[int, str]()
    for batch in range(200):
        workers = dice.sample([f"w{n + batch // 20}" for n in range(5)], dice.randint(1, 3))
        used = []
        for worker, offer in zip(workers, slots.offers(len(workers), count), strict=True):
            if worker in offer.held:  # its producer is that of this slot, and nobody took the id over since
                assert producers[worker] == offer.held[worker]
                assert last[producers[worker]] == worker
            else:
                producers[worker] = offer.free
                last[offer.free] = worker
            used.append((worker, producers[worker]))
        assert len({slot for _, slot in used}) == len(used)
        for holder in used:
            slots.took(holder)
