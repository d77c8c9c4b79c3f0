"""FileStreamSource and FileStreamSink without `file`: standard input and standard output."""

import json
import subprocess
from typing import Any

import pytest

from ..lab import STRING, Lab
from ..running import Processes, Running, manifest, new_name
from ..sink.test_spark import BACKLOG, fill, gate


def printed(run: Running) -> list[str]:
    """What was written to standard output, which is the log."""
    lines = [json.loads(line) for line in run.log_text().rpartition("\n")[0].splitlines() if line.startswith("{")]
    return [line["message"] for line in lines if line.get("logger") == "output.stdout"]


def source(name: str, topic: str, **more: Any) -> dict[str, Any]:
    return manifest(name, "FileStreamSource", {**STRING, "topic": topic}, **more)


def test_lines_of_a_pipe_come_out_on_standard_output_and_its_end_is_not_that_of_the_run(lab: Lab) -> None:
    topic, name = lab.topic(), new_name("in")
    sink = manifest(new_name("out"), "FileStreamSink", {**STRING, "topics": topic})
    run = lab.processes.run([source(name, topic), sink], lab.servers, stdin=subprocess.PIPE)
    run.await_log("is RUNNING")
    typed = run.process.stdin
    assert typed is not None
    typed.write(b"a\nb\nno line")
    typed.flush()
    run.await_log('"message": "b"')
    assert printed(run) == ["a", "b"]
    typed.write(b" yet\n")
    typed.close()
    run.await_log("Standard input is at its end")
    run.await_log("no line yet")
    assert run.process.poll() is None
    run.stop(seconds=20)
    assert lab.values(topic) == printed(run) == ["a", "b", "no line yet"]
    assert {r.key for r in lab.offset_records(name)} == {f'["{name}",{{"filename":null}}]'.encode()}
    assert [*map(str, lab.offsets(name))][-1] == "{'position': None}"
    assert "file: is not set, so standard input is read, which is always empty in a pod" in run.log_text()


def test_an_input_that_is_silent_does_not_hold_up_the_end(lab: Lab) -> None:
    run = lab.processes.run([source(new_name(), lab.topic())], lab.servers, stdin=subprocess.PIPE)
    run.await_log("is RUNNING")
    run.stop(seconds=10)


def test_two_that_would_share_the_input_are_refused(kafka: str, processes: Processes) -> None:
    run = processes.run([source("one", "t"), source("two", "t")], kafka, stdin=subprocess.PIPE)
    assert run.await_exit() == 2
    assert "file: is not set, so the task reads standard input, which one-0 already reads" in run.log_text()


@pytest.mark.slow
def test_a_backlog_is_printed_once_and_in_order_though_it_was_staged_in_parts(lab: Lab) -> None:
    topic, name = lab.topic(), new_name("staged")
    lab.produce(topic, "first")
    with gate(lab, topic):
        _, task = lab.start(manifest(name, "FileStreamSink", {**STRING, "topics": topic}, spark="Eager"))
        task.await_log("Spark is up")
        shown = fill(lab, topic, 0, BACKLOG, transactional=False)
    lab.wait_committed(name, topic, 2 + BACKLOG + 1)
    assert printed(task) == ["first", "gate", *map(str, shown)]
    task.await_batch_on_spark()
    task.stop()
