"""Reading ahead: the next portion is read while the one before is transformed and delivered."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Final, Generic, TypeVar

__all__ = ["ReadingThread"]

T = TypeVar("T")
_PORTIONS: Final = 2
"""How many portions may wait: enough to hide a pause of either side, little enough to bound memory."""


class _End:
    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class ReadingThread(Generic[T]):
    """One thread that does all reading of a process, one iterator after the other.

    Always the same thread, so that a reader may hold what belongs to a thread (a database connection, say).
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reading")
        self._give_up: Callable[[], None] = lambda: None

    def ahead(self, read: Callable[[], Iterator[T]]) -> Iterator[T]:
        """The items of `read()`, which is called and iterated in the reading thread.

        Raises what it raises, after the items before it. An iteration that is given up ends the reading after the item
        that is being read.
        """
        items: SimpleQueue[T | _End] = SimpleQueue()
        room = threading.Semaphore(_PORTIONS)
        given_up = threading.Event()

        def pump() -> None:
            end = _End()
            try:
                for item in read():
                    room.acquire()
                    if given_up.is_set():
                        return
                    items.put(item)
            except BaseException as e:  # noqa: BLE001 (raised where the items are taken)
                end = _End(e)
            finally:
                items.put(end)

        def give_up() -> None:
            given_up.set()
            room.release()

        # An iterator that an exception's traceback still holds would never be closed, and the thread wait for ever.
        self._give_up()
        self._give_up = give_up
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
            give_up()
            future.cancel()

    def do(self, work: Callable[[], None]) -> None:
        """Do something in the reading thread, after the item that it reads now, and wait for it."""
        self._give_up()
        self._executor.submit(work).result()

    def close(self) -> None:
        """Let the thread end."""
        self._executor.shutdown(wait=False, cancel_futures=True)
