"""A proxy before a real API server that spoils chosen answers, and remembers what was asked.

    with FaultProxy(kubeconfig, folder) as proxy:
        proxy.spoil(fail(429, retry_after=1), method="PATCH", path="/status", times=2)
        Kube.connect(kubeconfig=proxy.kubeconfig)

Clients talk plain HTTP to it, with no credentials; it talks to the API server as the kubeconfig says. Streams (watches)
are passed on as they come. Rules are asked in order; the first that fits a request and is not used up spoils it.
"""

import http.client
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import yaml
from kubernetes.client import Configuration
from kubernetes.config import load_kube_config

__all__ = ["Asked", "Fault", "FaultProxy", "Rule", "cut", "drop", "expire", "fail", "slow"]

_HOP: Final = frozenset(("connection", "transfer-encoding", "content-length", "keep-alive", "host", "authorization"))


@dataclass(frozen=True)
class Asked:
    """A request, and what it was answered; 0 while it is under way, or when it was dropped."""

    method: str
    path: str
    query: str
    code: int = 0

    @property
    def writes(self) -> bool:
        """Whether it asked for a change."""
        return self.method != "GET"


Fault = Callable[["_Handler"], bool]
"""Answers a request in the API server's place (True), or lets it pass, perhaps after something (False)."""


@dataclass
class Rule:
    """Which requests a fault hits, and how often still; None: always."""

    fault: Fault
    method: str
    path: re.Pattern[str]
    times: int | None
    hits: int = 0

    def fits(self, method: str, path: str) -> bool:
        return self.times != 0 and self.method in ("", method) and self.path.search(path) is not None


def fail(
    code: int,
    *,
    retry_after: float | None = None,
    reason: str = "Injected",
    message: str = "injected",
    details: Mapping[str, str] | None = None,
) -> Fault:
    """Answer with this status."""

    def fault(handler: "_Handler") -> bool:
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "reason": reason,
            "message": message,
            "code": code,
            **({} if details is None else {"details": details}),
        }
        handler.answer(
            code, json.dumps(status).encode(), {} if retry_after is None else {"Retry-After": str(retry_after)}
        )
        return True

    return fault


def expire() -> Fault:
    """Answer a watch as the API server does whose history no longer reaches back so far: 200, and an event ERROR 410."""

    def fault(handler: "_Handler") -> bool:
        status = {"kind": "Status", "apiVersion": "v1", "reason": "Expired", "code": 410, "message": "too old"}
        handler.answer(200, json.dumps({"type": "ERROR", "object": status}).encode() + b"\n", {})
        return True

    return fault


def drop() -> Fault:
    """Close the connection without an answer."""

    def fault(handler: "_Handler") -> bool:
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)
        return True

    return fault


def cut() -> Fault:
    """Have the request carried out, and close the connection in the place of the answer."""

    def fault(handler: "_Handler") -> bool:
        handler.forward(answer=False)
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)
        return True

    return fault


def slow(seconds: float) -> Fault:
    """Wait before the request is passed on."""

    def fault(handler: "_Handler") -> bool:
        handler.proxy.closing.wait(seconds)
        return False

    return fault


@dataclass
class _Upstream:
    host: str
    port: int
    context: ssl.SSLContext | None
    authorization: str | None


