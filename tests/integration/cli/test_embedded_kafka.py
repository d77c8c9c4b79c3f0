import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from penstock.errors import ConnectError
from penstock_cli.embedded import EmbeddedKafka, formatting
from penstock_cli.embedded.jars import kafka_folder, kafka_jars
from penstock_cli.embedded.jvm import Jvm
from penstock_cli.embedded.settings import Ports
from penstock_runtime.java_home import find_java

from ..ports import free_port

pytestmark = pytest.mark.slow

# A process that runs a broker until it is ended, and says which.
RUN = """
import sys, threading
from pathlib import Path
from penstock_cli.embedded import EmbeddedKafka
kafka = EmbeddedKafka(Path(sys.argv[1]))
starter = threading.Thread(target=kafka.start)
starter.start()
starter.join()  # the thread that started it is gone, and that alone must not end the broker
print(kafka.pid, flush=True)
sys.stdin.read()
"""


def produce(bootstrap: str, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0


def consume(bootstrap: str, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        values: list[bytes | None] = []
        deadline = time.monotonic() + 30
        while len(values) < count and time.monotonic() < deadline:
            values += [message.value() for message in consumer.consume(count, 1.0) if message.error() is None]
        return values
    finally:
        consumer.close()


def await_end(pid: int, seconds: float) -> bool:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def test_records_are_read_back(kafka: str, topic: str) -> None:
    produce(kafka, topic, b"a", b"b")
    assert consume(kafka, topic, 2) == [b"a", b"b"]


def test_data_and_port_survive_an_orderly_restart(own_kafka: EmbeddedKafka) -> None:
    before = own_kafka.bootstrap_servers
    produce(before, "kept", b"a")
    own_kafka.stop()
    assert not own_kafka.running
    own_kafka.start()
    assert own_kafka.bootstrap_servers == before
    produce(before, "kept", b"b")
    assert consume(before, "kept", 2) == [b"a", b"b"]


def test_data_survive_kill_minus_9_of_the_broker(
    own_kafka: EmbeddedKafka, kafka_on: Callable[[str], EmbeddedKafka]
) -> None:
    before = own_kafka.bootstrap_servers
    produce(before, "kept", b"a")
    assert own_kafka.pid is not None
    os.kill(own_kafka.pid, signal.SIGKILL)
    assert own_kafka.wait(20) == -signal.SIGKILL
    assert not own_kafka.running
    own_kafka.start()
    assert own_kafka.bootstrap_servers == before
    assert consume(before, "kept", 1) == [b"a"]
    own_kafka.stop()

    another_object = kafka_on("kafka")
    another_object.start()
    assert another_object.bootstrap_servers == before


def test_a_second_holder_of_the_folder_is_refused_with_the_name_of_the_first(
    own_kafka: EmbeddedKafka, kafka_on: Callable[[str], EmbeddedKafka]
) -> None:
    second = kafka_on("kafka")
    with pytest.raises(ConnectError) as caught:
        second.start()
    assert str(own_kafka.data_dir) in str(caught.value)
    assert f"process {os.getpid()}" in str(caught.value)
    assert own_kafka.running


def test_the_broker_ends_with_a_parent_that_is_killed_and_the_folder_is_free_immediately(
    tmp_path: Path, kafka_on: Callable[[str], EmbeddedKafka]
) -> None:
    folder = tmp_path / "kafka"
    with subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        broker = int(parent.stdout.readline())
        parent.kill()
    # No pause here: the start itself waits for the orphan's orderly end.
    kafka_on("kafka").start()
    assert await_end(broker, 0)


def test_ctrl_c_in_the_terminal_does_not_reach_the_broker(own_kafka: EmbeddedKafka) -> None:
    assert own_kafka.pid is not None
    assert os.getpgid(own_kafka.pid) != os.getpgid(0)
    assert os.getsid(own_kafka.pid) != os.getsid(0)


def test_a_port_of_ones_choice_is_taken_and_remembered(tmp_path: Path) -> None:
    port = free_port()
    with EmbeddedKafka(tmp_path / "kafka", port) as broker:
        assert broker.bootstrap_servers == f"127.0.0.1:{port}"
    with EmbeddedKafka(tmp_path / "kafka") as broker:
        assert broker.bootstrap_servers == f"127.0.0.1:{port}"


def test_a_taken_port_of_ones_choice_is_an_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConnectError, match=f"cannot use port {port} on 127.0.0.1"):
            EmbeddedKafka(tmp_path / "kafka", port).start()
    assert not (tmp_path / "kafka").exists()


def test_what_java_unpacked_for_a_broker_that_was_killed_is_removed_by_the_next(own_kafka: EmbeddedKafka) -> None:
    temporary = own_kafka.data_dir / "tmp"
    own_kafka.kill()
    (temporary / "left").touch()
    own_kafka.start()
    assert not (temporary / "left").exists()


def test_a_second_process_shares_the_broker_and_takes_it_over_when_the_first_is_gone(
    own_kafka: EmbeddedKafka, kafka_on: Callable[[str], EmbeddedKafka]
) -> None:
    second = kafka_on("kafka")
    assert not second.share()
    assert second.bootstrap_servers == own_kafka.bootstrap_servers
    assert not second.running
    assert not second.take_over()
    second.stop()  # it is not its own to stop
    assert own_kafka.running
    produce(own_kafka.bootstrap_servers, "kept", b"a")
    own_kafka.stop()
    assert second.take_over()
    assert second.bootstrap_servers == own_kafka.bootstrap_servers
    assert consume(second.bootstrap_servers, "kept", 1) == [b"a"]


def test_an_address_is_shared_only_while_it_is_that_of_the_folders_broker(
    own_kafka: EmbeddedKafka, kafka_on: Callable[[str], EmbeddedKafka]
) -> None:
    second = kafka_on("kafka")
    assert second.joins(own_kafka.bootstrap_servers)
    assert not second.joins("127.0.0.1:1")
    own_kafka.stop()
    assert not second.joins(own_kafka.bootstrap_servers)


def test_a_remembered_port_that_is_taken_is_replaced_and_said_so(
    own_kafka: EmbeddedKafka, caplog: pytest.LogCaptureFixture
) -> None:
    host, port = own_kafka.bootstrap_servers.split(":")
    own_kafka.stop()
    with socket.create_server((host, int(port))):
        own_kafka.start()
    assert own_kafka.bootstrap_servers != f"{host}:{port}"
    assert f"Port {port} of the last start is taken" in caplog.text


def test_a_broker_that_dies_while_starting_is_quoted(own_kafka: EmbeddedKafka) -> None:
    own_kafka.stop()
    properties = own_kafka.data_dir / "topics" / "meta.properties"
    properties.write_text(properties.read_text().replace("node.id=1", "node.id=7"))
    with pytest.raises(ConnectError, match="cannot start the embedded Kafka: it exited with code 1") as caught:
        own_kafka.start()
    assert "configured node id" in str(caught.value)
    assert "\tat " not in str(caught.value)
    assert str(own_kafka.data_dir / "kafka.log") in str(caught.value)
    assert not own_kafka.running


def test_the_cluster_keeps_its_id(own_kafka: EmbeddedKafka) -> None:
    first = json.loads((own_kafka.data_dir / "kafka.json").read_text())
    own_kafka.stop()
    own_kafka.start()
    assert json.loads((own_kafka.data_dir / "kafka.json").read_text()) == first
    client = AdminClient({"bootstrap.servers": own_kafka.bootstrap_servers})
    told = client.describe_cluster().result(30)
    assert told.cluster_id == first["cluster_id"]


def test_folders_after_the_first_are_what_kafkas_tool_made_with_ids_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = find_java()
    jvm = Jvm(java, kafka_jars(java, print))
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(formatting, "kafka_folder", lambda: tmp_path / "cache")
    clusters = [formatting.new_id() for _ in range(3)]
    for cluster in clusters:
        (tmp_path / cluster).mkdir()
        formatting.format_once(tmp_path / cluster, jvm, cluster, Ports(20001, 20002))
        jvm = replace(jvm, jars=())  # the tool cannot run again
    made = [tmp_path / cluster / "topics" for cluster in clusters]
    assert len({(folder / "bootstrap.checkpoint").read_bytes() for folder in made}) == 1
    ids = [
        dict(line.split("=") for line in (folder / "meta.properties").read_text().splitlines() if "=" in line)
        for folder in made
    ]
    assert [found.pop("cluster.id") for found in ids] == clusters
    assert len({found.pop("directory.id") for found in ids}) == 3
    assert ids == [{"node.id": "1", "version": "1"}] * 3


@pytest.mark.parametrize("damage", ["half of it", "another file", "no ids"])
def test_what_is_kept_and_damaged_is_made_again(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = find_java()
    jvm = Jvm(java, kafka_jars(java, print))
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setattr(formatting, "kafka_folder", lambda: cache)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    formatting.format_once(tmp_path / "first", jvm, formatting.new_id(), Ports(20001, 20002))
    [kept] = cache.iterdir()
    whole = kept.read_bytes()
    second = formatting.new_id()
    if damage == "half of it":
        kept.write_bytes(whole[: len(whole) // 2])
    else:
        with ZipFile(kept, "w") as archive:
            archive.writestr("meta.properties" if damage == "no ids" else "other", b"")
    formatting.format_once(tmp_path / "second", jvm, second, Ports(20001, 20002))
    topics = tmp_path / "second" / "topics"
    assert sorted(found.name for found in topics.iterdir()) == ["bootstrap.checkpoint", "meta.properties"]
    assert f"cluster.id={second}\n" in (topics / "meta.properties").read_text()
    assert [len(found.read_bytes()) for found in cache.iterdir()] == [len(whole)]


def test_a_cache_that_holds_only_jars_is_filled_by_the_first_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled = kafka_folder()
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    kafka_folder().mkdir()
    (kafka_folder() / "libs").symlink_to(filled / "libs")
    said: list[str] = []
    with EmbeddedKafka(tmp_path / "data", say=said.append) as kafka:
        produce(kafka.bootstrap_servers, "t", b"a")
    assert said == ["Preparing Kafka for quick starts (once)..."]
    assert sorted(found.name.partition("-")[0] for found in kafka_folder().iterdir()) == [
        "classes",
        "formatted",
        "libs",
        "lock",
    ]


def test_where_the_cache_cannot_be_written_kafkas_tool_runs_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = find_java()
    jvm = Jvm(java, kafka_jars(java, print))
    (tmp_path / "file").touch()
    monkeypatch.setattr(formatting, "kafka_folder", lambda: tmp_path / "file")
    formatting.format_once(tmp_path, jvm, formatting.new_id(), Ports(20001, 20002))
    assert sorted(found.name for found in (tmp_path / "topics").iterdir()) == [
        "bootstrap.checkpoint",
        "meta.properties",
    ]


def test_nobody_listens_beyond_this_machine(own_kafka: EmbeddedKafka) -> None:
    listening = {
        line.split()[1].split(":")[0]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[9] in _sockets(own_kafka.pid)
    }
    assert listening <= {"0100007F", "0000000000000000FFFF00000100007F"}
    assert listening


def _sockets(pid: int | None) -> set[str]:
    links = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()]
    return {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}


def test_a_missing_java_is_said_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(ConnectError, match="cannot find Java"):
        EmbeddedKafka(tmp_path / "kafka").start()
    assert not (tmp_path / "kafka").exists()


def test_a_cache_that_cannot_be_filled_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    # A proxy that nobody runs stands for a machine without a network.
    proxy = " ".join(f"-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort=1" for scheme in ("http", "https"))
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", proxy)
    said: list[str] = []
    with pytest.raises(ConnectError, match=r"cannot fetch .* from Maven Central") as caught:
        EmbeddedKafka(tmp_path / "kafka", say=said.append).start()
    assert said == ["Fetching Kafka 4.3.1 (44 MB, once)..."]
    assert str(tmp_path / "cache" / "kafka-4.3.1" / "libs") in str(caught.value)
    assert not (tmp_path / "cache" / "kafka-4.3.1" / "libs").exists()
