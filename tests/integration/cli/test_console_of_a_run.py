"""`penstock run --console` shows the connectors that run here, while they run."""

import http.client
import json
import re
from pathlib import Path

import pytest

from ..running import Processes, manifest, new_name, until


def get(port: int, path: str, body: object = None) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"X-Penstock-Console": "1"}
    connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), headers)
    text = connection.getresponse().read().decode()
    connection.close()
    return text


@pytest.mark.slow
def test_the_page_of_a_run_shows_its_tasks_records_and_offsets(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    lines = tmp_path / "lines"
    lines.write_text("".join(f"{n}\n" for n in range(500)))
    name = new_name()
    chain = {"transforms": "hoist", "transforms.hoist.type": "HoistField$Value", "transforms.hoist.field": "line"}
    resource = manifest(name, "FileStreamSource", {"file": str(lines), "topic": topic, **chain})
    run = processes.run([resource], kafka, "--console", "0")
    address = re.search(r"http://127\.0\.0\.1:(\d+)/", run.await_log("Console: "))
    assert address is not None
    port, own = int(address[1]), f"/connectors/default/{name}"
    until(lambda: "Running" in get(port, own) and topic in get(port, own), what=lambda: get(port, own))
    assert f'href="{own}"' in get(port, "/")
    assert "HoistField$Value" in get(port, f"{own}/config")
    assert "value.line" in get(port, f"{own}/transform", {"record": json.dumps({"value": "a"})})
    until(lambda: "position" in get(port, f"{own}/offsets"), what=lambda: get(port, f"{own}/offsets"))
    assert json.loads(get(port, "/connect/default/connectors")) == [name]
    run.stop()