class FaultProxy:
    """The proxy, on a port of this machine, until it is closed.

    Args:
        kubeconfig: of the real API server.
        folder: where `kubeconfig` is written, that leads here.
    """

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self.rules: list[Rule] = []
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self._changed = threading.Condition()
        self._connections: set[socket.socket] = set()
        self.upstream = _upstream(kubeconfig)
        proxy = self

        class Handler(_Handler):
            def __init__(self, *arguments: Any) -> None:
                self.proxy = proxy
                super().__init__(*arguments)

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Whoever hangs up is no error of this proxy."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.kubeconfig = folder / "faults.kubeconfig"
        self.kubeconfig.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "faults",
                    "contexts": [{"name": "faults", "context": {"cluster": "faults", "user": "nobody"}}],
                    "clusters": [{"name": "faults", "cluster": {"server": self.url}}],
                    "users": [{"name": "nobody", "user": {}}],
                }
            )
        )
        threading.Thread(target=self._server.serve_forever, args=(0.1,), name="faults", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self.hang_up()

    def spoil(self, fault: Fault, *, method: str = "", path: str = "", times: int | None = 1) -> Rule:
        """Spoil requests from now on; `path` is searched in path and query, `times` None is always."""
        rule = Rule(fault, method, re.compile(path), times)
        with self._changed:
            self.rules.append(rule)
        return rule

    def heal(self) -> None:
        """Spoil nothing more."""
        with self._changed:
            self.rules.clear()

    def hang_up(self) -> None:
        """Close every connection that clients have at this moment, watches among them."""
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def wait_for(self, fits: Callable[[Asked], bool], *, count: int = 1, seconds: float = 30.0) -> list[Asked]:
        """The requests that fit, as soon as so many of them have come."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while len(found := [a for a in self.asked if fits(a)]) < count:
                if not self._changed.wait(max(0.0, deadline - time.monotonic())):
                    raise AssertionError(f"{len(found)} of {count} requests within {seconds} s; {self.asked[-20:]}")
            return found

    def writes(self) -> list[Asked]:
        """The requests that asked for a change."""
        with self._changed:
            return [a for a in self.asked if a.writes]

    def fault_of(self, method: str, path: str) -> Fault | None:
        """What is to be done to a request, used up by being asked."""
        with self._changed:
            for rule in self.rules:
                if rule.fits(method, path):
                    rule.hits += 1
                    rule.times = None if rule.times is None else rule.times - 1
                    return rule.fault
        return None

    def note(self, asked: Asked) -> None:
        """Remember a request."""
        with self._changed:
            self.asked.append(asked)
            self._changed.notify_all()

    def holds(self, connection: socket.socket, *, is_open: bool) -> None:
        """Remember a connection while it lasts."""
        (self._connections.add if is_open else self._connections.discard)(connection)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: FaultProxy

    def setup(self) -> None:
        super().setup()
        self.proxy.holds(self.connection, is_open=True)

    def finish(self) -> None:
        self.proxy.holds(self.connection, is_open=False)
        with suppress(OSError):
            super().finish()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        """No log."""

    def _do(self) -> None:
        self._body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.proxy.fault_of(self.command, self.path)
        if fault is None or not fault(self):
            self.forward()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _do  # noqa: N815 (the base class's names)

    def answer(self, code: int, body: bytes, headers: dict[str, str]) -> None:
        self._note(code)
        self.send_response(code)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def forward(self, *, answer: bool = True) -> None:
        up = self.proxy.upstream
        connection = (
            http.client.HTTPSConnection(up.host, up.port, context=up.context, timeout=700)
            if up.context is not None
            else http.client.HTTPConnection(up.host, up.port, timeout=700)
        )
        headers = {n: v for n, v in self.headers.items() if n.lower() not in _HOP}
        if up.authorization:
            headers["Authorization"] = up.authorization
        try:
            connection.request(self.command, self.path, self._body or None, headers)
            response = connection.getresponse()
        except OSError:
            connection.close()
            self.answer(503, b"the API server is away", {"Content-Type": "text/plain"})
            return
        try:
            self._note(response.status)
            if answer:
                self._pass_on(response)
            else:
                response.read()
        finally:
            connection.close()

    def _pass_on(self, response: http.client.HTTPResponse) -> None:
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in _HOP:
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while data := response.read1(1 << 16):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def _note(self, code: int) -> None:
        path, _, query = self.path.partition("?")
        self.proxy.note(Asked(self.command, path, query, code))


def _upstream(kubeconfig: Path) -> _Upstream:
    configuration = Configuration()
    load_kube_config(str(kubeconfig), client_configuration=configuration)  # type: ignore[no-untyped-call]
    url = urlsplit(configuration.host)
    context = None
    if url.scheme == "https":
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
        if configuration.cert_file:
            context.load_cert_chain(configuration.cert_file, configuration.key_file)
    authorization = configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
    return _Upstream(url.hostname or "", url.port or 443, context, authorization)
