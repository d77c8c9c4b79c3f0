"""`penstock topics --active`: all topics that a connector has used, on a real Kafka (KIP-558)."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock_model.connect.status_records import topic_status

from ..lab import Lab
from ..running import new_name


def penstock(
    folder: Path, resource: dict[str, Any], *options: str, words: tuple[str, ...] = ("--active",)
) -> "subprocess.CompletedProcess[str]":
    file = folder / "connector.yaml"
    file.write_text(json.dumps(resource))
    command = [sys.executable, "-m", "penstock_cli", "topics", *words, str(file), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_topic_is_listed_with_since_when_and_by_which_task_first(lab: Lab, tmp_path: Path) -> None:
    name = new_name("act")
    topics = [f"{name}-{n:03}" for n in range(300)]
    records: list[tuple[bytes, bytes | None]] = []
    records += [
        topic_status(t, name, n, 1_790_000_000_000 + n) for n in (0, 1) for t in topics
    ]  # each task records its own
    records += [topic_status("astray", f"{name}.more", 0, 7), (topic_status(topics[9], name, 0, 7)[0], None)]
    status = lab.topic("status", cleanup_policy="compact")
    worker = tmp_path / "worker.properties"
    worker.write_text(f"bootstrap.servers={lab.servers}\nstatus.storage.topic={status}\n")
    producer = Producer({"bootstrap.servers": lab.servers, "partitioner": "murmur2_random"})
    for key, value in records:
        producer.produce(status, key=key, value=value)
    assert producer.flush(30) == 0
    resource = lab.source_manifest([["v"]], topics[0], name=name)
    options = ["--worker", str(worker)]
    done = penstock(tmp_path, resource, *options)
    assert (done.returncode, done.stderr) == (0, f"{name}: 299 active topics\n")
    lines = done.stdout.splitlines()
    assert lines[0] == f"2026-09-21T14:13:20Z      0   {topics[0]}"
    assert [line.split()[2] for line in lines] == [t for t in topics if t != topics[9]]

    unused = penstock(tmp_path, lab.source_manifest([["v"]], "t", name=new_name("none")), *options)
    assert (unused.returncode, unused.stdout) == (0, "")
    assert re.search(r"0 active topics\. On Kubernetes the name in Kafka is <namespace>\.", unused.stderr)


@pytest.mark.parametrize(
    ("words", "options", "told"),
    [
        (("--active",), (), "--bootstrap-servers: is missing"),
        (("--active", "--policy", "p.yaml"), (), "unrecognized arguments: --policy"),
        ((), (), "the following arguments are required: TOPIC"),
    ],
)
def test_what_does_not_go_together_is_reported(
    lab: Lab, tmp_path: Path, words: tuple[str, ...], options: tuple[str, ...], told: str
) -> None:
    done = penstock(tmp_path, lab.source_manifest([["v"]], "t"), *options, words=words)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr


def test_where_topics_are_not_tracked_that_is_said_in_connects_words(lab: Lab, tmp_path: Path) -> None:
    worker = tmp_path / "worker.properties"
    worker.write_text(f"bootstrap.servers={lab.servers}\ntopic.tracking.enable=false\n")
    done = penstock(tmp_path, lab.source_manifest([["v"]], "t"), "--worker", str(worker))
    assert (done.returncode, "Topic tracking is disabled." in done.stderr) == (2, True), done.stderr


def test_the_active_topics_of_a_connector_that_does_not_run_are_forgotten(lab: Lab, tmp_path: Path) -> None:
    topic, name = lab.topic(), new_name("reset")
    _, task = lab.source([["v"]], topic, name=name)
    lab.journal.count("commit")
    resource, options = lab.source_manifest([["v"]], topic, name=name), ["--bootstrap-servers", lab.servers]
    refused = penstock(tmp_path, resource, *options, words=("--reset",))
    assert (refused.returncode, "penstock.dev/reset-topics" in refused.stderr) == (5, True), refused.stderr
    task.stop()
    done = penstock(tmp_path, resource, *options, words=("--reset",))
    assert (done.returncode, done.stderr) == (0, f"{name}: 1 active topic reset\n")
    assert lab.status(f"status-topic-{topic}:connector-{name}")[-1] is None
    assert penstock(tmp_path, resource, *options).stderr.startswith(f"{name}: 0 active topics")


def test_where_a_reset_of_active_topics_is_not_allowed_that_is_said_in_connects_words(lab: Lab, tmp_path: Path) -> None:
    worker = tmp_path / "worker.properties"
    worker.write_text(f"bootstrap.servers={lab.servers}\ntopic.tracking.allow.reset=false\n")
    done = penstock(tmp_path, lab.source_manifest([["v"]], "t"), "--worker", str(worker), words=("--reset",))
    assert (done.returncode, "Topic tracking reset is disabled." in done.stderr) == (2, True), done.stderr
