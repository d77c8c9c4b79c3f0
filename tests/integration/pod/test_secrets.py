"""A secret is planted, plugins tell it wherever they can, and it is looked for in all that leaves a pod."""

import base64
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka.admin import AdminClient

from penstock_cli.embedded import EmbeddedKafka
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_model.contracts.task_spec import TaskSpec

from ..journal import Journal
from ..lab import Lab
from ..pods import Pods, pods, shown
from ..reading import read_all
from ..running import Processes, new_name, until
from ..sink.test_spark import fill, gate

__all__ = ["pods"]

STRING: Final = {"key.converter": "StringConverter", "value.converter": "StringConverter"}


class Planted:
    """A secret in a folder as Kubernetes mounts it."""

    def __init__(self, folder: Path) -> None:
        self.value = f"s3cr/t+{uuid.uuid4().hex}"
        self.folder = folder
        (folder / "db").mkdir(parents=True)
        (folder / "db" / "password").write_text(f"{self.value}\n")

    def forms(self) -> Iterator[bytes]:
        """As it may stand somewhere; parts of it too."""
        yield self.value.encode()
        yield self.value[7:].encode()
        yield base64.b64encode(self.value.encode())[:-4]
        yield base64.b64encode(f"user:{self.value}".encode())[8:-4]

    def absent_in(self, *texts: str | bytes) -> None:
        """AssertionError where any form of it is found."""
        for text in texts:
            data = text.encode() if isinstance(text, str) else text
            for form in self.forms():
                assert form not in data, data


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return Planted(tmp_path / "secrets")


def telling(pods: Pods, where: str, **config: str) -> dict[str, Any]:
    given = {**STRING, "topic": pods.lab.topic(), "tell": where, "password": "${secret:db:password}", **config}
    spec: dict[str, Any] = {"class": "leaking_source:Leaking", "config": given}
    return shown(new_name(), **spec)


def whole_kafka(pods: Pods) -> Iterator[bytes]:
    """Every key, value and header of every topic."""
    topics = AdminClient({"bootstrap.servers": pods.lab.servers}).list_topics(timeout=30).topics
    for topic in topics:
        for record in read_all(pods.lab.servers, topic, isolation="read_uncommitted"):
            yield from (part for part in (record.key, record.value, *(v for _, v in record.headers)) if part)


def asked(pods: Pods, planted: Planted, action: Action, resource: dict[str, Any], **more: Any) -> JobAnswer:
    job = pods.job(action, resource, secrets=planted.folder, **more)
    assert job.answer is not None, job.stderr
    planted.absent_in(job.stdout, job.stderr, job.word)
    return job.answer


def planned(pods: Pods, planted: Planted, resource: dict[str, Any]) -> TaskSpec:
    """The connector's only task, in its first life."""
    answer = asked(pods, planted, Action.PLAN, resource, prepare=True)
    assert answer.plan is not None
    assert answer.epoch is not None
    (spec,) = answer.plan.tasks
    return spec.for_incarnation(generation=answer.epoch.generation, plan=answer.epoch.plan, incarnation=1, token="t")


@pytest.mark.parametrize("where", ["validate", "task_configs"])
def test_a_plugin_that_reports_its_secret_when_it_is_asked_is_quoted_without_it(
    pods: Pods, planted: Planted, where: str
) -> None:
    answer = asked(pods, planted, Action.PLAN, telling(pods, where), prepare=True)
    assert answer.outcome is Outcome.INVALID
    assert "${secret:db:password}" in str(answer.problems)


def test_a_plugin_that_refuses_a_reset_is_quoted_without_its_secret(pods: Pods, planted: Planted) -> None:
    answer = asked(pods, planted, Action.RESET_OFFSETS, telling(pods, "alter_offsets"))
    assert answer.outcome is Outcome.REFUSED
    assert "${secret:db:password}" in answer.message


def test_a_secret_that_is_copied_encoded_is_refused(pods: Pods, planted: Planted) -> None:
    answer = asked(pods, planted, Action.PLAN, telling(pods, "encoded"))
    assert answer.outcome is Outcome.INVALID
    assert [p.property for p in answer.problems] == ["encoded"]


def literal(pods: Pods, planted: Planted, where: str) -> dict[str, Any]:
    """A connector whose password stands in it as it is, and in no Secret."""
    (planted.folder / "db" / "password").write_text("another one\n")
    return telling(pods, where, password="", token=planted.value)


@pytest.mark.parametrize("where", ["", "copy", "print"])
def test_a_password_that_is_in_the_connector_is_in_no_log_and_reaches_its_task(
    pods: Pods, planted: Planted, where: str
) -> None:
    answer = asked(pods, planted, Action.PLAN, literal(pods, planted, where))
    assert answer.plan is not None
    config = answer.plan.tasks[0].config
    assert config["token"] == planted.value
    if where == "copy":
        assert (config["copied"], config["url"]) == (planted.value, f"jdbc://user:{planted.value}@db/x")


