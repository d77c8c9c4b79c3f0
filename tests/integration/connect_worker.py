"""A real Kafka Connect 4.3.1 worker, distributed, on the same topics as Penstock."""

import json
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.bench.peer import connect_jars

from penstock_runtime.java_home import find_java

from .ports import free_port
from .running import until

__all__ = ["ConnectWorker"]

_WORKER: Final = """\
bootstrap.servers={servers}
group.id=connect-cluster
listeners=http://127.0.0.1:{port}
offset.storage.topic=connect-offsets
config.storage.topic=connect-configs
status.storage.topic=connect-cluster-status
offset.storage.replication.factor=1
config.storage.replication.factor=1
status.storage.replication.factor=1
offset.flush.interval.ms=500
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
plugin.path={plugins}
plugin.discovery=service_load
"""


class ConnectWorker:
    """Started at once; use it in a `with`.

    Attributes:
        url: URL of its REST API.
        file: its worker configuration.
    """

    def __init__(self, servers: str, folder: Path, **more: str) -> None:
        java = find_java()
        libs = connect_jars(java)
        port = free_port()
        folder.mkdir(exist_ok=True)
        self.url = f"http://127.0.0.1:{port}"
        self._log = folder / "connect.log"
        self.file = folder / "worker.properties"
        lines = "".join(f"{name.replace('_', '.')}={text}\n" for name, text in more.items())
        self.file.write_text(_WORKER.format(servers=servers, port=port, plugins=libs) + lines)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    str(java.executable),
                    "-Xmx512m",
                    "-cp",
                    f"{libs}/*",
                    "org.apache.kafka.connect.cli.ConnectDistributed",
                    "worker.properties",
                ],
                cwd=folder,
                stdout=log,
                stderr=log,
            )
        self._until(lambda: self.ask("GET", "/connectors") is not None)

    def __enter__(self) -> "ConnectWorker":
        return self

    def __exit__(self, *args: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(60)
        finally:
            self._process.kill()
            self._process.wait()

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """What the REST API answers; None where it does not take the request (yet)."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
        except urllib.error.HTTPError as e:
            e.close()
            return None
        except OSError:
            return None
        return json.loads(text) if text else {}

    def do(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The same, asked until it is taken."""
        return self._until(lambda: [found] if (found := self.ask(method, path, body)) is not None else None)[0]

    def offsets(self, connector: str) -> list[dict[str, Any]]:
        """What `GET /connectors/<name>/offsets` shows."""
        found: list[dict[str, Any]] = self.do("GET", f"/connectors/{connector}/offsets")["offsets"]
        return found

    def _until(self, found: Any) -> Any:
        def or_ended() -> Any:
            assert self._process.poll() is None, self._log.read_text()[-4000:]
            return found()

        return until(or_ended, seconds=120, what=lambda: self._log.read_text(errors="replace")[-4000:])
