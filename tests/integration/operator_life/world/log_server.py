"""The part of a kubelet that the API server asks for the logs of containers."""

import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["LogServer"]


class LogServer:
    """Answers `GET /containerLogs/<namespace>/<pod>/<container>` over HTTPS, on a port of this machine.

    Args:
        certificates: a folder with `kube-apiserver.crt` and `.key`; an API server without a certificate authority for
            kubelets takes any.
        log: what the container of a pod, `<namespace>/<name>`, has written.
    """

    def __init__(self, certificates: Path, log: Callable[[str], str]) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                _, what, namespace, pod, _ = url.path.split("/", 4)
                limit = int(parse_qs(url.query).get("limitBytes", ["1000000000"])[0])
                body = log(f"{namespace}/{pod}").encode()[:limit] if what == "containerLogs" else b""
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
                """No log."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Whoever hangs up is no error of this server."""

        self._server = Server(("127.0.0.1", 0), Handler)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificates / "kube-apiserver.crt", certificates / "kube-apiserver.key")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port: int = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.1,), name="kubelet", daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()
