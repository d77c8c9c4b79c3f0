"""Reading ahead: order, errors, and no thread that waits for ever."""

import threading
from collections.abc import Iterator

import pytest

from penstock_runtime.source.prefetch import ReadingThread


def numbers(count: int, ends: threading.Event | None = None) -> Iterator[int]:
    try:
        yield from range(count)
    finally:
        if ends is not None:
            ends.set()


def test_items_come_in_order_from_another_thread() -> None:
    reading: ReadingThread[int] = ReadingThread()
    threads: list[int] = []

    def read() -> Iterator[int]:
        threads.append(threading.get_ident())
        yield from numbers(50)

    assert list(reading.ahead(read)) == list(range(50))
    assert list(reading.ahead(read)) == list(range(50))
    assert len(set(threads)) == 1
    assert threads[0] != threading.get_ident()
    reading.close()


def test_an_error_comes_after_the_items_before_it() -> None:
    reading: ReadingThread[int] = ReadingThread()

    def read() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    found: list[int] = []
    with pytest.raises(ValueError, match="no more"):
        found.extend(reading.ahead(read))
    assert found == [1]
    reading.close()


def test_abandoned_iteration_does_not_block_the_thread() -> None:
    reading: ReadingThread[int] = ReadingThread()
    ended, done = threading.Event(), threading.Event()
    held = reading.ahead(lambda: numbers(1_000, ended))  # as a traceback holds it
    assert next(held) == 0
    reading.do(done.set)
    assert done.is_set()
    assert ended.wait(10)
    reading.close()
    held.close()  # type: ignore[attr-defined]
