"""A schema registry of the tests' own, Apicurio's, and a proxy before it that spoils answers."""

import json
import shutil
import socket
import ssl
import subprocess
import tarfile
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from penstock_runtime.java_home import find_java

from .archive import apicurio

__all__ = ["Proxy", "Registry", "free_port"]

_JSON: Final = "application/vnd.schemaregistry.v1+json"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Registry:
    """Apicurio's registry, in memory, which checks compatibility as Confluent's does by default."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="penstock-registry-"))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/apis/ccompat/v7"
        self.own_url = f"http://127.0.0.1:{self.port}/apis/registry/v2"
        with tarfile.open(apicurio()) as archive:
            archive.extractall(self.folder, filter="data")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        (jar,) = self.folder.glob("*-runner.jar")
        options = ["-Xmx384m", "-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={self.port}"]
        log = self.folder / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [str(find_java().executable), *options, "-jar", str(jar)],
                cwd=self.folder,
                stdout=output,
                stderr=output,
            )
        until = time.monotonic() + 240
        while True:
            try:
                self.ask("PUT", "/config", {"compatibility": "BACKWARD"})
            except OSError:
                left = self._process.poll() is None and time.monotonic() < until
                assert left, log.read_text()[-2_000:]
                time.sleep(0.1)
            else:
                return

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, {"Content-Type": _JSON}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def artifact(self, group: str, artifact: str) -> Any:
        """Ask for an artifact by Apicurio's own API."""
        names = [urllib.parse.quote(name, safe="") for name in (group, artifact)]
        with urllib.request.urlopen(
            "{}/groups/{}/artifacts/{}/meta".format(self.own_url, *names), timeout=30
        ) as answer:
            return json.loads(answer.read())

    def register(self, subject: str, schema: Any, kind: str = "AVRO", references: Any = ()) -> int:
        """Register a schema as others do."""
        body = {"schema": json.dumps(schema, separators=(",", ":")), "schemaType": kind, "references": list(references)}
        number: int = self.ask("POST", f"/subjects/{subject}/versions", body)["id"]
        return number

    def schema(self, number: int | bytes) -> Any:
        assert isinstance(number, int), "this registry has no GUIDs"
        return json.loads(self.ask("GET", f"/schemas/ids/{number}")["schema"])

    def subjects(self) -> list[str]:
        found: list[str] = self.ask("GET", "/subjects")
        return found


class Proxy:
    """A proxy before a registry: it passes requests on, or answers them as `answer` says, and notes their headers.

    Attributes:
        answer: status, type and text of the answer, or a function of the path that returns them; None to pass requests on;
            `"hang up"` to close the connection.
        delay: seconds before each answer.
        accepts: whether a request with these headers, whose names are in lower case, is allowed; others get status 401.
        guids: whether schemas have GUIDs, as in Confluent's registry, in addition to what the registry before it can do.
    """

    def __init__(self, registry: Registry, context: ssl.SSLContext | None = None) -> None:
        self.answer: tuple[int, str, str] | Callable[[str], tuple[int, str, str]] | str | None = None
        self.delay = 0.0
        self.accepts: Callable[[dict[str, str]], bool] = lambda _: True
        self.guids = False
        self._numbers: dict[str, int] = {}
        self.headers: list[dict[str, str]] = []
        self.requests: list[str] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def _pass_on(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                proxy.headers.append(headers)
                proxy.requests.append(f"{self.command} {self.path}")
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
                time.sleep(proxy.delay)
                if not proxy.accepts(headers):
                    self._reply(401, "text/plain", b"no")
                    return
                match proxy.answer(self.path) if callable(proxy.answer) else proxy.answer:
                    case (status, kind, text):
                        self._reply(status, kind, text.encode())
                    case str():
                        self.close_connection = True
                    case None if proxy.guids:
                        self._reply(*proxy._with_guids(registry, self.command, self.path, body, headers))
                    case None:
                        self._reply(*_forwarded(registry, self.command, self.path, body, headers))

            def _reply(self, status: int, kind: str, text: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_DELETE = _pass_on  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        scheme = "http"
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"

    def _with_guids(
        self, registry: Registry, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, str, bytes]:
        place, _, guid = path.partition("?")[0].rpartition("/")
        if place == "/schemas/guids":
            number = self._numbers.get(guid)
            if number is None:
                return 404, _JSON, b'{"error_code": 40403, "message": "Schema not found"}'
            path = f"/schemas/ids/{number}"
        status, kind, text = _forwarded(registry, method, path, body, headers)
        found = json.loads(text)
        if isinstance(found, dict) and "id" in found:
            found["guid"] = str(uuid.uuid5(uuid.NAMESPACE_URL, str(found["id"])))
            self._numbers[found["guid"]] = found["id"]
        return status, kind, json.dumps(found).encode()

    @contextmanager
    def running(self) -> Iterator["Proxy"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


def _forwarded(
    registry: Registry, method: str, path: str, body: bytes | None, headers: dict[str, str]
) -> tuple[int, str, bytes]:
    url = f"http://127.0.0.1:{registry.port}{path}" if path.startswith("/apis/") else f"{registry.url}{path}"
    passed = {name: value for name, value in headers.items() if name.startswith("x-registry-")}
    request = urllib.request.Request(
        url, body, {"Content-Type": headers.get("content-type", _JSON)} | passed, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, _JSON, answer.read()
    except urllib.error.HTTPError as e:
        with e:
            return e.code, _JSON, e.read()
