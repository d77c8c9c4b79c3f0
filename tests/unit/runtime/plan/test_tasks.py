"""The plan: guarantees, policies, and what the tasks of a good configuration get."""

from pathlib import Path

import pytest

from penstock import ConfigError
from penstock_model.connect.variables import Secret
from penstock_model.contracts.task_spec import TaskSpec, TaskState
from penstock_model.resources.connector import Connector
from penstock_runtime.plan import plan
from penstock_runtime.plan.tasks import split_hash
from penstock_runtime.plan.worker_check import worker_from
from penstock_runtime.plugins.discovery import Plugins

from .planning import HOIST, SINK, SOURCE, planned, problems


@pytest.mark.parametrize(
    ("config", "worker", "cls", "messages"),
    [
        (
            {"exactly.once.support": "REQUIRED"},
            {"exactly.once.source.support": "disabled"},
            "Tables",
            ["This worker does not have exactly-once source support enabled."],
        ),
        (
            {"delivery.guarantee": "exactly-once"},
            {"exactly.once.source.support": "disabled"},
            "Tables",
            ["This worker does not have exactly-once source support enabled."],
        ),
        (
            {"exactly.once.support": "required"},
            {},
            "Unrepeatable",
            ["The connector does not support exactly-once semantics with the provided configuration."],
        ),
        (
            {"exactly.once.support": "required"},
            {"exactly.once.source.support": "disabled"},
            "Unrepeatable",
            [
                "This worker does not have exactly-once source support enabled.",
                "The connector does not support exactly-once semantics with the provided configuration.",
            ],
        ),
    ],
)
def test_exactly_once_that_cannot_be_had_is_refused(
    config: dict[str, str], worker: dict[str, str], cls: str, messages: list[str]
) -> None:
    found = problems({**SOURCE, **config}, worker, cls=cls)
    assert [told for _, told in found] == messages
    assert {name for name, _ in found} == set(config)


@pytest.mark.parametrize(
    ("config", "worker", "once"),
    [
        ({}, {}, True),
        ({"delivery.guarantee": "at-least-once"}, {}, False),
        ({}, {"exactly.once.source.support": "disabled"}, False),
        ({"exactly.once.support": "required"}, {"exactly.once.source.support": "ENABLED"}, True),
    ],
)
def test_sources_deliver_exactly_once_by_default(config: dict[str, str], worker: dict[str, str], once: bool) -> None:
    assert planned({**SOURCE, **config}, worker).exactly_once is once


def test_a_source_that_cannot_repeat_is_a_warning_where_nobody_insists() -> None:
    (warning,) = planned(SOURCE, cls="Unrepeatable").warnings
    assert warning.property == "delivery.guarantee"


def test_a_plugin_answers_for_the_configuration_that_it_is_given() -> None:
    log = {"table": "log", "exactly.once.support": "required"}
    assert planned(log, cls="Unrepeatable").warnings == ()
    broken = {"table": "log", "port": "0", "exactly.once.support": "required"}
    assert [name for name, _ in problems(broken, cls="Unrepeatable")] == ["port"]


@pytest.mark.parametrize(
    ("config", "refused"),
    [
        ({**SINK, "consumer.override.max.poll.records": "10"}, ["consumer.override.max.poll.records"]),
        ({**SINK, "producer.override.acks": "1"}, []),
        ({**SINK, "producer.override.acks": "1", "errors.deadletterqueue.topic.name": "d"}, ["producer.override.acks"]),
        ({**SOURCE, "producer.override.linger.ms": "1"}, ["producer.override.linger.ms"]),
        ({**SOURCE, "admin.override.retry.backoff.ms": "1"}, []),
        (
            {**SOURCE, "consumer.override.bootstrap.servers": "x:1", "offsets.storage.topic": "o"},
            ["consumer.override.bootstrap.servers"],
        ),
    ],
)
def test_the_policy_is_asked_about_the_clients_that_there_are(config: dict[str, str], refused: list[str]) -> None:
    worker = {"connector.client.config.override.policy": "None"}
    if refused:
        assert [name for name, _ in problems(config, worker)] == refused
        return
    found = planned(config, worker)
    assert [w.message.split(":")[0] for w in found.warnings] == ["has no effect"]
    assert not any(".override." in name for task in found.tasks for name in task.config)


def test_more_tasks_than_allowed_are_refused() -> None:
    ((name, told),) = problems({"table": "many"}, tasksMax=2)
    assert name == "spec.tasksMax"
    assert told.startswith(
        "The connector c has generated 5 tasks, which is greater than 2, the maximum number of tasks it is configured "
        "to create."
    )


@pytest.mark.parametrize(
    ("config", "cls", "part"), [(SINK, "Drain", "some of the topics"), (SOURCE, "Whole", "a part of the data")]
)
@pytest.mark.parametrize("state", ["Running", "Stopped"])
def test_tasks_that_a_plugin_never_makes_are_a_warning_that_says_what_to_do(
    config: dict[str, str], cls: str, part: str, state: str
) -> None:
    found = planned(config, cls=cls, tasksMax=3, state=state)
    assert len(found.tasks) == (state == "Running")
    (warning,) = found.warnings
    assert warning.property == "spec.tasksMax"
    assert warning.message == (
        f"has no effect above 1: {cls} always runs as one task, not as 3. Set it to 1. For more throughput, give its pod "
        f"more CPU, which one task uses for a backlog, or create several connectors, each with {part}."
    )
    assert planned(config, cls=cls, tasksMax=1, state=state).warnings == ()


