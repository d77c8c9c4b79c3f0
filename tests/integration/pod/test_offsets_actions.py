"""A job pod that resets the offsets of a Connector that stays (KIP-875), on a real Kafka."""

import json
import threading
import time
import uuid
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from penstock.errors import Superseded
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, JobAnswer, OffsetsVerb, OffsetsWork, Outcome
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_runtime.fencing import plan_fence
from penstock_runtime.kafka import transactional_producer
from penstock_runtime.kafka.compacted_topic import StatusWriter, read_to_end
from penstock_runtime.kafka.offsets_transaction import PlacedRecord, write_in_transaction
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.status_topic import Incarnation, latest_incarnation
from penstock_runtime.kafka.transactional_producer import fence

from ..pods import STATUS, Pods, pods, write
from ..running import new_name, until
from .test_jobs import alive, sink, source, started

__all__ = ["pods"]

OFFSETS = "connect-offsets"
OURS = (
    "The Connect framework-managed offsets for this connector have been reset successfully. However, if this connector "
    "manages offsets externally, they will need to be manually reset in the system that the connector uses."
)
HUGE = 1 << 40


def reset(pods: Pods, resource: dict[str, Any], generation: int | None = HUGE, **more: Any) -> JobAnswer:
    work = OffsetsWork(verb=OffsetsVerb.RESET, generation=generation)
    return pods.answer(Action.OFFSETS, resource, offsets=work, **more)


def run_source(pods: Pods, resource: dict[str, Any]) -> str:
    """Run the source until it has committed both of its batches; its Connect name."""
    before = len(pods.lab.journal.of("commit"))
    task = started(pods, resource)
    pods.lab.journal.count("commit", before + 2)
    task.process.stop()
    return str(task.spec.connector)


def live(pods: Pods, name: str, topic: str = OFFSETS) -> dict[bytes, bytes]:
    last = {r.key or b"": r.value for r in pods.lab.offset_records(name, topic)}
    return {key: value for key, value in last.items() if value is not None}


@pytest.mark.slow
@pytest.mark.scenario("offsets-field-order-of-partition")
@pytest.mark.scenario("offsets-alter-default-connector-message")
@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_every_form_of_every_offset_goes_and_the_source_starts_again(pods: Pods, guarantee: str) -> None:
    topic = pods.lab.topic()
    resource = source(pods, topic, config={"delivery.guarantee": guarantee})
    name = run_source(pods, resource)
    write(pods.lab.servers, OFFSETS, f'["{name}", {{"p": "a0"}}]'.encode(), b'{"i":7}')
    write(pods.lab.servers, OFFSETS, f'["{name}",{{"a":1,"b":2}}]'.encode(), b'{"i":7}')
    write(pods.lab.servers, OFFSETS, f'["{name}",{{"b":2,"a":1}}]'.encode(), b'{"i":8}')
    answer = reset(pods, resource)
    assert (answer.outcome, answer.message) == (Outcome.DONE, f"{OURS} 2 positions were removed.")
    assert live(pods, name) == {}
    answer = reset(pods, resource)
    assert (answer.outcome, answer.message) == (Outcome.DONE, f"{OURS} 0 positions were removed.")
    task = started(pods, resource)
    until(lambda: pods.lab.values(topic) == ["a", "b", "a", "b"])
    task.process.stop()


@pytest.mark.scenario("offsets-own-topic-reset")
def test_the_separate_topic_is_reset_with_the_workers_topic(pods: Pods) -> None:
    own = pods.lab.topic("own", cleanup_policy="compact")
    resource = source(pods, pods.lab.topic(), config={"offsets.storage.topic": own})
    name = run_source(pods, resource)
    write(pods.lab.servers, OFFSETS, f'["{name}",{{"p":"zz"}}]'.encode(), b'{"i":1}')
    answer = reset(pods, resource)
    assert (answer.outcome, answer.message) == (Outcome.DONE, f"{OURS} 2 positions were removed.")
    assert (live(pods, name), live(pods, name, own)) == ({}, {})


def test_the_plugin_is_asked_with_each_position_and_its_consent_is_reported_in_connects_words(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic(), **{"class": "altering_source:Understanding"})
    run_source(pods, resource)
    answer = reset(pods, resource)
    assert answer.message == "The offsets for this connector have been reset successfully. 1 position was removed."
    (asked,) = pods.lab.journal.count("asked")
    assert asked["offsets"] == [[{"p": "a0"}, None]]


def test_a_connector_that_never_ran_is_reset_and_its_plugin_asked(pods: Pods) -> None:
    resource = source(pods, "t", **{"class": "altering_source:Understanding"})
    fresh = {"status.storage.topic": new_name("status"), "offset.storage.topic": new_name("offsets")}
    answer = reset(pods, resource, 0, worker=fresh)
    assert answer.outcome is Outcome.DONE
    assert answer.message.endswith("0 positions were removed.")
    assert pods.lab.journal.of("asked")[0]["offsets"] == []


