"""The answers of Kafka Connect's REST API that Penstock's are compared with are those of a real worker."""

import json
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final

import pytest

from penstock_cli.embedded import EmbeddedKafka

from ...unit.web.connect_requests import CONFIGS, READS, in_common
from ..connect_worker import ConnectWorker
from ..running import until

pytestmark = pytest.mark.slow

RECORDED: Final = Path(__file__).parents[2] / "unit/web/connect_answers.json"
RUNNING: Final = {"lines-in": ("RUNNING",), "lines-out": ("RUNNING", "RUNNING"), "broken": ("FAILED",)}


def answer(worker: ConnectWorker, path: str) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(worker.url + path, timeout=30) as found:
            status, text = found.status, found.read()
    except urllib.error.HTTPError as e:
        with e:
            status, text = e.code, e.read()
    return {"status": status, "body": in_common(path, json.loads(text))}


def test_the_recorded_answers_are_those_of_a_worker(own_kafka: EmbeddedKafka, tmp_path: Path) -> None:
    """`PENSTOCK_RECORD=1` writes the file."""
    (tmp_path / "worker").mkdir()
    (tmp_path / "worker/in.txt").write_text("a\nb\nc\n")
    with ConnectWorker(own_kafka.bootstrap_servers, tmp_path / "worker") as worker:
        for name, config in CONFIGS.items():
            worker.do("PUT", f"/connectors/{name}/config", config)

        def states(name: str) -> tuple[str, ...]:
            return tuple(t["state"] for t in worker.do("GET", f"/connectors/{name}/status")["tasks"])

        for name, wanted in RUNNING.items():
            until(lambda name=name, wanted=wanted: states(name) == wanted, seconds=60)  # type: ignore[misc]
        for name in ("halted", "waiting"):
            until(lambda name=name: worker.offsets(name), seconds=60)  # type: ignore[misc]
        worker.ask("PUT", "/connectors/halted/stop")
        worker.ask("PUT", "/connectors/waiting/pause")
        until(lambda: states("halted") == () and states("waiting") == ("PAUSED",), seconds=60)
        until(lambda: worker.offsets("lines-out") and worker.offsets("lines-in"), seconds=60)
        found = {path: answer(worker, path) for path in READS}
    if os.environ.get("PENSTOCK_RECORD"):
        RECORDED.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(RECORDED.read_text())
