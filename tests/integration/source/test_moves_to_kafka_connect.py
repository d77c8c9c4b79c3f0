"""A file source moves to a real Kafka Connect and back, and each finds the other's position."""

from pathlib import Path

import pytest

from penstock_cli.embedded import EmbeddedKafka

from ..connect_worker import ConnectWorker
from ..lab import STRING
from ..reading import Reader, create
from ..running import Processes, manifest, next_life, specs, until

pytestmark = pytest.mark.slow


@pytest.mark.timeout(600)
def test_a_file_source_continues_in_kafka_connect_and_comes_back(
    own_kafka: EmbeddedKafka, processes: Processes, tmp_path: Path
) -> None:
    servers, file, written = own_kafka.bootstrap_servers, tmp_path / "in", [0]
    lines = {"filename": str(file)}
    beside = {**lines, "penstock": "fingerprint"}

    def write(count: int) -> None:
        with file.open("a") as opened:
            opened.writelines(f"line {n:05d}\n" for n in range(written[0], written[0] + count))
        written[0] += count

    def all_came() -> bool:
        reader.count(written[0])
        return [(r.value or b"").decode() for r in reader.to_end()] == [f"line {n:05d}" for n in range(written[0])]

    config = {"file": str(file), "topic": "t"}
    create(servers, "t")
    spec = specs(manifest("moves", "FileStreamSource", {**STRING, **config}), servers)[0]
    with Reader(servers, "t") as reader:
        write(100)
        task = processes.task(spec)
        assert all_came()
        task.stop()
        write(100)
        with ConnectWorker(servers, tmp_path / "connect") as connect:
            connector = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", **config}
            connect.do("POST", "/connectors", {"name": "moves", "config": connector})
            assert all_came()
            until(lambda: {"partition": lines, "offset": {"position": 2200}} in connect.offsets("moves"))
            listed = {len(o["partition"]): o for o in connect.offsets("moves")}
            assert (listed[2]["partition"], listed[2]["offset"]["position"]) == (beside, 1100)
            connect.do("PUT", "/connectors/moves/stop")
            # What was listed can be written back as it is.
            connect.do("PATCH", "/connectors/moves/offsets", {"offsets": list(listed.values())})
            assert {len(o["partition"]): o for o in connect.offsets("moves")} == listed
            write(100)
            task = processes.task(next_life(spec))
            assert all_came()
            task.stop()
            write(100)
            file.rename(f"{file}.1")
            write(100)
            task = processes.task(next_life(next_life(spec)))
            assert all_came()
            task.stop()
            connect.do("DELETE", "/connectors/moves/offsets")
            assert connect.offsets("moves") == []
