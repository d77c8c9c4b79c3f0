"""`penstock import`: connectors of a real Kafka Connect 4.3.1 move here and back, and each finds the other's position."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import KafkaException, Producer

from penstock_cli.embedded import EmbeddedKafka

from ..connect_worker import ConnectWorker
from ..reading import Reader, create
from ..running import Processes, until

pytestmark = pytest.mark.slow

OURS = {"group.id": "penstock", "offset.storage.replication.factor": "1", "status.storage.replication.factor": "1"}
"""A group.id of its own, so that the ids of Kafka Connect's tasks are none of a task here."""


def imported(*arguments: str, code: int = 0) -> tuple[list[dict[str, Any]], str]:
    """The manifests and the report."""
    done = subprocess.run(
        [sys.executable, "-m", "penstock_cli", "import", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert done.returncode == code, done.stderr
    return list(yaml.safe_load_all(done.stdout)), done.stderr


@pytest.mark.timeout(600)
def test_a_source_and_a_sink_that_are_stopped_in_kafka_connect_continue_here_and_back_again(
    own_kafka: EmbeddedKafka, processes: Processes, tmp_path: Path
) -> None:
    servers, into, out, written = own_kafka.bootstrap_servers, tmp_path / "in", tmp_path / "out", [0]
    out.touch()

    def write(count: int) -> None:
        with into.open("a") as opened:
            opened.writelines(f"line {n:05d}\n" for n in range(written[0], written[0] + count))
        written[0] += count

    def all_came() -> bool:
        lines = [f"line {n:05d}" for n in range(written[0])]
        reader.count(written[0])
        until(lambda: out.read_text().splitlines() == lines, what=lambda: f"{len(out.read_text().splitlines())} lines")
        return [(r.value or b"").decode() for r in reader.to_end()] == lines

    create(servers, "t")
    java = "org.apache.kafka.connect.file.FileStream{}Connector"
    configs = {
        "moves-in": {"connector.class": java.format("Source"), "file": str(into), "topic": "t", "tasks.max": "3"},
        "moves-out": {"connector.class": java.format("Sink"), "file": str(out), "topics": "t", "tasks.max": "1"},
    }
    connect = ConnectWorker(servers, tmp_path / "connect", exactly_once_source_support="enabled")
    with connect, Reader(servers, "t") as reader:
        write(100)
        for name, config in configs.items():
            connect.do("POST", "/connectors", {"name": name, "config": config})
        assert all_came()
        place = {"kafka_topic": "t", "kafka_partition": 0}
        until(lambda: any(o["partition"] == place for o in connect.offsets("moves-out")))
        for name in configs:
            connect.do("PUT", f"/connectors/{name}/stop")
        until(lambda: all(connect.ask("GET", f"/connectors/{name}/status")["tasks"] == [] for name in configs))
        # A task of before that froze in its transaction, and that no task here has the id of.
        frozen = Producer({"bootstrap.servers": servers, "transactional.id": "connect-cluster-moves-in-2"})
        frozen.init_transactions(30)
        frozen.begin_transaction()
        frozen.produce("t", value=b"late", partition=0)
        frozen.flush(30)
        write(100)

        worker = tmp_path / "penstock.properties"
        worker.write_text("".join(f"{n}={t}\n" for n, t in {**OURS, "bootstrap.servers": servers}.items()))
        arguments = ("--connect-url", connect.url, "--connect-worker", str(connect.file), "--worker", str(worker))
        for _ in range(2):  # it may be done again
            manifests, report = imported(*arguments)
        assert [(m["spec"]["connectName"], m["spec"]["state"]) for m in manifests] == [
            ("moves-in", "Stopped"),
            ("moves-out", "Stopped"),
        ]
        assert "connect-cluster-moves-in-0 to connect-cluster-moves-in-2 are recorded in topic connect-status" in report
        for manifest in manifests:
            manifest["spec"]["state"] = "Running"
            assert manifest["spec"]["config"]["value.converter"].endswith("StringConverter")
        run = processes.run(manifests, servers, worker=OURS)
        assert all_came()
        with pytest.raises(KafkaException) as fenced:
            frozen.commit_transaction(30)
        assert fenced.value.args[0].code() in (-144, 47, 90), fenced.value  # fenced, by one name or another
        run.stop()
        write(100)
        for name in configs:
            connect.do("PUT", f"/connectors/{name}/resume")
        assert all_came()
