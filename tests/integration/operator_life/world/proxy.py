"""The proxy of the shell's tests (`../operator/faults.py`), which also remembers who asked, and may kill who writes."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...operator.faults import Fault, FaultProxy

__all__ = ["Proxy", "Request", "is_change"]

_LEASES: Final = "/leases"
_EVENTS: Final = "/events"


@dataclass(frozen=True)
class Request:
    """Who asked for what."""

    method: str
    path: str
    query: str
    agent: str
    accept: str

    @property
    def watches(self) -> bool:
        """Whether kopf's session asked: aiohttp says what it can unpack, urllib3 does not."""
        return "watch=" in self.query or "deflate" in self.accept


def is_change(method: str, path: str) -> bool:
    """Whether that changes what is decided on: Leases and Events are beside it."""
    return method != "GET" and _LEASES not in path and _EVENTS not in path


class Proxy(FaultProxy):
    """Remembers every request, and spoils as it is told."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self.requests: list[Request] = []
        self._watcher: Callable[[Any], bool] | None = None
        self._watching = threading.Lock()
        super().__init__(kubeconfig, folder)

    def fault_of(self, method: str, path: str) -> Fault | None:
        """As the rules say, behind a look at the request itself."""
        inner = super().fault_of(method, path)

        def look(handler: Any) -> bool:
            where, _, query = handler.path.partition("?")
            headers = handler.headers
            self.requests.append(
                Request(
                    handler.command, where, query, headers.get("User-Agent", ""), headers.get("Accept-Encoding", "")
                )
            )
            watcher = self._watcher
            if watcher is not None and watcher(handler):
                return True
            return inner is not None and inner(handler)

        return look

    def kill_after(self, count: int, kill: Callable[[], None]) -> Callable[[], bool]:
        """Have so many changes carried out, and kill who asked before the last one is answered; whether that was done."""
        seen = {"changes": 0, "killed": 0}

        def watcher(handler: Any) -> bool:
            if not is_change(handler.command, handler.path):
                return False
            with self._watching:
                seen["changes"] += 1
                number = seen["changes"]
                if number > count:  # came while the process was dying
                    handler.close_connection = True
                    return True
                if number < count:
                    return False
                handler.forward(answer=False)
                kill()
                seen["killed"] = 1
                handler.close_connection = True
                return True

        self._watcher = watcher
        return lambda: bool(seen["killed"])

    def kill_nobody(self) -> None:
        """Kill no more."""
        self._watcher = None

    def changes(self) -> list[Request]:
        """All that was asked to change anything, without Leases."""
        return [r for r in self.requests if r.method != "GET" and _LEASES not in r.path]

    def quiet(self, seconds: float = 3.0) -> int:
        """Wait until nothing was changed for so long; how many changes there were."""
        count, since = len(self.changes()), time.monotonic()
        while time.monotonic() - since < seconds:
            self.closing.wait(0.1)  # nobody tells of what does not happen
            if len(self.changes()) != count:
                count, since = len(self.changes()), time.monotonic()
        return count

    def mark(self) -> int:
        """A place in `requests`."""
        return len(self.requests)
