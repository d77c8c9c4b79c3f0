"""A job pod that sets positions of a Connector that stays (KIP-875, `PATCH /connectors/<name>/offsets`), on a real Kafka."""

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import ConnectError
from penstock.sink import TopicPartition
from penstock_kafka.murmur2 import partition_of
from penstock_model.contracts.job import Action, JobAnswer, JobRequest, OffsetsVerb, OffsetsWork, Outcome
from penstock_runtime.job import altering, offsets_change, offsets_target
from penstock_runtime.job.altering import alter
from penstock_runtime.kafka.admin import Admin
from penstock_runtime.kafka.groups import GroupHasMembers, Groups
from penstock_runtime.kafka.offsets_topic import load
from penstock_runtime.kafka.offsets_transaction import PlacedRecord, write_in_transaction
from penstock_runtime.kafka.settings import ClientSettings

from ..pods import Pods, pods, shown, write
from ..running import new_name, until
from ..survives.test_new_partitions import GROWN, grow
from .test_jobs import STRING, sink, source, started
from .test_offsets_actions import HUGE, OFFSETS, clients, live, run_source

__all__ = ["pods"]

OURS = (
    "The Connect framework-managed offsets for this connector have been altered successfully. However, if this connector "
    "manages offsets externally, they will need to be manually altered in the system that the connector uses."
)
Entry = tuple[Any, Any]


def document(*entries: Entry) -> str:
    return json.dumps({"offsets": [{"partition": p, "offset": o} for p, o in entries]})


def altered(pods: Pods, resource: dict[str, Any], *entries: Entry, text: str = "", **more: Any) -> JobAnswer:
    work = OffsetsWork(verb=OffsetsVerb.ALTER, generation=HUGE, document=text or document(*entries))
    return pods.answer(Action.OFFSETS, resource, offsets=work, **more)


def problems(answer: JobAnswer) -> list[str]:
    assert answer.outcome is Outcome.INVALID, answer
    return [str(p) for p in answer.problems]


def position(topic: str, partition: Any, offset: Any) -> Entry:
    return {"kafka_topic": topic, "kafka_partition": partition}, {"kafka_offset": offset}


# A source


@pytest.mark.slow
@pytest.mark.scenario("offsets-alter-default-connector-message")
@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_a_source_continues_where_it_is_set_and_its_other_positions_stay(pods: Pods, guarantee: str) -> None:
    topic = pods.lab.topic()
    resource = source(pods, topic, config={"delivery.guarantee": guarantee})
    name = run_source(pods, resource)
    write(pods.lab.servers, OFFSETS, f'["{name}",{{"p":"other"}}]'.encode(), b'{"i":7}')
    answer = altered(pods, resource, ({"p": "a0"}, {"i": 0}))
    assert (answer.outcome, answer.message) == (Outcome.DONE, f"{OURS} 1 position was set.")
    assert live(pods, name) == {
        f'["{name}",{{"p":"a0"}}]'.encode(): b'{"i":0}',
        f'["{name}",{{"p":"other"}}]'.encode(): b'{"i":7}',
    }
    task = started(pods, resource)
    until(lambda: pods.lab.values(topic) == ["a", "b", "b"])
    task.process.stop()


