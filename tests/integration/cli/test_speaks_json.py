"""What `penstock run` says where nobody sits at a terminal: JSON lines and nothing else, whoever speaks."""

import json
from pathlib import Path
from typing import Any

import pytest

from penstock_cli.embedded import EmbeddedKafka

from ..running import Processes, Running, manifest, new_name, until

FIELDS = {"time", "level", "message"}


def lines(run: Running) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in run.log_text().splitlines()]
    assert all(isinstance(line, dict) and line.keys() >= FIELDS for line in found)
    return found


@pytest.mark.slow
def test_every_line_is_json_through_a_dying_jvm_a_plugins_print_and_a_warning(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "lines").write_text("a\n")
    resource = manifest(
        new_name(),
        "noisy_source:Noisy",
        file=tmp_path / "lines",
        topic=topic,
        spark="Eager",
        restart={"policy": "Never"},
    )
    run = processes.run([resource], kafka, env={"PYTHONWARNINGS": "default"})
    run.await_log("Spark is up")
    run.jvms()[0].kill()
    run.await_log('"restarts": 1')
    run.stop()
    said = lines(run)
    for text in ("a plain word", "old hat", "half a line", "is STOPPED"):
        assert [line for line in said if text in line["message"]], text
    foreign = [line for line in said if line.get("logger") in ("output.stdout", "output.stderr", "stderr")]
    assert {line["connector"] for line in foreign} == {resource["metadata"]["name"]}


def test_a_failure_is_reported_once_with_its_reason_and_the_last_line_says_it(
    kafka: str, topic: str, processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "lines").write_text("a\n")
    resource = manifest(
        new_name(),
        "FileStreamSource",
        file=tmp_path / "lines",
        topic=topic,
        value_converter="ByteArrayConverter",
        restart={"policy": "Never"},
    )
    run = processes.run([resource], kafka)
    assert run.await_exit() == 1, run.last_words()
    said = lines(run)
    failed = [line for line in said if line.get("state") == "FAILED"]
    assert len(failed) == 1, said
    assert failed[0]["error"].endswith("failed; spec.restart.policy is Never")
    assert said[-1]["message"].endswith(failed[0]["error"])
    assert said[-1]["level"] == "error"
    assert len([line for line in said if "trace" in line]) == 1


def test_configuration_errors_are_lines_too(kafka: str, processes: Processes) -> None:
    run = processes.run([manifest(new_name(), "NoSuchThing", topic="t")], kafka)
    assert run.await_exit() == 2
    assert [line["level"] for line in lines(run)]


def test_a_secrets_folder_that_does_not_exist_is_said_in_one_line_before_anything_starts(
    kafka: str, processes: Processes, tmp_path: Path
) -> None:
    resource = manifest(new_name(), "FileStreamSource", file=tmp_path / "lines", topic="t")
    run = processes.run([resource], None, "--data-dir", str(tmp_path / "data"), "--secrets", str(tmp_path / "none"))
    assert run.await_exit() == 2
    (line,) = lines(run)
    assert f"--secrets: {tmp_path / 'none'} is not a folder" in line["message"]
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_a_trouble_that_is_over_is_gone(kafka: str, topic: str, processes: Processes, tmp_path: Path) -> None:
    file, out = tmp_path / "lines", tmp_path / "out"
    sink = manifest(new_name(), "FileStreamSink", file=out, topics=topic, value_converter="StringConverter")
    run = processes.run([sink], kafka)
    run.await_log(f"Waiting for topics that do not exist, or that may not be read: {topic}")
    file.write_text("a\n")
    source = manifest(new_name(), "FileStreamSource", file=file, topic=topic, value_converter="StringConverter")
    other = processes.run([source], kafka)
    until(lambda: out.exists() and out.read_text() == "a\n", what=run.last_words)
    run.stop()
    other.stop()
    assert "error" not in lines(run)[-1]


@pytest.mark.slow
def test_a_kafka_that_is_unavailable_is_reported_with_the_state_for_as_long_as_it_is(
    own_kafka: EmbeddedKafka, processes: Processes, tmp_path: Path
) -> None:
    file = tmp_path / "lines"
    file.write_text("a\n")
    run = processes.run([manifest(new_name(), "FileStreamSource", file=file, topic="t")], own_kafka.bootstrap_servers)
    run.await_log('"records": 1')
    own_kafka.kill()
    with file.open("a") as more:
        more.write("b\n")
    until(lambda: [x for x in events(run) if "_TRANSPORT" in x.get("error", "") or "DOWN" in x.get("error", "")])
    assert events(run)[-1]["state"] == "RUNNING"
    own_kafka.start()
    until(lambda: events(run)[-1]["records"] == 2 and "error" not in events(run)[-1], what=run.last_words)
    run.stop()
    assert len(lines(run)) < 60  # a client repeats itself twice a second


def events(run: Running) -> list[dict[str, Any]]:
    whole = run.log_text().rpartition("\n")[0].splitlines()
    return [line for line in map(json.loads, whole) if line.get("event") == "task"]