@pytest.mark.scenario("offsets-sink-reset-idempotent")
def test_a_sinks_group_is_deleted_and_that_may_be_repeated(pods: Pods) -> None:
    topic, group = pods.lab.topic(), new_name("group")
    pods.lab.produce(topic, "a", "b")
    resource = sink(pods, topic, **{"consumer.override.group.id": group})
    task = started(pods, resource)
    until(lambda: pods.lab.committed("", topic, group=group) == 2)
    task.process.stop()
    admin = AdminClient({"bootstrap.servers": pods.lab.servers})
    for told in ("1 position was removed.", "0 positions were removed."):
        answer = reset(pods, resource)
        assert (answer.outcome, answer.message) == (Outcome.DONE, f"{OURS} {told}")
        groups = [g.group_id for g in admin.list_consumer_groups().result(30).valid]
        assert group not in groups


def test_members_of_a_sinks_group_refuse_it_and_are_named(pods: Pods) -> None:
    topic = pods.lab.topic()
    pods.lab.produce(topic, "a")
    resource = sink(pods, topic)
    name = f"shop.{resource['metadata']['name']}"
    with pods.lab.member(f"connect-{name}", topic) as member:
        member.commit(1)
        answer = reset(pods, resource)
    assert answer.outcome is Outcome.REFUSED
    assert answer.message.startswith(
        f"Failed to reset consumer group offsets for connector {name} either because its tasks"
    )
    assert "somebody-else at 127.0.0.1" in answer.message
    assert pods.lab.committed(name, topic) == 1


@pytest.mark.scenario("offsets-alter-refused-by-connector")
@pytest.mark.parametrize(
    ("plugin", "told"),
    [
        ("Refusing", "offsets are kept elsewhere: {'p': 'a0'}=None"),
        (
            "Unsupporting",
            "Failed to modify offsets for connector {} because it doesn't support external modification of offsets",
        ),
        ("Raising", "The connector's alter_offsets failed, and nothing was written: KeyError: 'id'"),
    ],
)
def test_a_plugin_that_refuses_or_raises_keeps_the_offsets(pods: Pods, plugin: str, told: str) -> None:
    resource = source(pods, pods.lab.topic(), **{"class": f"altering_source:{plugin}"})
    name = run_source(pods, resource)
    answer = reset(pods, resource)
    assert (answer.outcome, answer.message) == (Outcome.REFUSED, told.replace("{}", name))
    assert live(pods, name) == {f'["{name}",{{"p":"a0"}}]'.encode(): b'{"i":1}'}


@pytest.mark.scenario("offsets-alter-refused-by-connector")
def test_a_sinks_plugin_that_refuses_keeps_the_group(pods: Pods) -> None:
    topic = pods.lab.topic()
    pods.lab.produce(topic, "a")
    resource = sink(pods, topic)
    resource["spec"]["class"] = "altering_source:RefusingSink"
    task = started(pods, resource)
    pods.lab.wait_committed(task.spec.connector, topic, 1)
    task.process.stop()
    answer = reset(pods, resource)
    assert (answer.outcome, answer.message) == (Outcome.REFUSED, "custom refusal")
    assert pods.lab.committed(task.spec.connector, topic) == 1


@pytest.mark.slow
def test_a_plugin_that_hangs_is_given_up_and_kafka_is_not_blamed(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic(), **{"class": "altering_source:Hanging"})
    name = run_source(pods, resource)
    answer = reset(pods, resource)
    assert answer.outcome is Outcome.REFUSED
    assert answer.message.startswith("The connector's alter_offsets has not answered within 30 s; nothing was written")
    assert live(pods, name)


@pytest.mark.parametrize("wrong", [{"class": "GoneSource"}, {"config": {"value.converter": "Nope"}}])
def test_nothing_is_reset_by_name_where_the_plugin_cannot_be_asked(pods: Pods, wrong: dict[str, Any]) -> None:
    resource = source(pods, pods.lab.topic())
    name = run_source(pods, resource)
    spec = resource["spec"]
    resource["spec"] = {**spec, **wrong, "config": {**spec["config"], **wrong.get("config", {})}}
    answer = reset(pods, resource)
    assert answer.outcome is Outcome.INVALID
    assert answer.problems
    assert live(pods, name)


