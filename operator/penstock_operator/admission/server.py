"""Serve the webhook over HTTPS, in separate threads, so that it never blocks the operator's event loop."""

import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

from penstock_operator.dual_stack import DualStackServer

__all__ = ["HttpsServer", "Respond"]

log = logging.getLogger(__name__)

Respond = Callable[[str, Mapping[str, Any]], dict[str, Any] | None]
"""Callable that returns the response to a document posted to a path; None: there is no such path."""

_IDLE_SECONDS: Final = 60.0
"""Seconds for which an idle connection of the API server stays open."""
_HANDSHAKE_SECONDS: Final = 5.0
_CONNECTIONS: Final = 100
"""Maximum number of open connections, each with a thread. An API server opens one for each parallel request."""
_LONGEST: Final = 3 << 20
"""Maximum bytes of a request. etcd stores objects of up to 1.5 MiB, and a request has the old and the new object."""
_BODIES: Final = 8
"""Maximum number of requests in memory at the same time."""
_PARALLEL: Final = 4
"""Maximum number of requests that are answered in parallel. More would only slow each other down."""
_WAIT_SECONDS: Final = 1.5
"""Seconds within which a request must be received and get its turn. The API server waits two for the response."""
_CHUNK: Final = 1 << 16
_BUSY: Final = 503, b""


@contextmanager
def _turn(turns: threading.Semaphore, deadline: float) -> Iterator[bool]:
    """Wait for a turn, and yield whether it came before the deadline."""
    has_turn = turns.acquire(timeout=max(deadline - time.monotonic(), 0))
    try:
        yield has_turn
    finally:
        if has_turn:
            turns.release()


class _Connections:
    """Open connections, each with a thread."""

    def __init__(self) -> None:
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()
        self.are_closing = False

    def add(self, connection: socket.socket) -> None:
        """Add a connection.

        Raises:
            ConnectionAbortedError: the server is closing; the connection is closed.
        """
        with self._changed:
            if not self.are_closing:
                self._open.add(connection)
                return
        connection.close()
        raise ConnectionAbortedError("the server is closing")

    def discard(self, connection: socket.socket) -> None:
        """Remove a connection that is closed."""
        with self._changed:
            self._open.discard(connection)
            self._changed.notify_all()

    def close(self, seconds: float) -> None:
        """Shut down all connections, and wait until their threads have closed them.

        Linux still delivers data that arrives after `SHUT_RD`, so a connection may answer one more request.

        Args:
            seconds: maximum seconds to wait.
        """
        with self._changed:
            self.are_closing = True
            for each in self._open:
                with suppress(OSError):
                    socket.socket.shutdown(each, socket.SHUT_RD)  # the one of TLS would also end writing
            self._changed.wait_for(lambda: not self._open, seconds)


class HttpsServer:
    """HTTPS server on all interfaces that runs until it is closed.

    Args:
        port: port to listen on; 0: any free port.
        context: returns a TLS context with the current certificate, for each new connection.
        respond: answers requests; called in several threads.

    Raises:
        OSError: the port is in use.
    """

    def __init__(self, port: int, context: Callable[[], ssl.SSLContext], respond: Respond) -> None:
        bodies = threading.BoundedSemaphore(_BODIES)
        turns = threading.BoundedSemaphore(_PARALLEL)
        slots = threading.BoundedSemaphore(_CONNECTIONS)
        self._connections = connections = _Connections()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # the API server keeps its connections open
            timeout = _IDLE_SECONDS
            disable_nagle_algorithm = True

            def setup(self) -> None:
                # Here, and not where connections are accepted: a silent client must not delay others.
                self.request.settimeout(_HANDSHAKE_SECONDS)
                self.request = context().wrap_socket(self.request, server_side=True)
                connections.add(self.request)
                super().setup()

            def finish(self) -> None:
                try:
                    super().finish()
                finally:
                    self.request.close()  # the server closes only the underlying socket
                    connections.discard(self.request)

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                deadline = time.monotonic() + _WAIT_SECONDS
                if 0 < length <= _LONGEST:
                    with _turn(bodies, deadline) as has_memory:
                        status, answer = self._answer(self._read(length, deadline), deadline) if has_memory else _BUSY
                else:
                    has_memory, status, answer = False, 413, b""
                # Here, so that a client that does not read its response does not occupy a turn.
                self._send(status, answer)
                # Without a turn, its body was not read.
                self.close_connection = self.close_connection or not has_memory or connections.are_closing

            def _read(self, length: int, deadline: float) -> bytes:
                """Return the body. Raises TimeoutError if it is not complete in time, which closes the connection."""
                body = bytearray()
                while len(body) < length:
                    if (left := deadline - time.monotonic()) <= 0:
                        raise TimeoutError("the request body was not received in time")
                    self.connection.settimeout(left)
                    chunk = self.rfile.read1(min(length - len(body), _CHUNK))
                    if not chunk:
                        raise TimeoutError("the request body ended early")
                    body += chunk
                self.connection.settimeout(_IDLE_SECONDS)
                return bytes(body)

            def _answer(self, body: bytes, deadline: float) -> tuple[int, bytes]:
                with _turn(turns, deadline) as has_turn:
                    if not has_turn:
                        return _BUSY
                    try:
                        document = json.loads(body)
                        found = respond(self.path.partition("?")[0], document)
                    except ValueError:
                        return 400, b""
                    except Exception:
                        log.exception("Cannot answer a request to the webhook")
                        return 500, b""
                    return (404 if found is None else 200), json.dumps(found).encode()

            def _send(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
                log.debug(format, *args)

        class Listener(DualStackServer):
            request_queue_size = 128

            def verify_request(self, request: Any, client_address: Any) -> bool:
                return slots.acquire(blocking=False)

            def process_request(self, request: Any, client_address: Any) -> None:
                try:
                    super().process_request(request, client_address)
                except BaseException:  # no thread can be started
                    slots.release()
                    raise

            def process_request_thread(self, request: Any, client_address: Any) -> None:
                try:
                    super().process_request_thread(request, client_address)
                finally:
                    slots.release()

            def handle_error(self, request: Any, client_address: Any) -> None:
                log.debug("A connection to the webhook from %s ended", client_address[0])

        self._server = Listener(port, Handler)
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name=f"https-{self.port}", daemon=True).start()

    def close(self) -> None:
        """Stop listening, and close the connections. Requests that were received are still answered."""
        self._server.shutdown()
        self._server.server_close()
        self._connections.close(_WAIT_SECONDS)
