"""A plugin that ends the process has failed, whatever exit code it chose: nobody asked for a stop."""

import pytest

from penstock_model.contracts.exit_codes import ExitCode

from ..lab import STRING, Lab
from ..running import Running, manifest, new_name


def source(lab: Lab, topic: str, ends: str, how: str = "0") -> tuple[str, Running]:
    config = {**STRING, "topic": topic, "ends": ends, "how": how}
    return lab.start(manifest(new_name(), "exiting:ExitingSource", config))


def sink(lab: Lab, topic: str, **config: str) -> tuple[str, Running]:
    return lab.start(manifest(new_name(), "exiting:ExitingSink", {**STRING, "topics": topic, **config}))


def failed(task: Running) -> str:
    """The error of a task that has failed."""
    assert task.await_exit() == ExitCode.FAILED
    return str(task.failure)


@pytest.mark.parametrize("code", [0, 2, 3, 5])
def test_a_source_that_calls_sys_exit_has_failed_where_it_did_and_what_it_read_before_is_there(
    lab: Lab, code: int
) -> None:
    topic = lab.topic()
    name, task = source(lab, topic, "read", str(code))
    text = failed(task)
    assert f"raised SystemExit({code})" in text
    assert "end (exiting.py, line " in text
    assert lab.values(topic) == ["r0", "r1", "r2"]
    assert lab.offsets(name)[-1] == {"i": 3}
    assert lab.status(f"status-task-{name}-0")[-1]["state"] == "FAILED"


def test_the_place_that_is_reported_is_that_of_the_plugin_not_of_the_library_that_it_called(lab: Lab) -> None:
    _, task = source(lab, lab.topic(), "start", "parser")
    text = failed(task)
    assert "end (exiting.py, line " in text
    assert "raised SystemExit(2)" in text


def test_a_writer_that_calls_sys_exit_has_failed_and_the_message_names_its_records(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "first", "last")
    name, task = sink(lab, topic, ends="write")
    text = failed(task)
    assert "raised SystemExit(0)" in text
    assert topic in text
    assert lab.committed(name, topic) is None


def test_a_commit_that_calls_sys_exit_has_failed(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "first")
    name, task = sink(lab, topic, ends="commit")
    assert "raised SystemExit(0)" in failed(task)
    assert lab.committed(name, topic) is None


def test_a_transform_that_calls_sys_exit_fails_the_task_also_where_records_may_fail(lab: Lab) -> None:
    topic = lab.topic()
    lab.produce(topic, "first", "last")
    own = {"transforms": "x", "transforms.x.type": "exiting:Exiting", "transforms.x.ends": "apply"}
    name, task = sink(lab, topic, **own, **{"errors.tolerance": "all"})
    assert "raised SystemExit(0)" in failed(task)
    assert lab.committed(name, topic) is None


def test_a_source_that_calls_sys_exit_when_it_stops_has_failed(lab: Lab) -> None:
    topic = lab.topic()
    _, task = source(lab, topic, "stop")
    task.await_state("RUNNING")
    task.terminate()
    assert "raised SystemExit(0)" in failed(task)


def test_a_run_says_that_a_task_ended_in_the_middle_of_its_work(lab: Lab) -> None:
    config = {**STRING, "topic": lab.topic(), "ends": "read", "how": "os"}
    resource = manifest(new_name(), "exiting:ExitingSource", config)
    resource["spec"]["restart"] = {"policy": "Never"}
    run = lab.processes.run([resource], lab.servers)
    assert run.await_exit() == ExitCode.FAILED
    assert "the process exited with code 0 before its work was done" in run.log_text()