@pytest.mark.parametrize("where", ["validate", "task_configs"])
def test_a_plugin_that_reports_a_password_of_the_connector_is_quoted_without_it(
    pods: Pods, planted: Planted, where: str
) -> None:
    answer = asked(pods, planted, Action.PLAN, literal(pods, planted, where))
    assert answer.outcome is Outcome.INVALID
    planted.absent_in(answer.model_dump_json())


def test_a_password_of_the_connector_that_is_copied_encoded_is_refused(pods: Pods, planted: Planted) -> None:
    answer = asked(pods, planted, Action.PLAN, literal(pods, planted, "encoded"))
    assert answer.outcome is Outcome.INVALID
    assert [p.property for p in answer.problems] == ["encoded"]


def test_a_password_that_is_in_the_connector_is_a_warning_that_names_what_to_write(
    pods: Pods, planted: Planted
) -> None:
    answer = asked(pods, planted, Action.PLAN, literal(pods, planted, ""))
    (told,) = [w.message for w in answer.warnings if w.property == "token"]
    assert "${secret:<name>:<key>}" in told
    answer = asked(pods, planted, Action.PLAN, telling(pods, "", token="${secret:db:password}"))
    assert "token" not in [w.property for w in answer.warnings]


@pytest.mark.slow
def test_a_task_that_fails_with_a_password_of_the_connector_reports_it_nowhere(
    own_kafka: EmbeddedKafka, processes: Processes, journal: Journal, tmp_path: Path, planted: Planted
) -> None:
    pods = Pods(Lab(own_kafka.bootstrap_servers, processes, journal), tmp_path)
    for where in ("start", "config"):
        task = pods.task(planned(pods, planted, literal(pods, planted, where)))
        assert task.process.await_exit() in (ExitCode.FAILED, ExitCode.CONFIG_INVALID)
        word = task.last_word()
        planted.absent_in(word.to_value(), task.process.log_text(), json.dumps(task.process.events))
        assert "[hidden]" in str(task.await_report("FAILED").message)
        task.close()
    planted.absent_in(*whole_kafka(pods))


def test_what_a_plugin_prints_in_a_job_is_no_answer_and_holds_no_secret(pods: Pods, planted: Planted) -> None:
    job = pods.job(Action.PLAN, telling(pods, "print"), secrets=planted.folder)
    assert job.answer is not None
    assert job.answer.outcome is Outcome.DONE
    assert job.stdout.startswith("penstock-answer: ")
    assert "printed ${secret:db:password}" in job.stderr
    planted.absent_in(job.stdout, job.stderr, job.word)


@pytest.mark.slow
def test_a_task_that_fails_with_its_secret_reports_it_nowhere(
    own_kafka: EmbeddedKafka, processes: Processes, journal: Journal, tmp_path: Path, planted: Planted
) -> None:
    pods = Pods(Lab(own_kafka.bootstrap_servers, processes, journal), tmp_path)
    for where in ("start", "read", "config"):
        task = pods.task(planned(pods, planted, telling(pods, where)))
        assert task.process.await_exit() in (ExitCode.FAILED, ExitCode.CONFIG_INVALID)
        word = task.last_word()
        assert "${secret:db:password}" in str(word.message)
        planted.absent_in(word.to_value(), task.process.log_text(), json.dumps(task.process.events))
        assert "${secret:db:password}" in str(task.await_report("FAILED").message)
        task.close()
    planted.absent_in(*whole_kafka(pods))


@pytest.mark.slow
def test_what_a_plugin_prints_in_a_worker_of_spark_holds_no_secret(pods: Pods, planted: Planted) -> None:
    lab, topic = pods.lab, pods.lab.topic("t", 2)
    given = {
        **STRING,
        "topics": topic,
        "password": "${secret:db:password}",
        "consumer.override.max.poll.records": "1000",
    }
    spec: dict[str, Any] = {"class": "leaking_sink:Leaking", "config": given, "spark": {"start": "Eager"}}
    resource = shown(new_name(), **spec)
    spec_of_task = planned(pods, planted, resource)
    with gate(lab, topic):
        task = pods.task(spec_of_task)
        task.process.await_log("Spark is up")
        for partition in range(2):
            fill(lab, topic, partition, 100_000, transactional=False)
    told = until(lambda: [x for x in task.process.log_text().splitlines() if "complained" in x and '"worker"' in x])
    planted.absent_in(task.process.log_text(), json.dumps(task.process.events))
    line = json.loads(told[0])
    assert (line["logger"], line["task"]) == ("output.stderr", 0)
    assert line["message"] == f"complained ${{secret:db:password}} in {line['worker']}"
    assert f"printed ${{secret:db:password}} in {line['worker']}" in task.process.log_text()
    task.process.stop()
