"""What scripted plugins tell (`plugins/scripted_*.py`), as it comes, from whichever process they live in."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .machine_time import Deadline
from .running import PATIENCE

Event = dict[str, Any]


class Journal:
    """A named pipe and what has come through it. Close it, or use it in a `with`."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = str(path)
        self.events: list[Event] = []
        self._news = threading.Condition()
        # Open for writing too, so that the end of one process is not the end of the pipe.
        self._fd = os.open(path, os.O_RDWR)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *args: object) -> None:
        os.write(self._fd, b"\n")  # an empty line is the end
        self._reader.join(PATIENCE)
        os.close(self._fd)

    def of(self, *kinds: str) -> list[Event]:
        """The events of these kinds so far."""
        with self._news:
            return [e for e in self.events if e["event"] in kinds]

    def kinds(self) -> list[str]:
        """The kinds of all events so far, in order."""
        with self._news:
            return [e["event"] for e in self.events]

    def count(self, kind: str, number: int = 1, *, seconds: float = PATIENCE) -> list[Event]:
        """The events of a kind, once there are that many."""
        return self.until(lambda: [e for e in self.events if e["event"] == kind][: max(number, 0)], number, seconds)

    def values(self, number: int, *, seconds: float = PATIENCE) -> list[Any]:
        """The values that were put, once there are that many."""
        return [r[3] for r in self.put(number, seconds=seconds)]

    def put(self, number: int, *, seconds: float = PATIENCE) -> list[list[Any]]:
        """The records that were put, as [topic, partition, offset, value, original topic], once there are that many."""
        return self.until(
            lambda: [r for e in self.events if e["event"] == "put" for r in e["records"]], number, seconds
        )

    def until(self, found: Callable[[], list[Any]], number: int, seconds: float = PATIENCE) -> list[Any]:
        """What `found` gives, once it is that long; AssertionError after `seconds` in which nothing of it came."""
        deadline = Deadline(seconds)
        with self._news:
            while len(answer := found()) < number:
                assert not deadline.passed(len(answer)), (
                    f"{len(answer)} of {number}, and no more for {seconds:.0f} s; the journal ends {self.events[-5:]}"
                )
                self._news.wait(0.2)
            return answer

    def _read(self) -> None:
        rest = b""
        while True:
            *lines, rest = (rest + os.read(self._fd, 1 << 16)).split(b"\n")
            with self._news:
                for line in lines:
                    if not line:
                        return
                    self.events.append(json.loads(line))
                self._news.notify_all()
