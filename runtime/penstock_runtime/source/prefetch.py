"""Read the next portion while the previous one is transformed and delivered."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Final, Generic, TypeVar

__all__ = ["ReadingThread"]

T = TypeVar("T")
_PORTIONS: Final = 2
"""Number of portions that may wait: enough to cover pauses of reading and delivery, few enough to bound memory."""


class _End:
    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class ReadingThread(Generic[T]):
    """Only thread of a process that reads from a source. It consumes one iterator after another.

    It is always the same thread, because a reader may hold an object that is bound to a thread, such as a database
    connection.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reading")
        self._abandon: Callable[[], None] = lambda: None

    def ahead(self, read: Callable[[], Iterator[T]]) -> Iterator[T]:
        """Iterate over `read()`, which is called and iterated in the reading thread.

        An exception of `read()` is raised after the items before it. When the caller abandons the iteration, reading stops
        after the current item.
        """
        items: SimpleQueue[T | _End] = SimpleQueue()
        room = threading.Semaphore(_PORTIONS)
        abandoned = threading.Event()

        def pump() -> None:
            end = _End()
            try:
                for item in read():
                    room.acquire()
                    if abandoned.is_set():
                        return
                    items.put(item)
            except BaseException as e:  # noqa: BLE001 (raised where the items are taken)
                end = _End(e)
            finally:
                items.put(end)

        def abandon() -> None:
            abandoned.set()
            room.release()

        # An abandoned iterator that a traceback still references is not closed; without this, the thread would wait forever.
        self._abandon()
        self._abandon = abandon
        future = self._executor.submit(pump)
        try:
            while True:
                item = items.get()
                if isinstance(item, _End):
                    if item.error is not None:
                        raise item.error
                    return
                room.release()
                yield item
        finally:
            abandon()
            future.cancel()

    def do(self, work: Callable[[], None]) -> None:
        """Run `work` in the reading thread after the item that it reads now, and wait until it is done."""
        self._abandon()
        self._executor.submit(work).result()

    def close(self) -> None:
        """Stop the thread."""
        self._executor.shutdown(wait=False, cancel_futures=True)
