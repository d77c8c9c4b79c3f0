"""Requests for new tasks are handed on once a minute at most, the last one always, and none twice in a row."""

import re
import threading

from penstock_runtime.plugins.task_reconfiguration import ReconfigurationRequests


class Asked:
    """What was handed on."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self.came = threading.Semaphore(0)

    def __call__(self, asked: str) -> None:
        self.all.append(asked)
        self.came.release()


def requests(pause: float) -> tuple[ReconfigurationRequests, Asked]:
    made, asked = ReconfigurationRequests(pause, clock=lambda: 1_800_000_000.5), Asked()
    made.handed_on = asked
    return made, asked


def test_a_request_has_its_time_and_a_digest_of_what_it_asks_for() -> None:
    made, asked = requests(0.0)
    made.ask("a,b")
    made.ask("a,b")
    made.ask("a,b,\udcff")
    assert len(set(asked.all)) == 2
    assert all(re.fullmatch(r"1800000000500 [0-9a-f]{16}", text) for text in asked.all)


def test_of_several_requests_in_a_pause_the_last_is_handed_on_at_its_end() -> None:
    made, asked = requests(0.2)
    for state in ("a", "b", "c"):
        made.ask(state)
    assert asked.all == []
    assert asked.came.acquire(timeout=30)
    made.ask("c")
    made.ask("d")
    assert asked.came.acquire(timeout=30)
    expected, told = requests(0.0)
    expected.ask("c")
    expected.ask("d")
    assert asked.all == told.all