@pytest.mark.scenario("offsets-field-order-of-partition")
def test_a_partition_is_found_by_its_fields_and_keeps_the_bytes_that_hold_its_position(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic(), **{"class": "altering_source:Understanding"})
    name = f"shop.{resource['metadata']['name']}"
    assert pods.answer(Action.PLAN, resource, prepare=True).epoch is not None  # its topics are there
    fields = '"zeta":1,"alpha":"x","b":true,"c":1.5,"n":null'
    newest = f'["{name}",{{{fields}}}]'.encode()
    write(
        pods.lab.servers, OFFSETS, f'["{name}",{{"n":null,"zeta":1,"alpha":"x","b":true,"c":1.5}}]'.encode(), b'{"i":1}'
    )
    write(pods.lab.servers, OFFSETS, newest, b'{"i":3}')
    asked = {"alpha": "x", "b": True, "c": 1.5, "n": None, "zeta": 1}
    answer = altered(pods, resource, (asked, {"i": 99, "f": 1.0, "t": "é", "n": None}), ({"p": "new"}, {"i": 1}))
    assert answer.message == "The offsets for this connector have been altered successfully. 2 positions were set."
    assert live(pods, name) == {
        newest: '{"i":99,"f":1.0,"t":"é","n":null}'.encode(),
        f'["{name}",{{"p":"new"}}]'.encode(): b'{"i":1}',
    }
    told = pods.lab.journal.of("asked")[0]["offsets"]
    assert told == [[asked, {"i": 99, "f": 1.0, "t": "é", "n": None}], [{"p": "new"}, {"i": 1}]]
    answer = altered(pods, resource, (asked, None))
    assert answer.message.endswith(" 1 position was removed.")
    assert list(live(pods, name)) == [f'["{name}",{{"p":"new"}}]'.encode()]


@pytest.mark.slow
def test_a_source_that_never_ran_begins_where_it_is_set(pods: Pods) -> None:
    topic = pods.lab.topic()
    resource = source(pods, topic)
    fresh = {"status.storage.topic": new_name("status"), "offset.storage.topic": new_name("offsets")}
    answer = altered(pods, resource, ({"p": "a0"}, {"i": 0}), worker=fresh)
    assert (answer.outcome, answer.message) == (Outcome.DONE, f"{OURS} 1 position was set.")
    task = started(pods, resource, worker=fresh)
    until(lambda: pods.lab.values(topic) == ["b"])
    task.process.stop()


def own_topic(pods: Pods) -> tuple[dict[str, Any], str, str]:
    """A source with an offsets topic of its own that has run; its Connect name; the topic."""
    own = pods.lab.topic("own", cleanup_policy="compact")
    resource = source(pods, pods.lab.topic(), config={"offsets.storage.topic": own})
    return resource, run_source(pods, resource), own


def test_the_separate_topic_is_set_with_the_workers_topic(pods: Pods) -> None:
    resource, name, own = own_topic(pods)
    write(pods.lab.servers, OFFSETS, f'["{name}",{{"y":1,"p":"z"}}]'.encode(), b'{"i":1}')
    answer = altered(pods, resource, ({"p": "a0"}, None), ({"p": "z", "y": 1}, {"i": 5}))
    assert answer.message == f"{OURS} 1 position was set, 1 position was removed."
    expected = {f'["{name}",{{"y":1,"p":"z"}}]'.encode(): b'{"i":5}'}
    assert (live(pods, name), live(pods, name, own)) == (expected, expected)


def killed_between_topics(
    pods: Pods, resource: dict[str, Any], monkeypatch: pytest.MonkeyPatch, *entries: Entry
) -> None:
    """Carry the request out up to the second topic."""
    written: list[str] = []

    def write_one(
        settings: ClientSettings, ident: str, topic: str, records: Sequence[PlacedRecord], check: Any
    ) -> None:
        if written:
            raise ConnectError("killed")
        written.append(topic)
        write_in_transaction(settings, ident, topic, records, check)

    worker = {"bootstrap.servers": pods.lab.servers}
    request = JobRequest(action=Action.OFFSETS, id="x", connector=resource, worker=worker)
    work = OffsetsWork(verb=OffsetsVerb.ALTER, generation=HUGE, document=document(*entries))
    with monkeypatch.context() as patched:
        patched.setattr(offsets_change, "write_in_transaction", write_one)
        with pytest.raises(ConnectError, match=r"killed Some offsets may be altered\."):
            alter(request, work)
    assert written == [OFFSETS]


@pytest.mark.slow
def test_what_ends_between_the_two_topics_has_changed_nothing_for_the_task_and_may_be_repeated(
    pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "plugins"))
    resource, name, own = own_topic(pods)
    changes: list[Entry] = [({"p": "a0"}, {"i": 0})]
    killed_between_topics(pods, resource, monkeypatch, *changes)
    stored = load(clients(pods), name, topic=OFFSETS)
    stored.prefer(load(clients(pods), name, topic=own))
    assert [dict(o) for o in stored.offsets.values()] == [{"i": 1}]
    assert altered(pods, resource, *changes).outcome is Outcome.DONE
    assert [json.loads(v) for t in (OFFSETS, own) for v in live(pods, name, t).values()] == [{"i": 0}] * 2


