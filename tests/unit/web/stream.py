"""Open page of a test, as a browser's script keeps it up to date."""

import http.client
import json
import re
from typing import Any

__all__ = ["Stream", "get"]


class Stream:
    """Stream of a page, from what the page shows."""

    def __init__(self, port: int, path: str, stream: str, seen: str | None = None, client: str = "") -> None:
        if seen is None:
            page = get(port, path)
            found = re.search(r'data-seen="([^"]+)"', page)
            assert found is not None
            seen = found[1]
        source, headers = (client, 0) if client[:1].isdigit() else None, {"Authorization": f"Bearer {client}"}
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=source)
        self._connection.request("GET", f"{stream}{'&' if '?' in stream else '?'}seen={seen}", headers=headers)
        self._answer = self._connection.getresponse()
        self.status = self._answer.status
        self.last_id = ""

    def next(self) -> dict[str, Any]:
        """Wait for the next changes."""
        while line := self._answer.readline().decode():
            if line.startswith("id: "):
                self.last_id = line.removeprefix("id: ").strip()
            if line.startswith("data: "):
                return dict(json.loads(line.removeprefix("data: ")))
        raise AssertionError("the stream has ended")

    def close(self) -> None:
        self._answer.close()
        self._connection.close()


def get(port: int, path: str) -> str:
    """Return a page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    text = connection.getresponse().read().decode()
    connection.close()
    return text
