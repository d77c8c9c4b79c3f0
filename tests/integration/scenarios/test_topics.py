"""Scenarios of area topics: the topics of a source are created by its rules (KIP-158), on a real broker."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, ResourceType  # type: ignore[attr-defined]

from ..journal import Journal
from ..lab import LOG, Lab, failed
from ..reading import read_all
from ..running import Processes, new_name
from ..secured import AclOperation, SecuredKafka, secured_kafka

Rules = dict[str, Any]


def rules(**more: str) -> Rules:
    """`topic.creation.*`; names have underscores for dots."""
    return {f"topic.creation.{name.replace('_', '.')}": text for name, text in more.items()}


def created(lab: Lab, topic: str) -> tuple[int, dict[str, str]]:
    """How many partitions a topic has, and the settings that are its own."""
    admin = AdminClient({"bootstrap.servers": lab.servers})
    resource = ConfigResource(ResourceType.TOPIC, topic)
    settings = admin.describe_configs([resource])[resource].result(30)
    given = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    own = {name: str(entry.value) for name, entry in settings.items() if entry.source == given}
    return len(admin.list_topics(timeout=30).topics[topic].partitions), own


def topics(lab: Lab) -> set[str]:
    return {*AdminClient({"bootstrap.servers": lab.servers}).list_topics(timeout=30).topics}


def deliver(lab: Lab, given: Rules, *names: str) -> None:
    """A source writes a keyed record to each of these topics, and ends."""
    _, task = lab.source([[{"value": "v", "key": "k", "topic": name} for name in names]], names[0], **given)
    lab.journal.count("commit", 1)
    task.stop()
    for name in names:
        assert [r.value for r in read_all(lab.servers, name)] == [b"v"]


@pytest.mark.scenario("topics-first-group-only")
def test_only_the_first_group_that_takes_a_topic_decides(lab: Lab) -> None:
    p = new_name("tc1")
    given = rules(
        groups="a,b",
        default_replication_factor="1",
        default_partitions="3",
        default_cleanup_policy="compact",
        default_retention_ms="1111",
        a_include=f"{p}\\.orders,{p}\\.both",
        a_partitions="1",
        a_retention_ms="2222",
        b_include=f"{p}\\.(both|tmp)",
        b_exclude=f"{p}\\.tmp",
        b_partitions="2",
        b_segment_ms="100000",
    )
    deliver(lab, given, f"{p}.orders", f"{p}.both", f"{p}.tmp")
    assert created(lab, f"{p}.orders") == (1, {"retention.ms": "2222"})
    assert created(lab, f"{p}.both") == (1, {"retention.ms": "2222"})
    assert created(lab, f"{p}.tmp") == (3, {"cleanup.policy": "compact", "retention.ms": "1111"})


@pytest.mark.scenario("topics-full-match")
def test_patterns_match_whole_names(lab: Lab) -> None:
    p = new_name("tc2")
    given = rules(groups="g,h", default_replication_factor="-1", default_partitions="3", g_include=p, h_partitions="9")
    deliver(lab, given, f"{p}.x", f"y.{p}")
    assert [created(lab, name)[0] for name in (f"{p}.x", f"y.{p}")] == [3, 3]


@pytest.mark.parametrize("guarantee", ["exactly-once", pytest.param("at-least-once", marks=pytest.mark.slow)])
def test_the_name_that_transforms_gave_counts_and_what_exists_stays_as_it_is(lab: Lab, guarantee: str) -> None:
    there, new = lab.topic(retention_ms="4444"), new_name("new")
    route = {
        "transforms": "r",
        "transforms.r.type": "RegexRouter",
        "transforms.r.regex": "old",
        "transforms.r.replacement": new,
        "delivery.guarantee": guarantee,
    }
    given = rules(default_replication_factor="1", default_partitions="5")
    _, task = lab.source([[{"value": "v", "topic": "old"}, {"value": "w", "topic": there}]], "old", **route, **given)
    lab.journal.count("commit", 1)
    task.stop()
    assert created(lab, new) == (5, {})
    assert created(lab, there) == (1, {"retention.ms": "4444"})
    assert "old" not in topics(lab)


@pytest.mark.scenario("topics-creation-refused")
@pytest.mark.parametrize(
    ("more", "message"),
    [
        (rules(default_replication_factor="3", default_partitions="1"), "topic.creation.default.replication.factor"),
        (
            {**rules(default_replication_factor="1", default_partitions="1"), "topic.creation.default.no.such": "1"},
            "Unknown topic config name: no.such",
        ),
    ],
    ids=["more replicas than brokers", "an unknown setting"],
)
@pytest.mark.parametrize("guarantee", ["exactly-once", pytest.param("at-least-once", marks=pytest.mark.slow)])
def test_a_topic_that_cannot_be_created_fails_the_task_immediately_with_any_tolerance(
    lab: Lab, more: Rules, message: str, guarantee: str
) -> None:
    topic = new_name("tc7")
    tolerant = {**LOG, "errors.tolerance": "all", "delivery.guarantee": guarantee}
    name, task = lab.source([["v"]], topic, **tolerant, **more)
    told = failed(task)
    assert told.startswith(f"Unable to create topic(s) '{topic}': ")
    assert message in told
    assert topic not in topics(lab)
    # Asked once: neither the batch nor the topic was tried again.
    assert [e["batch"] for e in lab.journal.of("read")] == [0]
    assert lab.journal.of("commit") == []
    assert not any(word in task.log_text() for word in ("Retrying", "planning it again", "Error encountered in task"))
    assert lab.offsets(name) == []
    assert [s["state"] for s in lab.status(f"status-task-{name}-0")] == ["RUNNING", "FAILED"]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    """A broker on which alice may do what a connector needs, but for its topics; it creates none by itself."""
    folder = tmp_path_factory.mktemp("guarded")
    with secured_kafka(folder, {"alice": "wonderland"}, auto_create_topics_enable="false") as broker:
        broker.allow("alice", ResourceType.TOPIC, "connect-", AclOperation.ALL, prefixed=True)
        broker.allow("alice", ResourceType.TRANSACTIONAL_ID, "penstock-", AclOperation.ALL, prefixed=True)
        yield broker


@pytest.mark.slow
@pytest.mark.scenario("topics-not-authorized")
@pytest.mark.parametrize("guarantee", ["exactly-once", pytest.param("at-least-once", marks=pytest.mark.slow)])
def test_a_topic_that_may_not_be_described_or_created_fails_the_task_with_the_right_that_is_missing(
    guarded: SecuredKafka, processes: Processes, journal: Journal, guarantee: str
) -> None:
    lab = Lab(guarded.plain, processes, journal)
    hidden, seen = new_name("ac1"), new_name("ac2")
    guarded.allow("alice", ResourceType.TOPIC, seen, AclOperation.DESCRIBE)
    more = {
        **rules(default_replication_factor="1", default_partitions="2"),
        "errors.tolerance": "all",
        "delivery.guarantee": guarantee,
    }
    for topic, words, right in (
        (hidden, f"Not authorized to describe topic(s) '{hidden}' on the brokers {guarded.secured}", "Describe"),
        (
            seen,
            f"Task failed to create new topic (name={seen}, numPartitions=2, replicationFactor=1, "
            f"replicasAssignments=null, configs={{}}). Ensure that the task is authorized to create topics or that the "
            f"topic exists and restart the task",
            "Create",
        ),
    ):
        name, task = lab.source([["v"]], topic, worker=guarded.worker("alice"), **more)
        told = failed(task)
        assert told.startswith(words)
        assert right in told
        assert "wonderland" not in task.log_text()
        assert topic not in topics(lab)
        assert "Retrying" not in task.log_text()
        assert [s["state"] for s in lab.status(f"status-task-{name}-0")] == ["RUNNING", "FAILED"]
    # With the rights that were missing the same connector delivers.
    guarded.allow("alice", ResourceType.TOPIC, seen, AclOperation.CREATE, AclOperation.WRITE)
    _, task = lab.source([["v"]], seen, worker=guarded.worker("alice"), **more)
    lab.journal.count("commit", 1)
    task.stop()
    assert lab.values(seen) == ["v"]


def test_a_topic_name_that_kafka_does_not_take_fails_the_task(lab: Lab) -> None:
    given = rules(default_replication_factor="1", default_partitions="1")
    _, task = lab.source([["v"]], "bad name!", **{"errors.tolerance": "all"}, **given)
    assert failed(task).startswith("Error while attempting to describe topics 'bad name!'")
