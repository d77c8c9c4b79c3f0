"""Serve liveness and readiness probes and metrics, in a separate thread, so that a blocked event loop is noticed."""

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Final

from prometheus_client.exposition import CONTENT_TYPE_LATEST

from penstock_operator.dual_stack import DualStackServer

__all__ = ["Check", "Heartbeat", "Page", "Server", "metrics_page", "probe_page"]

log = logging.getLogger(__name__)

Check = Callable[[], str | None]
"""Callable that returns a description of the problem; None: there is none."""

Page = Callable[[], tuple[int, str, bytes]]
"""Callable that returns HTTP status, content type and body."""

_SECONDS: Final = 5.0
_PIECE: Final = 64 << 10


class Heartbeat:
    """Heartbeat of the event loop, or of the watches."""

    def __init__(self, name: str, most: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Create a heartbeat whose check fails after `most` seconds without a beat."""
        self._name = name
        self._most = most
        self._clock = clock
        self._beaten: float | None = None

    def beat(self) -> None:
        """Record that the loop is running."""
        self._beaten = self._clock()

    def check(self) -> str | None:
        """Return the problem, if the last beat is too old; None before the first beat."""
        if self._beaten is None:
            return None
        age = self._clock() - self._beaten
        return f"the {self._name} has been blocked for {age:.0f} s" if age > self._most else None


def probe_page(checks: Mapping[str, Check], *, fatal: bool = False) -> Page:
    """Return a page with status 200 and `ok`, or with status 503 and each problem under the name of its check.

    Args:
        checks: checks by name.
        fatal: whether the kubelet ends this process if a problem persists; each problem is then logged once.
    """
    reported: set[str] = set()

    def page() -> tuple[int, str, bytes]:
        wrong = {name: text for name, check in checks.items() if (text := _asked(name, check)) is not None}
        if fatal:
            for name in wrong.keys() - reported:
                log.error("The liveness probe fails; the kubelet restarts the operator if it persists: %s", wrong[name])
            reported.clear()
            reported.update(wrong)
        body = json.dumps({"status": "failed" if wrong else "ok", **({"wrong": wrong} if wrong else {})})
        return (503 if wrong else 200), "application/json", body.encode() + b"\n"

    return page


def metrics_page(text: Callable[[], bytes]) -> Page:
    """Return a page in Prometheus' text format."""
    return lambda: (200, CONTENT_TYPE_LATEST, text())


class Server:
    """HTTP server that serves pages on all interfaces until it is closed."""

    def __init__(self, port: int, pages: Mapping[str, Page]) -> None:
        """Start to listen.

        Raises:
            OSError: the port is in use.
        """

        class Handler(BaseHTTPRequestHandler):
            timeout = _SECONDS

            def do_GET(self) -> None:
                page = pages.get(self.path.partition("?")[0])
                status, kind, body = page() if page is not None else (404, "text/plain", b"not found\n")
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                for at in range(0, len(body), _PIECE):  # in pieces, each with the timeout, for slow clients
                    self.wfile.write(body[at : at + _PIECE])

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
                log.debug(format, *args)

        self._server = DualStackServer(port, Handler)
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name=f"http-{self.port}", daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


def _asked(name: str, check: Check) -> str | None:
    try:
        return check()
    except Exception as e:
        log.exception("The check %s failed", name)
        return f"the check raised an error: {e}"