@pytest.mark.slow
def test_in_a_topic_that_grew_the_position_holds_wherever_its_key_lies(pods: Pods) -> None:
    offsets = new_name("offsets")
    worker = {"offset.storage.topic": offsets, "offset.storage.partitions": "1"}
    resource = source(pods, pods.lab.topic())
    name = f"shop.{resource['metadata']['name']}"
    assert altered(pods, resource, ({"p": "x"}, {"i": 0}), worker=worker).outcome is Outcome.DONE
    for number in range(8):
        write(pods.lab.servers, offsets, f'["{name}",{{"p":{number}}}]'.encode(), b'{"i":1}')
    grow(pods.lab.servers, offsets)
    entries: list[Entry] = [({"p": n}, {"i": 2}) for n in range(7)]
    assert altered(pods, resource, *entries, ({"p": 7}, None), worker=worker).outcome is Outcome.DONE
    keys = {n: f'["{name}",{{"p":{n}}}]'.encode() for n in range(8)}
    assert any(partition_of(k, GROWN) for k in keys.values())
    last = {(r.key, r.partition): r.value for r in pods.lab.offset_records(name, offsets)}
    for number in range(7):
        key = keys[number]
        assert {p: v for (k, p), v in last.items() if k == key} == dict.fromkeys(
            {0, partition_of(key, GROWN)}, b'{"i":2}'
        )
    assert {p: v for (k, p), v in last.items() if k == keys[7]} == {0: None}
    stored = load(clients(pods), name, topic=offsets)
    assert sorted(str(o["i"]) for o in stored.offsets.values()) == ["0", *["2"] * 7]


