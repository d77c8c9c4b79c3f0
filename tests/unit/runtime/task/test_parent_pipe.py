"""Reports of a task to its parent never delay its work."""

import fcntl
import json
import os
import threading
from collections.abc import Iterator

import pytest

from penstock_runtime.task.reports import ParentPipe

SMALL = 4096  # bytes that the pipe holds


class Parent:
    """The other end of a small pipe: reads when it is asked to."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        fcntl.fcntl(self.writing, fcntl.F_SETPIPE_SZ, SMALL)
        self._partial = b""

    def until(self, event: str, **fields: object) -> list[dict[str, object]]:
        """All events up to one that is wanted."""
        found: list[dict[str, object]] = []
        while True:
            *lines, self._partial = (self._partial + os.read(self.reading, SMALL)).split(b"\n")
            for line in lines:
                found.append(json.loads(line))
                if found[-1]["event"] == event and fields.items() <= found[-1].items():
                    return found


@pytest.fixture
def parent() -> Iterator[Parent]:
    made = Parent()
    yield made
    os.close(made.reading)


def test_parent_that_does_not_read_blocks_nothing_and_gets_the_latest_event_later(parent: Parent) -> None:
    pipe = ParentPipe(parent.writing)

    def report() -> None:
        for n in range(10_000):
            pipe.progress(read=n, text="x" * 100)
            pipe.send("state", state=f"S{n}", trace="x" * 1000)

    reporter = threading.Thread(target=report)
    reporter.start()
    reporter.join(30)
    assert not reporter.is_alive()
    found = parent.until("state", state="S9999")
    assert len(found) < 10_000
    assert [e["read"] for e in found if e["event"] == "progress"][-1] == 9999


def test_flush_waits_for_a_reading_parent_and_times_out_otherwise(parent: Parent) -> None:
    pipe = ParentPipe(parent.writing)
    pipe.send("failed", message="x" * 3 * SMALL)
    pipe.flush(0.1)
    reader = threading.Thread(target=parent.until, args=("failed",))
    reader.start()
    pipe.flush(30)
    reader.join(30)
    assert not reader.is_alive()


def test_pending_progress_is_sent_before_an_event(parent: Parent) -> None:
    pipe = ParentPipe(parent.writing)
    pipe.progress(read=1)
    pipe.progress(written=2)
    pipe.send("failed", message="no")
    found = parent.until("failed")
    merged: dict[str, object] = {}
    for event in found[:-1]:
        merged |= event
    assert merged == {"event": "progress", "read": 1, "written": 2}


def test_unchanged_progress_is_not_sent_again(parent: Parent) -> None:
    """A quiet sink says its lag five times a second."""
    pipe = ParentPipe(parent.writing)
    for n in range(3):
        pipe.progress(lag=0, read=min(n, 1))
        pipe.flush()
    pipe.send("failed", message="no")
    assert [e for e in parent.until("failed") if e["event"] == "progress"] == [
        {"event": "progress", "lag": 0, "read": 0},
        {"event": "progress", "read": 1},
    ]


def test_an_event_follows_the_ones_of_other_kinds_that_were_sent_before_it(parent: Parent) -> None:
    pipe = ParentPipe(parent.writing)
    pipe.send("metrics", port=1)
    pipe.send("state", state="RUNNING")
    assert [e["event"] for e in parent.until("state")] == ["metrics", "state"]


def test_a_parent_that_is_gone_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    pipe = ParentPipe(writing)
    for _ in range(3):
        pipe.send("state", state="RUNNING")
        pipe.flush()
    os.close(writing)


def test_without_a_parent_nothing_is_sent() -> None:
    pipe = ParentPipe(None)
    pipe.progress(read=1)
    pipe.send("state", state="RUNNING")
    pipe.flush()
