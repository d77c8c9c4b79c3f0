"""HTTP server of a task: metrics, and the kubelet's health checks. It serves every client and shows nothing secret.

It runs in separate threads, so that it can report a task whose loop is blocked; a process that is stopped does not answer.
With too many connections open, the oldest is closed, so that clients that keep connections open cannot lock out the kubelet.
"""

import socket
import socketserver
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import ThreadingHTTPServer
from typing import Any, Final

from prometheus_client import CollectorRegistry, MetricsHandler

from penstock_model.contracts.pod_layout import HEALTH_PATH, READY_PATH

__all__ = ["Check", "serve"]

Check = Callable[[], str | None]
"""Function that returns a sentence about the problem, without secrets; None: there is no problem."""

_SECONDS: Final = 5.0
"""Timeout of a connection in seconds."""
_MOST: Final = 32
"""Maximum number of open connections."""
_NEVER: Final = 86_400.0
"""Seconds between checks whether the server is shut down, which never happens: it ends with the process."""


def serve(port: int, registry: CollectorRegistry, *, healthy: Check, ready: Check, age: Callable[[], float]) -> int:
    """Serve in threads until the process ends.

    Args:
        port: 0 takes any free port.
        registry: its metrics are served at every other path.
        healthy: called for `/healthz`; the answer is 503 if there is a problem.
        ready: called for `/readyz`, likewise.
        age: seconds since the last turn of the loop, shown if there is no problem.

    Returns:
        Port of the server.

    Raises:
        OSError: the port is taken.
    """
    checks = {HEALTH_PATH: healthy, READY_PATH: ready}

    class Handler(MetricsHandler):
        timeout = _SECONDS

        def do_GET(self) -> None:  # noqa: N802 (the base class's name)
            check = checks.get(self.path.partition("?")[0])
            if check is None:
                super().do_GET()
                return
            wrong = check()
            body = f"{wrong or f'ok, the loop last completed {age():.1f} s ago'}\n".encode()
            self.send_response(503 if wrong else 200)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    Handler.registry = registry
    server = _Server(port, Handler)
    threading.Thread(target=lambda: server.serve_forever(_NEVER), name="http", daemon=True).start()
    return int(server.server_address[1])


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, handler: type[MetricsHandler]) -> None:
        self._open: dict[socket.socket, None] = {}
        self._lock = threading.Lock()
        both = socket.has_dualstack_ipv6()
        self.address_family = socket.AF_INET6 if both else socket.AF_INET
        super().__init__(("::" if both else "", port), handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        socketserver.TCPServer.server_bind(self)  # HTTPServer would look up this host's name in the DNS
        self.server_name, self.server_port = socket.gethostname(), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            while len(self._open) >= _MOST:
                oldest = next(iter(self._open))
                del self._open[oldest]
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
            self._open[request] = None
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing: clients may disconnect, and connections are closed here."""
