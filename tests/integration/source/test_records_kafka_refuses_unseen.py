"""Topics of which a source may know nothing: it may write there, and not describe their settings; or not even write."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from string import ascii_letters

import pytest

from ..journal import Journal
from ..lab import LOG, Lab, failed
from ..running import Processes
from ..secured import AclOperation, ResourceType, SecuredKafka, secured_kafka
from .test_records_kafka_refuses import MODES, TOLERANT, await_written, follow, in_order, lines, total

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    """A broker on which alice may do what a connector needs, but for its topics."""
    with secured_kafka(tmp_path_factory.mktemp("guarded"), {"alice": "wonderland"}) as broker:
        broker.allow("alice", ResourceType.TOPIC, "connect-", AclOperation.ALL, prefixed=True)
        broker.allow("alice", ResourceType.TRANSACTIONAL_ID, "penstock-", AclOperation.ALL, prefixed=True)
        yield broker


@pytest.fixture
def lab(guarded: SecuredKafka, processes: Processes, journal: Journal) -> Lab:
    return Lab(guarded.plain, processes, journal)


@MODES
def test_batches_become_small_enough_for_a_topic_that_does_not_report_its_limit(
    guarded: SecuredKafka, lab: Lab, tmp_path: Path, guarantee: str
) -> None:
    topic, file, count = lab.topic(max_message_bytes="50000"), tmp_path / "in.txt", 20_000
    guarded.allow("alice", ResourceType.TOPIC, topic, AclOperation.WRITE)
    lines(file, 0, count)
    _, task = follow(lab, file, topic, guarantee, **TOLERANT, worker=guarded.worker("alice"))
    await_written(task, count)
    lines(file, count, count)
    await_written(task, 2 * count)
    task.stop()
    in_order(lab.values(topic), 2 * count, guarantee)
    assert (total(task, "failures"), total(task, "written")) == (0, 2 * count)


@pytest.mark.parametrize("compression", ["none", "lz4"])
def test_records_too_large_for_such_a_topic_are_found_and_counted(
    guarded: SecuredKafka, lab: Lab, compression: str
) -> None:
    topic, dlq = lab.topic(max_message_bytes="5000"), lab.topic("dlq")
    for name in (topic, dlq):
        guarded.allow("alice", ResourceType.TOPIC, name, AclOperation.WRITE)
    random = Random(7)
    large = [{"value": "".join(random.choices(ascii_letters, k=9_000 + n))} for n in range(30)]
    script = [[v for k in range(30) for v in (f"a{k}", large[k], f"b{k}")], ["last"]]
    more = {
        **TOLERANT,
        "errors.deadletterqueue.topic.name": dlq,
        "delivery.guarantee": "at-least-once",
        "producer.override.compression.type": compression,
    }
    _, task = lab.source(script, topic, **more, worker=guarded.worker("alice"))
    lab.journal.count("commit", 2)
    task.stop()
    values = lab.values(topic)
    last = {v: n for n, v in enumerate(values)}
    arrived = sorted(last, key=last.__getitem__)
    assert [v for v in arrived if len(v) < 100] == [*(f"{x}{k}" for k in range(30) for x in "ab"), "last"]
    assert not [v for v in arrived if len(v) > 100]
    assert total(task, "failures") == 30
    assert len(set(lab.values(dlq))) == 30


@MODES
def test_a_missing_right_to_write_fails_the_task_immediately_and_is_named(
    guarded: SecuredKafka, lab: Lab, guarantee: str
) -> None:
    topic = lab.topic()
    guarded.allow("alice", ResourceType.TOPIC, topic, AclOperation.DESCRIBE)
    _, task = lab.source([["a", "b"]], topic, worker=guarded.worker("alice"), **{"delivery.guarantee": guarantee})
    message = failed(task)
    assert "Topic authorization failed" in message
    assert "Grant the principal of this connector the missing ACL" in message


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_tolerance_covers_a_missing_right_only_at_least_once_as_in_kafka_connect(
    guarded: SecuredKafka, lab: Lab, guarantee: str
) -> None:
    topic, other = lab.topic(), lab.topic()
    guarded.allow("alice", ResourceType.TOPIC, topic, AclOperation.DESCRIBE)
    guarded.allow("alice", ResourceType.TOPIC, other, AclOperation.WRITE)
    script = [[v for n in range(500) for v in ({"value": f"x{n}"}, {"value": f"y{n}", "topic": other})]]
    more = {**LOG, "errors.tolerance": "all", "delivery.guarantee": guarantee}
    _, task = lab.source(script, topic, worker=guarded.worker("alice"), **more)
    if guarantee == "exactly-once":
        assert "Grant the principal of this connector the missing ACL" in failed(task)
        assert lab.values(other) == []
        return
    lab.journal.count("commit", 1)
    task.stop()
    assert list(dict.fromkeys(lab.values(other))) == [f"y{n}" for n in range(500)]
    assert (total(task, "failures"), total(task, "written")) == (500, 500)