@pytest.mark.scenario("offsets-alter-malformed-source")
def test_a_malformed_request_for_a_source_writes_nothing_and_reports_every_error_together(
    pods: Pods, tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_text("a\n")
    config = {**STRING, "topic": pods.lab.topic(), "file": str(tmp_path / "in.txt")}
    resource = shown(new_name(), "shop", **{"class": "FileStreamSource", "config": config})
    name = f"shop.{resource['metadata']['name']}"
    nothing = ["offsets: Partitions / offsets need to be provided for an alter offsets request"]
    assert problems(altered(pods, resource, text="{}")) == nothing
    assert problems(altered(pods, resource)) == nothing
    good = ({"filename": str(tmp_path / "in.txt")}, {"position": 1})
    assert problems(
        altered(pods, resource, good, (None, {"position": 1}), ({"filename": {"a": 1}}, {"position": []}))
    ) == [
        "offsets[1].partition: Partition objects cannot be null",
        "offsets[2].partition: Offsets may only contain primitive types as values, but field filename contains MAP",
        "offsets[2].offset: Offsets may only contain primitive types as values, but field position contains ARRAY",
    ]
    for entry, told in (
        (({"nofilename": "/x"}, {"position": 1}), "Partition objects should contain the key 'filename'"),
        (
            ({"filename": "/y"}, {"position": "x"}),
            "The value for the 'position' key in the offset is expected to be a Long value",
        ),
    ):
        answer = altered(pods, resource, good, entry)
        assert (answer.outcome, answer.message) == (Outcome.REFUSED, told)
    assert pods.lab.offset_records(name) == []


@pytest.mark.slow
@pytest.mark.scenario("offsets-alter-refused-by-connector")
@pytest.mark.parametrize(
    ("plugin", "told"),
    [
        ("Refusing", "offsets are kept elsewhere: {'p': 'a0'}={'i': 0}"),
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
    answer = altered(pods, resource, ({"p": "a0"}, {"i": 0}))
    assert (answer.outcome, answer.message) == (Outcome.REFUSED, told.replace("{}", name))
    assert live(pods, name) == {f'["{name}",{{"p":"a0"}}]'.encode(): b'{"i":1}'}


@pytest.mark.slow
def test_a_plugin_that_takes_apart_what_it_is_given_changes_nothing_of_it(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic(), **{"class": "altering_source:Consuming"})
    answer = altered(pods, resource, ({"p": "a0"}, {"i": 3}))
    assert answer.outcome is Outcome.DONE, answer
    assert list(live(pods, f"shop.{resource['metadata']['name']}").values()) == [b'{"i":3}']


@pytest.mark.slow
def test_a_null_for_what_is_not_there_is_distinguished_from_what_was_removed(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic())
    name = run_source(pods, resource)
    answer = altered(pods, resource, ({"p": "A0"}, None), ({"p": "b"}, {"i": 1}))
    assert answer.message == f"{OURS} 1 position was set, 1 position was to be removed but did not exist."
    answer = altered(pods, resource, ({"p": "a0"}, None), ({"p": "b"}, None))
    assert answer.message == f"{OURS} 2 positions were removed."
    assert live(pods, name) == {}


@pytest.mark.slow
def test_a_topic_that_the_brokers_do_not_know_yet_is_no_success(pods: Pods, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "plugins"))
    resource = source(pods, pods.lab.topic())
    monkeypatch.setattr(Admin, "topics", lambda self: {})
    monkeypatch.setattr(offsets_target, "make_internal_topics", lambda context: None)
    request = JobRequest(
        action=Action.OFFSETS, id="x", connector=resource, worker={"bootstrap.servers": pods.lab.servers}
    )
    work = OffsetsWork(verb=OffsetsVerb.ALTER, generation=HUGE, document=document(({"p": "a0"}, {"i": 3})))
    with pytest.raises(ConnectError, match=r"is not known to the brokers .* Nothing was altered\."):
        alter(request, work)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plugin", "outcome", "told"),
    [
        ("Waiting", Outcome.SUPERSEDED, "its earlier tasks were fenced"),
        ("WaitingAndUnderstanding", Outcome.UNAVAILABLE, "were fenced. Some offsets may be altered."),
    ],
)
def test_one_that_froze_over_a_resume_and_wakes_does_not_rewind(
    pods: Pods, tmp_path: Path, plugin: str, outcome: Outcome, told: str
) -> None:
    go_on = tmp_path / "go-on"
    resource = source(pods, pods.lab.topic(), config={"x.env": str(go_on)}, **{"class": f"altering_source:{plugin}"})
    name = run_source(pods, resource)
    late: list[JobAnswer] = []
    frozen = threading.Thread(target=lambda: late.append(altered(pods, resource, ({"p": "a0"}, {"i": 0}))))
    frozen.start()
    pods.lab.journal.count("asked")
    task = started(pods, resource)
    task.await_report("RUNNING")
    go_on.touch()
    frozen.join(60)
    (answer,) = late
    assert answer.outcome is outcome
    assert answer.message.endswith(told)
    assert live(pods, name) == {f'["{name}",{{"p":"a0"}}]'.encode(): b'{"i":1}'}
    task.process.stop()


@pytest.mark.slow
def test_of_a_thousand_entries_the_one_that_is_wrong_is_named_and_without_it_all_are_set(pods: Pods) -> None:
    resource = source(pods, pods.lab.topic())
    name = f"shop.{resource['metadata']['name']}"
    entries: list[Entry] = [({"p": "n", "n": n}, {"i": n}) for n in range(1000)]
    wrong = [*entries]
    wrong[567] = ({"p": "n", "n": 567}, {"i": [1]})
    assert problems(altered(pods, resource, *wrong)) == [
        "offsets[567].offset: Offsets may only contain primitive types as values, but field i contains ARRAY"
    ]
    assert pods.lab.offset_records(name) == []
    assert altered(pods, resource, *entries).message == f"{OURS} 1000 positions were set."
    assert sorted(json.loads(v)["i"] for v in live(pods, name).values()) == list(range(1000))


# A sink


@pytest.mark.slow
@pytest.mark.scenario("offsets-sink-list-and-alter")
@pytest.mark.scenario("offsets-sink-overridden-group")
def test_a_sinks_next_task_begins_where_its_group_is_set(pods: Pods) -> None:
    topic, group = pods.lab.topic(), new_name("group")
    pods.lab.produce(topic, *(f"v{n}" for n in range(8)))
    resource = sink(pods, topic, **{"consumer.override.group.id": group})
    task = started(pods, resource)
    until(lambda: pods.lab.committed("", topic, group=group) == 8)
    task.process.stop()
    assert problems(altered(pods, resource, position(topic, "0", "7"))) == [
        f"offsets[0].{place}: Failed to parse the following Kafka {place} value in the provided offsets: '{value}'. "
        f"{place.capitalize()} values for sink connectors need to be integers"
        for place, value in (("partition", 0), ("offset", 7))
    ]
    answer = altered(pods, resource, position(topic, 0, 7))
    assert (answer.outcome, answer.message) == (Outcome.DONE, f"{OURS} 1 position was set.")
    assert pods.lab.committed("", topic, group=group) == 7
    assert pods.lab.committed(f"shop.{resource['metadata']['name']}", topic) is None
    task = started(pods, resource)
    assert pods.lab.journal.values(9) == [*(f"v{n}" for n in range(8)), "v7"]
    task.process.stop()


def test_a_sink_that_never_ran_begins_where_it_is_set(pods: Pods) -> None:
    topic = pods.lab.topic(partitions=2)
    pods.lab.produce(topic, "a", "b", partition=1)
    resource = sink(pods, topic)
    resource["spec"]["class"] = "altering_source:WaitingSink"
    Path(pods.lab.journal.path).with_name("go-on").touch()
    fresh = {"status.storage.topic": new_name("status"), "offset.storage.topic": new_name("offsets")}
    answer = altered(pods, resource, position(topic, 0, 0), position(topic, 1, 2), worker=fresh)
    assert (answer.outcome, answer.message) == (Outcome.DONE, f"{OURS} 2 positions were set.")
    name = f"shop.{resource['metadata']['name']}"
    assert [pods.lab.committed(name, topic, p) for p in (0, 1)] == [0, 2]
    (asked,) = pods.lab.journal.of("asked")
    assert asked["offsets"] == [list(position(topic, 0, 0)), list(position(topic, 1, 2))]


def test_null_removes_the_offset_of_one_partition_of_a_sink_and_leaves_the_others(pods: Pods) -> None:
    topic = pods.lab.topic(partitions=3)
    for partition in range(3):
        pods.lab.produce(topic, "a", "b", "c", partition=partition)
    resource = sink(pods, topic)
    name = f"shop.{resource['metadata']['name']}"
    assert altered(pods, resource, *(position(topic, p, 2) for p in range(3))).outcome is Outcome.DONE
    nulls = [(position(topic, p, 0)[0], None) for p in (0, 7)]
    answer = altered(pods, resource, *nulls, position(topic, 1, 1))
    counts = "1 position was set, 1 position was removed, 1 position was to be removed but did not exist"
    assert (answer.outcome, answer.message) == (Outcome.DONE, f"{OURS} {counts}."), answer
    assert [pods.lab.committed(name, topic, p) for p in range(3)] == [None, 1, 2]
    task = started(pods, resource)
    assert sorted(pods.lab.journal.values(6)) == ["a", "b", "b", "c", "c", "c"]  # all of the first partition
    task.process.stop()


def test_null_for_a_sink_changes_nothing_where_the_client_cannot_delete_single_offsets(
    pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "plugins"))
    topic = pods.lab.topic(partitions=2)
    pods.lab.produce(topic, "a")
    resource = sink(pods, topic)
    name = f"shop.{resource['metadata']['name']}"

    def fails() -> None:
        raise ConnectError("cannot delete single offsets")

    def fence_tasks(*arguments: object) -> None:
        raise AssertionError("a task was fenced")

    monkeypatch.setattr(altering, "check_deletion", fails)
    monkeypatch.setattr(altering, "fence_tasks", fence_tasks)
    request = JobRequest(
        action=Action.OFFSETS, id="x", connector=resource, worker={"bootstrap.servers": pods.lab.servers}
    )
    entries = [position(topic, 0, 1), (position(topic, 1, 0)[0], None)]
    work = OffsetsWork(verb=OffsetsVerb.ALTER, generation=HUGE, document=document(*entries))
    with pytest.raises(ConnectError, match=r"cannot delete single offsets.* Nothing was altered\."):
        alter(request, work)
    assert pods.lab.committed(name, topic) is None


