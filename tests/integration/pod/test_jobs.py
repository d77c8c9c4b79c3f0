"""A short pod's answers: plans, epochs, resets."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock_kafka.murmur2 import partition_of
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_model.contracts.task_spec import TaskSpec, TaskState
from penstock_runtime.process.termination_message import TERMINATION_LOG_VARIABLE

from ..pods import Pods, pods, shown, write
from ..running import PLUGINS, new_name, until
from ..survives.test_new_partitions import GROWN, grow

__all__ = ["pods"]

STRING = {"key.converter": "StringConverter", "value.converter": "StringConverter"}


_STOPPED = """import os, signal, time

from penstock_plugins.connectors.datagen.source import Datagen

class Source(Datagen):
    def task_configs(self, config, properties, max_tasks):
        os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)
"""


def source(pods: Pods, topic: str, **spec: Any) -> dict[str, Any]:
    config = {**STRING, "journal": pods.lab.journal.path, "script": json.dumps([["a"], ["b"]]), "topic": topic}
    return shown(
        new_name(),
        "shop",
        **{"class": "scripted_sources:ScriptedSource", **spec, "config": config | spec.get("config", {})},
    )


def sink(pods: Pods, topic: str, **config: Any) -> dict[str, Any]:
    given = {**STRING, "journal": pods.lab.journal.path, "topics": topic, **config}
    return shown(new_name(), "shop", **{"class": "scripted_sinks:RecordingSink", "config": given})


def alive(spec: TaskSpec, epoch: PlanEpoch | None, incarnation: int = 1) -> TaskSpec:
    assert epoch is not None
    return spec.for_incarnation(generation=epoch.generation, plan=epoch.plan, incarnation=incarnation, token="t")


def problems(answer: JobAnswer) -> list[str]:
    return [str(p) for p in answer.problems]


def test_a_plan_holds_tasks_that_are_not_alive_and_equal_plans_are_equal_bytes(pods: Pods) -> None:
    resource = source(pods, "t", tasksMax=2, config={"tasks": 2})
    first, second = pods.answer(Action.PLAN, resource), pods.answer(Action.PLAN, resource)
    assert first.outcome is Outcome.DONE
    assert first.plan is not None
    assert (first.plan.kind, first.plan.class_name, first.plan.exactly_once) == ("source", "ScriptedSource", True)
    assert first.epoch is None
    assert [(t.task, t.tasks, t.generation, t.incarnation, t.plan, t.token) for t in first.plan.tasks] == [
        (0, 2, 0, 0, "", ""),
        (1, 2, 0, 0, "", ""),
    ]
    assert second.plan is not None
    assert [t.to_json() for t in first.plan.tasks] == [t.to_json() for t in second.plan.tasks]


def test_a_connector_that_is_stopped_or_paused_is_planned_like_one_that_runs(pods: Pods) -> None:
    for state in ("Stopped", "Paused"):
        plan = pods.answer(Action.PLAN, source(pods, "t", state=state)).plan
        assert plan is not None
        assert [t.state for t in plan.tasks] == [TaskState.RUNNING]


def test_everything_that_is_wrong_is_reported_together_also_where_kafka_is_unavailable(pods: Pods) -> None:
    resource = source(pods, "t", tasksMax="two", config={"value.converter": "Nope", "transforms": "x"})
    job = pods.job(
        Action.PLAN,
        resource,
        prepare=True,
        worker={"bootstrap.servers": "127.0.0.1:1", "status.storage.partitions": "many"},
    )
    answer = job.answer
    assert answer is not None
    assert answer.outcome is Outcome.INVALID
    assert {p.property for p in answer.problems} == {
        "spec.tasksMax",
        "value.converter",
        "transforms.x.type",
        "worker configuration, status.storage.partitions",
    }
    assert "spec.tasksMax" in job.word


def test_a_plan_that_no_config_map_holds_is_refused_with_what_to_do(pods: Pods) -> None:
    resource = source(pods, "t", tasksMax=100, config={"tasks": 100, "x.env": "x" * 10_000})
    answer = pods.answer(Action.PLAN, resource)
    assert answer.outcome is Outcome.INVALID
    assert "lower spec.tasksMax" in problems(answer)[0]


def test_a_request_of_another_version_is_the_last_word_and_no_answer(pods: Pods, tmp_path: Path) -> None:
    file, log = tmp_path / "request.json", tmp_path / "word"
    file.write_text('{"apiVersion":"penstock.dev/job/v9"}')
    done = subprocess.run(
        [sys.executable, "-m", "penstock_runtime.job", str(file)],
        capture_output=True,
        check=False,
        env={"PYTHONPATH": str(PLUGINS), TERMINATION_LOG_VARIABLE: str(log)},
    )
    assert (done.returncode, done.stdout) == (ExitCode.CONFIG_INVALID, b"")
    word = TerminationMessage.of(log.read_bytes())
    assert word is not None
    assert "cannot be read as a job of this version" in str(word.message)


def test_a_job_that_is_stopped_says_where_in_the_plugin_it_was(pods: Pods, tmp_path: Path) -> None:
    (tmp_path / "stopped.py").write_text(_STOPPED)
    resource = shown(new_name(), "shop", **{"class": "stopped:Source", "config": {"topic": "t"}})
    job = pods.job(Action.PLAN, resource, env={"PYTHONPATH": f"{PLUGINS}:{tmp_path}"})
    word = TerminationMessage.of(job.word.encode())
    assert (job.code, job.answer) == (143, None)
    assert word is not None
    assert word.trouble == "Source.task_configs (stopped.py, line 7)"


@pytest.mark.slow
def test_preparing_shuts_out_a_running_task_of_the_plan_before(pods: Pods) -> None:
    topic = pods.lab.topic()
    resource = source(pods, topic)
    first = pods.answer(Action.PLAN, resource, prepare=True)
    assert first.plan is not None
    (spec,) = first.plan.tasks
    task = pods.task(alive(spec, first.epoch))
    task.await_report("RUNNING")
    again = pods.answer(Action.PREPARE, resource, task=spec)
    assert again.epoch is not None
    assert first.epoch is not None
    assert again.epoch.generation > first.epoch.generation
    assert task.process.await_exit() == ExitCode.SUPERSEDED


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sink", "at-least-once source"])
def test_preparing_shuts_out_tasks_that_are_not_fenced_too(pods: Pods, kind: str) -> None:
    topic, more = pods.lab.topic(), {"delivery.guarantee": "at-least-once"}
    resource = sink(pods, topic) if kind == "sink" else source(pods, topic, config=more)
    first = pods.answer(Action.PLAN, resource, prepare=True)
    assert first.plan is not None
    task = pods.task(alive(first.plan.tasks[0], first.epoch))
    task.await_report("RUNNING")
    second = pods.answer(Action.PREPARE, resource, task=first.plan.tasks[0])
    assert first.epoch is not None
    assert second.epoch is not None
    assert second.epoch.generation > first.epoch.generation
    assert task.process.await_exit() == ExitCode.SUPERSEDED


# Reset


def started(pods: Pods, resource: dict[str, Any], **more: Any) -> Any:
    answer = pods.answer(Action.PLAN, resource, prepare=True, **more)
    assert answer.plan is not None, answer
    return pods.task(alive(answer.plan.tasks[0], answer.epoch))


@pytest.mark.slow
@pytest.mark.parametrize("went_on", [True, False], ids=["it went on", "it was reset by key"])
def test_a_reset_reaches_every_partition_of_an_offsets_topic_that_grew(pods: Pods, went_on: bool) -> None:
    own, topic = pods.lab.topic("own", cleanup_policy="compact"), pods.lab.topic()
    resource = source(pods, topic, config={"offsets.storage.topic": own})
    name = f"shop.{name_that_moves()}"
    resource["metadata"]["name"] = name.removeprefix("shop.")
    key = offset_key(name)
    pods.lab.produce(own, '{"i":0}', key=key)
    grow(pods.lab.servers, own)
    if went_on:
        task = started(pods, resource)
        pods.lab.journal.count("commit", 1)
        task.process.stop()
        assert live_offsets(pods, name, own) == {0: b'{"i":0}', partition_of(key, GROWN): b'{"i":1}'}
    else:
        pods.lab.produce(own, None, key=key, partition=partition_of(key, GROWN))
    assert pods.answer(Action.RESET_OFFSETS, resource).outcome is Outcome.DONE
    assert live_offsets(pods, name, own) == {}
    written = len(pods.lab.offset_records(name, own))
    assert pods.answer(Action.RESET_OFFSETS, resource).outcome is Outcome.DONE
    assert len(pods.lab.offset_records(name, own)) == written
    before = len(pods.lab.values(topic))
    task = started(pods, resource)
    until(lambda: pods.lab.values(topic)[before:] == ["a", "b"])
    task.process.stop()


def offset_key(name: str) -> bytes:
    return f'["{name}",{{"p":"a0"}}]'.encode()


def name_that_moves() -> str:
    """A name whose offset lies in another partition than the first once there are more."""
    return next(n for n in iter(new_name, "") if partition_of(offset_key(f"shop.{n}"), GROWN) != 0)


def live_offsets(pods: Pods, name: str, topic: str) -> dict[int, bytes]:
    """By partition of the topic, what its compaction leaves in the end of the only key."""
    last = {r.partition: r.value for r in pods.lab.offset_records(name, topic)}
    return {partition: value for partition, value in last.items() if value is not None}


@pytest.mark.slow
def test_a_connector_whose_plugin_is_gone_is_reset_by_name(pods: Pods) -> None:
    topic = pods.lab.topic()
    pods.lab.produce(topic, "a")
    resource = sink(pods, topic)
    task = started(pods, resource)
    name = task.spec.connector
    pods.lab.wait_committed(name, topic, 1)
    task.process.stop()
    write(pods.lab.servers, "connect-offsets", f'["{name}",{{"p":"a0"}}]'.encode(), b'{"i":7}')
    resource["spec"]["class"] = "GoneSink"
    answer = pods.answer(Action.RESET_OFFSETS, resource)
    assert answer.outcome is Outcome.DONE
    assert "reset by name" in answer.warnings[0].message
    assert "GoneSink" in str(answer.warnings[1])
    assert pods.lab.committed(name, topic) is None
    assert pods.lab.offset_records(name)[-1].value is None


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sink", "source"])
def test_after_a_reset_no_task_of_before_writes_offsets(pods: Pods, kind: str) -> None:
    topic = pods.lab.topic()
    pods.lab.produce(topic, "a")
    resource = sink(pods, topic) if kind == "sink" else source(pods, topic, config={"script": json.dumps([["a"]])})
    task = started(pods, resource)
    pods.lab.journal.count("commit", 1)
    assert pods.answer(Action.RESET_OFFSETS, resource).outcome is Outcome.DONE
    assert task.process.await_exit() == ExitCode.SUPERSEDED


@pytest.mark.parametrize("action", list(Action))
def test_a_job_imports_no_spark(pods: Pods, action: Action) -> None:
    more: dict[str, Any] = {}
    resource = source(pods, pods.lab.topic())
    if action is Action.PREPARE:
        plan = pods.answer(Action.PLAN, resource).plan
        assert plan is not None
        more["task"] = plan.tasks[0]
    job = pods.job(action, resource, env={"PYTHONPROFILEIMPORTTIME": "1"}, **more)
    assert job.answer is not None
    assert "penstock_runtime" in job.stderr
    assert not [line for line in job.stderr.splitlines() if " pyspark" in line or " pyarrow" in line or " py4j" in line]


def test_a_plan_a_run_and_validate_warn_of_records_that_will_vanish(pods: Pods, tmp_path: Path) -> None:
    resource = sink(pods, pods.lab.topic(), **{"errors.tolerance": "all"})
    (warning,) = pods.answer(Action.PLAN, resource).warnings
    told = "errors.tolerance: failed records are skipped without a trace"
    assert str(warning).startswith(told)
    run = pods.lab.processes.run([resource], pods.lab.servers)
    assert json.loads(run.await_log(told))["level"] == "warning"
    run.stop()
    (tmp_path / "vanish.yaml").write_text(json.dumps(resource))
    done = subprocess.run(
        [sys.executable, "-m", "penstock_cli", "validate", str(tmp_path / "vanish.yaml")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(PLUGINS)},
    )
    assert told in done.stderr
    assert "valid (sink" in done.stdout


def test_a_preparation_continues_from_what_its_request_says_was_read(pods: Pods) -> None:
    resource = sink(pods, "t")
    task = pods.answer(Action.PLAN, resource, prepare=True).plan
    assert task is not None
    known = StatusSnapshot(topic_id="of a topic that is gone", ends=(1, 2), generation=5_000_000_000)
    for action, more in ((Action.PLAN, {"prepare": True}), (Action.PREPARE, {"task": task.tasks[0]})):
        epoch = pods.answer(action, resource, status=known, **more).epoch
        assert epoch is not None
        assert epoch.generation > known.generation