@pytest.mark.parametrize("table", ["few", "t"])
def test_a_plugin_that_has_less_to_split_than_tasks_max_is_no_warning(table: str) -> None:
    assert planned({"table": table}, tasksMax=3).warnings == ()


@pytest.mark.parametrize(
    ("alias", "config"),
    [
        ("FileStreamSink", {"topics": "t", "file": "/tmp/f"}),
        ("SparkSink", {"topics": "t", "path": "/tmp/p"}),
        ("FileStreamSource", {"topic": "t", "file": "/tmp/f"}),
    ],
)
def test_the_built_in_plugins_that_run_as_one_task_say_so(alias: str, config: dict[str, str]) -> None:
    resource = {
        "metadata": {"name": "c"},
        "spec": {"class": alias, "tasksMax": 2, "config": {**config, "value.converter": "StringConverter"}},
    }
    found = plan(Connector.model_validate(resource), worker_from({}).config, Plugins.installed())
    assert [w.property for w in found.warnings] == ["spec.tasksMax"]
    assert f"{alias} always runs as one task" in found.warnings[0].message


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "password").write_text("hunter2")
    return tmp_path


SECRET = {"password": "${secret:db:password}"}


def test_a_task_gets_everything_and_no_secret(secrets: Path) -> None:
    worker = {"bootstrap.servers": "h:1", "value.converter": "Json", "value.converter.schemas.enable": "false"}
    found = planned(
        {**SOURCE, **HOIST, **SECRET, "errors.tolerance": "all"}, worker, secrets, tasksMax=2, state="Paused"
    )
    assert [t.task for t in found.tasks] == [0, 1]
    task = found.tasks[1]
    assert (task.connector, task.tasks, task.kind, task.generation, task.state) == (
        "c",
        2,
        "source",
        7,
        TaskState.PAUSED,
    )
    assert task.config == {**SOURCE, **HOIST, **SECRET, "errors.tolerance": "all", "shard": "1"}
    assert task.worker == worker
    assert task.secrets_dir == str(secrets)
    assert {place: (p.alias, p.version, p.variant) for place, p in task.plugins.items()} == {
        "connector": ("Tables", "1.4", None),
        "key.converter": ("JsonConverter", "1.4", None),
        "value.converter": ("JsonConverter", "1.4", None),
        "header.converter": ("SimpleHeaderConverter", "1.4", None),
        "transforms.h": ("Hoist", "1.4", "Value"),
    }
    assert "hunter2" not in task.to_json()


def test_a_secret_inside_a_new_property_becomes_a_reference(secrets: Path) -> None:
    (task,) = planned({"table": "leak", **SECRET}, secrets=secrets).tasks
    assert task.config["copied"] == "${secret:db:password}"
    assert task.config["url"] == "db://:${secret:db:password}@h"


@pytest.mark.parametrize(
    "config",
    [
        {"table": "gone", **SECRET},
        {**SOURCE, "port": "${secret:db:password}"},
        {**SOURCE, "errors.tolerance": "${secret:db:password}"},
        {"table": "gone", "password": "literal-hunter2"},
        {**SOURCE, "producer.override.acks": "${secret:db:password}"},
    ],
)
def test_no_message_shows_a_secret(config: dict[str, str], secrets: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        planned(config, secrets=secrets)
    assert "hunter2" not in str(caught.value)


def test_a_stopped_connector_is_checked_and_has_no_tasks() -> None:
    assert planned(SOURCE, state="Stopped").tasks == ()
    assert problems({}, state="Stopped")


def test_a_broken_converter_of_the_worker_is_reported_as_that() -> None:
    ((name, told),) = problems(SOURCE, {"value.converter": "Nope"})
    assert name == "worker configuration, value.converter"
    assert "Class Nope could not be found" in told


def test_errors_of_the_worker_are_inherited_and_gone_over() -> None:
    worker = {"errors.tolerance": "all", "errors.log.enable": "true"}
    framework = planned({**SOURCE, "errors.log.enable": "false"}, worker).framework
    assert (framework.errors_tolerance, framework.errors_log_enable) == ("all", False)


def test_the_hash_changes_with_what_a_plan_depends_on_and_nothing_else() -> None:
    first = planned(SOURCE)
    assert planned(SOURCE, state="Paused").hash == first.hash
    assert planned({**SOURCE, "port": "1"}).hash != first.hash
    assert planned(SOURCE, tasksMax=2).hash != first.hash


def test_another_split_has_another_hash_and_no_password_is_in_it() -> None:
    def task(**config: str) -> TaskSpec:
        whole = {"own": "0", "password": "hunter2", "x": "1", **config}
        return TaskSpec(connector="c", task=0, tasks=1, kind="source", config=whole, plugins={}, worker={})

    given, secret = [("password", "own")], [Secret("${config:password}", "hunter2")]
    split = split_hash(given, [task()], secret)
    assert split_hash([("own", "password")], [task(x="2")], secret) == split
    assert split_hash(given, [task(password="${config:password}")], secret) == split
    assert split_hash(given, [task(password="other")], secret) != split
    assert split_hash(given, [task(own="1")], secret) != split


def test_framework_properties_that_an_open_plugin_names_and_omits_reach_its_tasks() -> None:
    framework = {**HOIST, "value.converter": "Json", "value.converter.schemas.enable": "false"}
    (task,) = planned({"other": "2", **framework}, cls="Open").tasks
    assert task.config == {"part": "1", **framework}