def test_null_for_a_sink_whose_group_has_members_is_refused_and_removes_nothing(pods: Pods) -> None:
    topic = pods.lab.topic()
    pods.lab.produce(topic, "a")
    with pods.lab.member(f"group-{topic}", topic) as member:
        member.commit(1)
        groups = Groups(clients(pods))
        with pytest.raises(GroupHasMembers):
            groups.remove(f"group-{topic}", [TopicPartition(topic, 0)], lambda: None)
    assert pods.lab.committed("", topic, group=f"group-{topic}") == 1


@pytest.mark.scenario("offsets-sink-alter-unknown-partition")
def test_positions_that_are_not_in_kafka_are_refused_with_all_their_names(pods: Pods) -> None:
    topic = pods.lab.topic()
    pods.lab.produce(topic, "a", "b")
    resource = sink(pods, topic)
    name = f"shop.{resource['metadata']['name']}"
    gone = new_name("never")
    answer = altered(pods, resource, position(topic, 0, 3), position(topic, 7, 0), position(gone, 0, 0))
    assert problems(answer) == [
        f"offsets: Failed to alter consumer group offsets for connector {name}: 3 is past the end of {topic}-0, which is 2; "
        f"topic '{topic}' has no partition 7; its partition count is 1; topic '{gone}' does not exist, or the connector may "
        f"not describe it"
    ]
    answer = altered(pods, resource, position(topic, 0, -5))
    assert problems(answer) == [
        f"offsets[0].offset: Failed to modify offsets for sink connector {name}: -5 is negative"
    ]
    assert pods.lab.committed(name, topic) is None
    assert altered(pods, resource, position(topic, 0, 2)).outcome is Outcome.DONE


