"""The console of `penstock run` shows the tasks of this process as a Connector of a cluster would be shown."""

import asyncio
import time
from pathlib import Path
from typing import Any, cast

import pytest

from penstock.errors import ConnectError
from penstock_cli.child import Child
from penstock_cli.console.child_commands import ChildCommands
from penstock_cli.console.local_source import LocalSource
from penstock_cli.supervisor import Task
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.resources.connector import Connector, Restart
from penstock_model.resources.task_restart import RestartDecision, RestartHistory, TaskEnd

WORKER = {
    "bootstrap.servers": "kafka:9092",
    "key.converter": "StringConverter",
    "value.converter": "StringConverter",
}


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def connector(**config: Any) -> Connector:
    return Connector.read(
        {
            "apiVersion": "penstock.dev/v1alpha1",
            "kind": "Connector",
            "metadata": {"name": "orders"},
            "spec": {"class": "FileStreamSource", "config": {"topic": "orders", **config}},
        }
    )


def task(number: int = 0) -> Task:
    spec = TaskSpec.model_validate(
        {
            "kind": "source",
            "connector": "orders",
            "task": number,
            "tasks": 2,
            "config": {},
            "worker": {},
            "plugins": {
                "connector": {"alias": "X", "reference": "x:X", "version": "1.2"},
                "transforms.mask": {"alias": "Y", "reference": "y:Y", "version": "3"},
            },
        }
    )
    made = Task(spec, Restart())
    made.begin(cast("Child", object()))
    return made


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def source(clock: Clock, tmp_path: Path) -> LocalSource:
    found = {"orders": (connector(), "source")}
    return LocalSource(found, WorkerConfig.parse(WORKER), ChildCommands(tmp_path), clock)


def status(source: LocalSource) -> dict[str, Any]:
    document = source.connector("default", "orders")
    assert document is not None
    return dict(document["status"])


def test_a_connector_runs_once_all_its_tasks_do(source: LocalSource) -> None:
    tasks = [task(0), task(1)]
    source.show(tasks)
    assert (status(source)["state"], status(source)["taskSummary"]) == ("Pending", "0/2")
    for each in tasks:
        each.event({"event": "state", "state": "RUNNING"})
    source.show(tasks)
    found = status(source)
    assert (found["state"], found["taskSummary"], found["conditions"][0]["status"]) == ("Running", "2/2", "True")
    assert found["tasks"][0]["versions"] == {"connector": "1.2", "transforms": {"mask": "3"}}


def test_a_failed_task_is_shown_with_its_cause_and_when_it_starts_again(source: LocalSource, clock: Clock) -> None:
    failed, other = task(0), task(1)
    other.event({"event": "state", "state": "RUNNING"})
    failed.event({"event": "failed", "message": "disk full; free space"})
    failed.finish(TaskEnd.FAILED, RestartDecision(10.0, RestartHistory(), "failed; restart 1 of 5"))
    source.show([failed, other])
    found = status(source)
    assert found["state"] == "Degraded"
    assert found["tasks"][0]["state"] == "Restarting"
    assert "disk full" in found["conditions"][0]["message"]
    assert (
        found["tasks"][0]["retryAt"] == "1970-01-12T13:46:49Z" or found["tasks"][0]["retryAt"] == "1970-01-12T13:46:50Z"
    )


def test_a_task_that_cannot_reach_kafka_hinders_its_connector(source: LocalSource) -> None:
    hindered = task()
    hindered.event({"event": "state", "state": "RUNNING"})
    hindered.event({"event": "progress", "trouble": "Kafka cannot be reached"})
    source.show([hindered])
    ready = status(source)["conditions"][0]
    assert (ready["status"], ready["reason"]) == ("False", "Hindered")


def test_rates_are_measured_every_few_seconds_and_kept_for_an_hour(source: LocalSource, clock: Clock) -> None:
    own = task()
    own.event({"event": "state", "state": "RUNNING"})
    for n in range(800):
        own.event({"event": "progress", "written": 50 * n, "lag": 7, "topics": ["orders"]})
        source.show([own])
        clock.now += 5
    history = source.history("default", "orders")
    assert {m.records_per_second for m in history} == {10.0}
    assert {m.lag for m in history} == {7}
    assert history[-1].at - history[0].at <= 3600
    assert status(source)["lastRecordTime"]
    assert status(source)["activeTopics"] == [{"name": "orders", "task": 0}]


def test_pages_wait_until_something_changes(source: LocalSource) -> None:
    own = task()
    source.show([own])
    before = source.revision()
    source.show([own])
    assert source.revision() == before

    async def wait() -> int:
        waiting = asyncio.create_task(source.changed(before))
        await asyncio.sleep(0)
        own.event({"event": "state", "state": "RUNNING"})
        await asyncio.to_thread(source.show, [own])
        return await waiting

    assert asyncio.run(wait()) > before


def test_changes_of_state_are_events_the_latest_first(source: LocalSource) -> None:
    own = task()
    source.show([own])
    own.event({"event": "state", "state": "RUNNING"})
    source.show([own])
    events = asyncio.run(cast("Any", source.events("default", "orders")))
    assert [e.reason for e in events] == ["Running", "Starting"]


def test_a_record_is_tried_by_the_command_for_it(tmp_path: Path) -> None:
    chain = {"transforms": "t", "transforms.t.type": "InsertField$Value", "transforms.t.static.field": "a"}
    found = {"orders": (connector(**chain, **{"transforms.t.static.value": "b"}), "source")}
    source = LocalSource(found, WorkerConfig.parse(WORKER), ChildCommands(tmp_path))
    document = source.connectors()[0]
    text = asyncio.run(source.transform(document, '{"value": {"x": 1}}'))
    assert '+ value.a  "b"' in text
    assert list(tmp_path.iterdir()) == []  # the manifest may have passwords


def test_a_chain_that_cannot_be_built_is_an_error_with_its_problem(tmp_path: Path) -> None:
    found = {"orders": (connector(transforms="t"), "source")}
    source = LocalSource(found, WorkerConfig.parse(WORKER), ChildCommands(tmp_path))
    with pytest.raises(ConnectError, match=r"transforms\.t\.type"):
        asyncio.run(source.transform(source.connectors()[0], "{}"))


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    source = LocalSource(
        {"orders": (connector(), "source")}, WorkerConfig.parse(WORKER), ChildCommands(tmp_path, seconds=0.01)
    )
    began = time.monotonic()
    with pytest.raises(ConnectError, match="cannot finish `penstock transform` within"):
        asyncio.run(source.transform(source.connectors()[0], "{}"))
    assert time.monotonic() - began < 60
    assert list(tmp_path.iterdir()) == []
