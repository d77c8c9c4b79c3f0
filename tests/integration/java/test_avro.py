"""Avro in Apicurio's format, at connectors of Python, compared with Kafka Connect.

Both have the same configuration. The converter is that of penstock-registry on one side, which has Apicurio's name, and
Apicurio's own on the other.
"""

import subprocess
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from connectors.registry.tests.archive import apicurio

from penstock_runtime.java_home import find_java

from ..connect_worker import ConnectWorker
from ..ports import free_port
from ..reading import create, read_all
from ..running import Processes, manifest, new_name, until
from .plugins import apicurio_converter

pytestmark = pytest.mark.slow

CONVERTER: Final = "io.apicurio.registry.utils.converter.AvroConverter"
_HOIST: Final = "org.apache.kafka.connect.transforms.HoistField$Value"
LINES: Final = [f"line {n} é" for n in range(1_000)]


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """The address of a schema registry that keeps its schemas in memory."""
    folder = tmp_path / "registry"
    with tarfile.open(apicurio()) as archive:
        archive.extractall(folder, filter="data")
    (jar,) = folder.glob("*-runner.jar")
    port = free_port()
    url = f"http://127.0.0.1:{port}/apis/registry/v2"
    options = ["-Xmx256m", "-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}"]
    log = tmp_path / "registry.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(find_java().executable), *options, "-jar", str(jar)], cwd=folder, stdout=output, stderr=output
        )
    try:
        until(lambda: _answers(url), seconds=120, what=lambda: log.read_text()[-2_000:])
        yield url
    finally:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/system/info", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def avro(registry: str) -> dict[str, str]:
    return {
        "value.converter": CONVERTER,
        "value.converter.apicurio.registry.url": registry,
        "value.converter.apicurio.registry.auto-register": "true",
        "value.converter.apicurio.registry.find-latest": "true",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    }


def source(file: Path, topic: str, registry: str) -> dict[str, Any]:
    hoist = {"transforms": "h", "transforms.h.type": _HOIST, "transforms.h.field": "line"}
    return {"file": str(file), "topic": topic, **avro(registry), **hoist}


@pytest.mark.timeout(400)
def test_penstock_and_kafka_connect_read_each_others_avro(
    kafka: str, processes: Processes, topic: str, registry: str, tmp_path: Path
) -> None:
    converter = apicurio_converter()
    file = tmp_path / "in"
    file.write_text("".join(f"{line}\n" for line in LINES))
    ours, theirs = f"{topic}-ours", f"{topic}-theirs"
    for each in (ours, theirs):
        create(kafka, each)
    plugins = ("--plugin-path", str(converter))
    sinks = {name: tmp_path / name for name in ("ours", "theirs")}
    java = "org.apache.kafka.connect.file.FileStream"
    worker = {"plugin.path": str(converter.parent), "plugin.discovery": "hybrid_warn"}
    with ConnectWorker(kafka, tmp_path / "connect", **{n.replace(".", "_"): v for n, v in worker.items()}) as connect:
        their_source = {"connector.class": f"{java}SourceConnector", **source(file, theirs, registry)}
        their_sink = {
            "connector.class": f"{java}SinkConnector",
            "topics": ours,
            "file": str(sinks["theirs"]),
            **avro(registry),
        }
        for role, config in (("writes", their_source), ("reads", their_sink)):
            connect.do("POST", "/connectors", {"name": new_name(role), "config": config})
        our_sink = {"topics": theirs, "file": str(sinks["ours"]), **avro(registry)}
        resources = [
            manifest(new_name("writes"), "FileStreamSource", source(file, ours, registry)),
            manifest(new_name("reads"), "FileStreamSink", our_sink),
        ]
        run = processes.run(resources, kafka, *plugins)
        expected = [f"Struct{{line={line}}}" for line in LINES]
        for read in sinks.values():
            until(lambda: read.exists() and len(read.read_text().splitlines()) >= len(LINES), what=run.last_words)  # noqa: B023
            assert read.read_text().splitlines() == expected
        run.stop()
    values = [[(r.value, r.headers) for r in read_all(kafka, each)] for each in (ours, theirs)]
    assert [value for value, _ in values[0]] == [value for value, _ in values[1]]
    for of in values:
        assert {tuple(name for name, _ in headers) for _, headers in of} == {
            ("apicurio.value.globalId", "apicurio.value.encoding")
        }