def test_members_of_a_sinks_group_refuse_it_and_are_named(pods: Pods) -> None:
    topic = pods.lab.topic()
    pods.lab.produce(topic, "a")
    resource = sink(pods, topic)
    name = f"shop.{resource['metadata']['name']}"
    with pods.lab.member(f"connect-{name}", topic) as member:
        member.commit(1)
        answer = altered(pods, resource, position(topic, 0, 0))
    assert answer.outcome is Outcome.REFUSED
    assert answer.message.startswith(
        f"Failed to alter consumer group offsets for connector {name} either because its tasks"
    )
    assert "somebody-else at 127.0.0.1" in answer.message
    assert pods.lab.committed(name, topic) == 1


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_that_joins_after_the_check_refuses_it_and_nothing_is_set(pods: Pods, protocol: str) -> None:
    topic = pods.lab.topic(partitions=2)
    pods.lab.produce(topic, "a")
    resource = sink(pods, topic)
    resource["spec"]["class"] = "altering_source:WaitingSink"
    name = f"shop.{resource['metadata']['name']}"
    late: list[JobAnswer] = []
    changes = [position(topic, 0, 0), position(topic, 1, 0)]
    frozen = threading.Thread(target=lambda: late.append(altered(pods, resource, *changes)))
    frozen.start()
    pods.lab.journal.count("asked")
    with pods.lab.member(f"connect-{name}", topic, protocol):
        Path(pods.lab.journal.path).with_name("go-on").touch()
        frozen.join(60)
    (answer,) = late
    assert answer.outcome is Outcome.REFUSED
    assert answer.message.startswith(
        f"Failed to alter consumer group offsets for connector {name} either because its tasks"
    )
    assert [pods.lab.committed(name, topic, p) for p in (0, 1)] == [None, None]
