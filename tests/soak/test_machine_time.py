"""Time of the machine passes more slowly when it is full, and a deadline begins anew when something moves."""

from collections.abc import Iterator

from tests.integration.machine_time import Deadline, MachineTime, share


def test_the_share_of_a_process_is_what_is_left_when_more_want_to_run_than_can() -> None:
    assert share("0.10 0.20 0.30 1/812 4711", 2) == 1.0
    assert share("30.0 20.0 10.0 30/812 4711", 2) == 2 / 30
    assert share("0.00 0.00 0.00 0/812 4711", 2) == 1.0
    assert share("999 999 999 999/9999 4711", 2) == 1 / 20  # a test ends somewhere


def clock(*times: float) -> Iterator[float]:
    yield from times


def test_seconds_count_by_what_the_machine_gives_at_the_time() -> None:
    times, given = clock(0, 10, 20), clock(1.0, 0.1)
    passed = MachineTime(lambda: next(times), lambda: next(given))
    assert passed() == 10
    assert passed() == 11


def test_a_deadline_restarts_when_something_moved() -> None:
    times = clock(0, 0, 9, 18, 27, 28)
    deadline = Deadline(10, MachineTime(lambda: next(times), lambda: 1.0))
    assert not deadline.passed(1)
    assert not deadline.passed(2)
    assert not deadline.passed(2)
    assert deadline.passed(2)
