"""`penstock offsets list|alter|reset`: offsets are seen and set without Kubernetes, on a real Kafka."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock_model.connect.status_records import State, task_status
from penstock_model.contracts.job import Action
from penstock_model.contracts.task_reports import Claim, claim_key

from ..pod.test_jobs import sink, source, started
from ..pod.test_offsets_actions import live, run_source
from ..pods import STATUS, Pods, pods, write
from ..running import PLUGINS, manifest, new_name, until

__all__ = ["pods"]

OURS = "The Connect framework-managed offsets for this connector have been altered successfully."


def penstock(
    pods: Pods, verb: str, resource: dict[str, Any], *arguments: str, stdin: str = ""
) -> "subprocess.CompletedProcess[str]":
    file = pods.folder / "connector.yaml"
    file.write_text(json.dumps(resource))
    options = [str(file), "--bootstrap-servers", pods.lab.servers, *arguments]
    return subprocess.run(
        [sys.executable, "-m", "penstock_cli", "offsets", verb, *options],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PLUGINS), os.environ.get("PYTHONPATH", "")])},
    )


def document(*entries: tuple[Any, Any]) -> str:
    return json.dumps({"offsets": [{"partition": p, "offset": o} for p, o in entries]})


def test_what_is_listed_as_json_can_be_given_back_and_what_is_edited_holds(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic())
    name = run_source(pods, resource)
    listed = penstock(pods, "list", resource, "--output", "json")
    assert (listed.returncode, listed.stdout) == (0, '{"offsets":[\n{"partition":{"p":"a0"},"offset":{"i":1}}\n]}\n')
    done = penstock(pods, "alter", resource, "--offsets", "-", "--yes", stdin=listed.stdout)
    assert done.returncode == 0, done.stderr
    assert OURS in done.stderr
    key = f'["{name}",{{"p":"a0"}}]'.encode()
    assert live(pods, name) == {key: b'{"i":1}'}
    file = pods.folder / "offsets.json"
    file.write_text(listed.stdout.replace(":1}", ":0}"))
    done = penstock(pods, "alter", resource, "--offsets", str(file), "--yes")
    assert done.stdout.splitlines() == ["PARTITION    BEFORE    AFTER", '{"p":"a0"}   {"i":1}   {"i":0}']
    assert live(pods, name) == {key: b'{"i":0}'}
    shown = penstock(pods, "list", resource)
    assert shown.stdout.splitlines() == ["SOURCE PARTITION   OFFSET", '{"p":"a0"}         {"i":0}']
    assert shown.stderr == f"{name}: 1 position\n"
    done = penstock(pods, "reset", resource, "--yes")
    assert done.returncode == 0
    assert "have been reset successfully" in done.stderr
    assert live(pods, name) == {}
    assert penstock(pods, "list", resource, "--output", "json").stdout == '{"offsets":[]}\n'


@pytest.mark.slow
def test_a_sink_is_listed_with_the_end_of_each_partition_and_its_lag(pods: Pods) -> None:
    topic = pods.lab.topic(partitions=2)
    pods.lab.produce(topic, "a", "b", "c")
    resource = sink(pods, topic)
    offsets = document(
        *(({"kafka_topic": topic, "kafka_partition": p}, {"kafka_offset": o}) for p, o in ((0, 1), (1, 0)))
    )
    done = penstock(pods, "alter", resource, "--offsets", "-", "--yes", stdin=offsets)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in penstock(pods, "list", resource).stdout.splitlines()]
    assert rows == [
        ["TOPIC", "PARTITION", "OFFSET", "END", "LAG"],
        [topic, "0", "1", "3", "2"],
        [topic, "1", "0", "0", "0"],
    ]


def test_dry_run_and_the_want_of_a_person_to_ask_write_nothing_and_ask_no_plugin(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic(), **{"class": "altering_source:Understanding"})
    name = run_source(pods, resource)
    offsets = document(({"p": "a0"}, {"i": 0}), ({"p": "new"}, {"i": 5}))
    before = pods.lab.offset_records(name)
    dry = penstock(pods, "alter", resource, "--offsets", "-", "--dry-run", stdin=offsets)
    assert dry.returncode == 0
    assert dry.stdout.splitlines() == [
        "PARTITION     BEFORE    AFTER",
        '{"p":"a0"}    {"i":1}   {"i":0}',
        '{"p":"new"}   none      {"i":5}',
    ]
    unasked = penstock(pods, "reset", resource)
    assert (unasked.returncode, unasked.stdout.splitlines()[1]) == (2, '{"p":"a0"}   {"i":1}   none')
    assert "--yes: is missing" in unasked.stderr
    assert pods.lab.journal.of("asked") == []
    assert pods.lab.offset_records(name) == before


def test_a_task_that_is_live_by_the_status_topic_refuses_it_and_force_passes_that_over_with_a_warning(
    pods: Pods,
) -> None:
    resource = source(pods, pods.lab.topic())
    name = run_source(pods, resource)
    state = task_status(name, 0, State.RUNNING, worker_id="10.0.0.7:8083", generation=1, version=None)
    write(pods.lab.servers, STATUS, *state)
    beside = penstock(pods, "list", resource)
    assert beside.returncode == 0
    refused = penstock(pods, "reset", resource, "--yes")
    assert refused.returncode == 5
    assert f"must be in the STOPPED state before their offsets can be modified, but {name} is RUNNING at 10.0.0.7" in (
        refused.stderr
    )
    assert "were killed and none is still running, add --force" in refused.stderr
    assert live(pods, name)
    forced = penstock(pods, "reset", resource, "--yes", "--force")
    assert forced.returncode == 0, forced.stderr
    assert "warning: Connectors must be in the STOPPED state" in forced.stderr
    assert not live(pods, name)


def test_a_connector_that_an_operator_has_is_left_to_its_annotations(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic())
    name = run_source(pods, resource)
    claim = Claim(
        connector_uid="u",
        namespace="shop",
        name="in",
        created="2026-01-01T00:00:00Z",
        operator="penstock/penstock",
        cluster="c",
        installation="i",
    )
    write(pods.lab.servers, STATUS, claim_key(name), claim.to_value())
    refused = penstock(pods, "alter", resource, "--offsets", "-", "--yes", stdin=document(({"p": "a0"}, None)))
    assert refused.returncode == 5
    assert f"Connector shop/in of operator penstock/penstock uses the name {name} in Kafka" in refused.stderr
    assert "penstock.dev/alter-offsets" in refused.stderr
    assert live(pods, name)


def test_a_plugin_that_refuses_is_reported_without_secrets_and_ends_with_1(pods: Pods, tmp_path: Path) -> None:
    (tmp_path / "secrets" / "db").mkdir(parents=True)
    (tmp_path / "secrets" / "db" / "pw").write_text("hunter22")
    config = {"pw": "${secret:db:pw}"}
    resource = source(pods, pods.lab.topic(), config=config, **{"class": "altering_source:Refusing"})
    offsets = document(({"p": "hunter22"}, {"i": 0}))
    arguments = ("--offsets", "-", "--yes", "--secrets", str(tmp_path / "secrets"))
    refused = penstock(pods, "alter", resource, *arguments, stdin=offsets)
    assert refused.returncode == 1, refused.stderr
    assert "penstock: offsets are kept elsewhere" in refused.stderr
    assert "hunter22" not in refused.stderr


def test_every_error_of_the_document_is_reported_before_anything_is_done(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic())
    wrong = penstock(pods, "alter", resource, "--offsets", "-", "--yes", stdin=document((None, {}), ({"p": []}, {})))
    assert wrong.returncode == 2
    assert "offsets[0].partition: Partition objects cannot be null" in wrong.stderr
    assert "offsets[1].partition: Offsets may only contain primitive types" in wrong.stderr


def test_members_of_a_sinks_group_refuse_it_as_documented(pods: Pods) -> None:
    topic = pods.lab.topic()
    resource = sink(pods, topic)
    with pods.lab.member(f"connect-shop.{resource['metadata']['name']}", topic):
        refused = penstock(pods, "reset", resource, "--dry-run")
    assert refused.returncode == 1
    assert "has members, somebody-else at 127.0.0.1" in refused.stderr


@pytest.mark.slow
def test_what_kafkas_client_says_of_a_secret_is_hidden(pods: Pods, tmp_path: Path) -> None:
    (tmp_path / "secrets" / "db").mkdir(parents=True)
    (tmp_path / "secrets" / "db" / "host").write_text("hunter22.invalid")
    resource = sink(pods, "t", **{"consumer.override.bootstrap.servers": "${secret:db:host}:9"})
    failed = penstock(pods, "list", resource, "--secrets", str(tmp_path / "secrets"))
    assert failed.returncode == 5
    assert "${secret:db:host}" in failed.stderr
    assert "hunter22" not in failed.stderr


def test_a_document_with_the_mark_that_windows_begins_a_file_with_is_read(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic())
    offsets = document(({"p": "Zürich"}, {"i": 0}))
    dry = penstock(pods, "alter", resource, "--offsets", "-", "--dry-run", stdin=f"\ufeff{offsets}")
    assert dry.returncode == 0, dry.stderr
    assert '{"p":"Zürich"}' in dry.stdout
    assert "has no records of" in dry.stderr
    assert "pass that one with --worker" in dry.stderr


def asked(pods: Pods, resource: dict[str, Any]) -> tuple["subprocess.Popen[bytes]", int]:
    """A reset on a terminal, at its question; what is typed there."""
    file = pods.folder / "connector.yaml"
    file.write_text(json.dumps(resource))
    terminal, its = pty.openpty()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "penstock_cli",
            "offsets",
            "reset",
            file,
            "--bootstrap-servers",
            pods.lab.servers,
        ],
        stdin=its,
        stdout=its,
        stderr=its,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PLUGINS), os.environ.get("PYTHONPATH", "")])},
    )
    os.close(its)
    shown = b""
    while b"[y/N] " not in shown:
        shown += os.read(terminal, 1000)
    assert shown.index(b"BEFORE") < shown.index(b"1 position to reset (topic") < shown.index(b"Reset these offsets?")
    return process, terminal


@pytest.mark.slow
@pytest.mark.parametrize("answer", [b"n\n", b"\x04", None], ids=["no", "end", "interrupt"])
def test_it_asks_on_a_terminal_and_without_a_yes_does_nothing(pods: Pods, answer: bytes | None) -> None:
    resource = source(pods, pods.lab.topic())
    name = run_source(pods, resource)
    process, terminal = asked(pods, resource)
    if answer is None:
        process.send_signal(signal.SIGINT)
    else:
        os.write(terminal, answer)
    said = os.read(terminal, 1000)
    while b"Nothing was done." not in said:
        said += os.read(terminal, 1000)
    assert b"Traceback" not in said
    assert process.wait(30) == 1
    os.close(terminal)
    assert live(pods, name)


@pytest.mark.slow
def test_a_start_while_it_asks_makes_a_yes_void(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic())
    name = run_source(pods, resource)
    process, terminal = asked(pods, resource)
    assert pods.answer(Action.PLAN, resource, prepare=True).epoch is not None
    os.write(terminal, b"y\n")
    said = os.read(terminal, 1000)
    while b"was started since this was requested" not in said:
        said += os.read(terminal, 1000)
    assert process.wait(30) == 3
    os.close(terminal)
    assert live(pods, name)


@pytest.mark.slow
def test_a_reader_of_the_table_that_leaves_keeps_nothing_from_being_done(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic())
    name = run_source(pods, resource)
    file = pods.folder / "connector.yaml"
    file.write_text(json.dumps(resource))
    reader, writer = os.pipe()
    os.close(reader)
    options = [str(file), "--bootstrap-servers", pods.lab.servers, "--yes"]
    done = subprocess.run(
        [sys.executable, "-m", "penstock_cli", "offsets", "reset", *options],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PLUGINS), os.environ.get("PYTHONPATH", "")])},
    )
    os.close(writer)
    assert done.returncode == 0, done.stderr
    assert "Exception" not in done.stderr
    assert live(pods, name) == {}


@pytest.mark.slow
def test_during_a_run_it_is_refused_and_after_its_end_or_its_kill_and_force_it_continues_from_there(pods: Pods) -> None:
    topic = pods.lab.topic()
    name = new_name("in")
    config = {"value.converter": "JsonConverter", "topic": topic, "count": 50, "rate": 0}
    resource = manifest(name, "Datagen", config)
    back = document(({"datagen": "orders", "partition": 0}, {"count": 40}))

    def altered(*more: str) -> "subprocess.CompletedProcess[str]":
        return penstock(pods, "alter", resource, "--offsets", "-", "--yes", *more, stdin=back)

    run = pods.lab.processes.run([resource], pods.lab.servers)
    until(lambda: len(pods.lab.values(topic)) == 50, what=run.last_words)
    assert altered().returncode == 5
    run.stop()
    assert altered().returncode == 0
    run = pods.lab.processes.run([resource], pods.lab.servers)
    until(lambda: len(pods.lab.values(topic)) == 60, what=run.last_words)
    run.kill_all()
    assert altered().returncode == 5
    done = altered("--force")
    assert done.returncode == 0, done.stderr
    run = pods.lab.processes.run([resource], pods.lab.servers)
    until(lambda: len(pods.lab.values(topic)) == 70, what=run.last_words)
    run.stop()


@pytest.mark.slow
def test_a_task_of_before_is_fenced_by_a_forced_change(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic())
    task = started(pods, resource)
    pods.lab.journal.count("commit", 2)
    assert penstock(pods, "reset", resource, "--yes", "--force").returncode == 0
    assert task.process.await_exit() == 3