def test_a_connector_that_was_started_since_is_not_reset_nor_fenced_nor_asked(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic(), **{"class": "altering_source:Refusing"})
    answer = pods.answer(Action.PLAN, resource, prepare=True)
    assert answer.plan is not None
    assert answer.epoch is not None
    task = pods.task(alive(answer.plan.tasks[0], answer.epoch))
    pods.lab.journal.count("commit", 2)
    late = reset(pods, resource, answer.epoch.generation - 1)
    assert late.outcome is Outcome.SUPERSEDED
    assert f"plan generation {answer.epoch.generation} is recorded" in late.message
    assert pods.lab.journal.of("asked") == []
    assert live(pods, task.spec.connector)
    assert task.process.process.poll() is None
    task.process.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("guarantee", "plugin", "outcome", "told"),
    [
        ("exactly-once", "Waiting", Outcome.SUPERSEDED, "its earlier tasks were fenced"),
        ("at-least-once", "Waiting", Outcome.SUPERSEDED, "its earlier tasks were fenced"),
        ("exactly-once", "WaitingAndUnderstanding", Outcome.UNAVAILABLE, "were fenced. Some offsets may be reset."),
    ],
)
def test_a_reset_that_froze_over_a_resume_and_wakes_does_not_rewind(
    pods: Pods, tmp_path: Path, guarantee: str, plugin: str, outcome: Outcome, told: str
) -> None:
    go_on = tmp_path / "go-on"
    config = {"x.env": str(go_on), "delivery.guarantee": guarantee}
    resource = source(pods, pods.lab.topic(), config=config, **{"class": f"altering_source:{plugin}"})
    name = run_source(pods, resource)
    late: list[JobAnswer] = []
    frozen = threading.Thread(target=lambda: late.append(reset(pods, resource)))
    frozen.start()
    pods.lab.journal.count("asked")
    task = started(pods, resource)  # the connector is resumed: prepared, and its task starts
    task.await_report("RUNNING")
    go_on.touch()
    frozen.join(60)
    (answer,) = late
    assert answer.outcome is outcome
    assert answer.message.endswith(told)
    assert live(pods, name) == {f'["{name}",{{"p":"a0"}}]'.encode(): b'{"i":1}'}
    assert task.process.process.poll() is None
    task.process.stop()


@pytest.mark.slow
def test_a_reset_that_froze_before_its_records_neither_hides_nor_fences_what_was_started_since(
    pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = source(pods, pods.lab.topic())
    name = run_source(pods, resource)
    settings = clients(pods)
    newest = recorded(settings, name).generation
    tasks: list[Any] = []
    late: list[Iterable[Any]] = []

    class Frozen(StatusWriter):
        """It has read, and wakes when the connector was resumed."""

        def write(self, topic: str, entries: Iterable[Any], *, timeout: float = 30.0, partition: int = -1) -> None:
            if not tasks:
                tasks.append(started(pods, resource))
                tasks[0].await_report("RUNNING")
            late.append(entries)
            super().write(topic, entries, timeout=timeout, partition=partition)

    fenced: list[Any] = []
    monkeypatch.setattr(plan_fence, "StatusWriter", Frozen)
    monkeypatch.setattr(transactional_producer, "fence", lambda *a: fenced.append(a))
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID("f" * 32))  # the greatest of all ids
    place = plan_fence.Place(name, "connect-cluster", settings, settings, STATUS, "0123456789abcdef")
    with pytest.raises(Superseded, match="was started elsewhere"):
        plan_fence.fence(place, newest=newest, yields=True)
    assert (len(late), fenced) == (1, [])
    (task,) = tasks
    assert recorded(settings, name).plan == task.identity.epoch.plan
    time.sleep(3)  # longer than the pause between two looks
    assert task.process.process.poll() is None
    task.process.stop()


def clients(pods: Pods) -> ClientSettings:
    servers = {"bootstrap.servers": pods.lab.servers}
    return ClientSettings(producer=servers, consumer=servers, admin=servers)


def recorded(settings: ClientSettings, name: str) -> Incarnation:
    found = latest_incarnation(read_to_end(settings, STATUS), name, 0)
    assert found is not None
    return found


def test_a_transaction_is_what_it_must_be_with_settings_of_a_producer_that_has_none(pods: Pods) -> None:
    topic = pods.lab.topic(cleanup_policy="compact")
    loose = {"acks": 1, "enable.idempotence": False, "retries": 0, "max.in.flight.requests.per.connection": 10}
    settings = replace(clients(pods), producer={"bootstrap.servers": pods.lab.servers, **loose})
    write_in_transaction(settings, new_name("id"), topic, [PlacedRecord(0, b"a", None)], lambda: None)
    assert [(r.key, r.value) for r in pods.lab.records(topic)] == [(b"a", None)]


def test_a_transaction_that_froze_before_its_commit_commits_nothing_once_it_was_fenced(pods: Pods) -> None:
    topic, name = pods.lab.topic(cleanup_policy="compact"), new_name("id")
    settings, records = clients(pods), [PlacedRecord(0, b"a", None), PlacedRecord(0, b"b", b"{}")]
    with pytest.raises(Superseded):
        write_in_transaction(settings, name, topic, records, lambda: fence(settings, [name]))
    assert pods.lab.records(topic) == []
    write_in_transaction(settings, name, topic, records, lambda: None)
    assert [(r.key, r.value) for r in pods.lab.records(topic)] == [(b"a", None), (b"b", b"{}")]


@pytest.mark.slow
def test_tasks_of_before_end_and_those_that_are_prepared_after_it_run(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic())
    task = started(pods, resource)
    pods.lab.journal.count("commit", 2)
    assert reset(pods, resource, owner="0123456789abcdef").outcome is Outcome.DONE
    assert task.process.await_exit() == ExitCode.SUPERSEDED
    after = pods.answer(Action.PLAN, resource, prepare=True).epoch
    assert isinstance(after, PlanEpoch)
    assert json.loads(task.identity.to_json())["epoch"]["generation"] + 2 == after.generation
