"""docs/kafka-acls.md: its rows are enough for what they are for, and without any one of them the missing right is told."""

import queue
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock import ConnectError
from penstock_model.contracts.job import Action, OffsetsVerb, OffsetsWork, Outcome
from penstock_model.contracts.task_reports import Control, control_key
from penstock_operator.errors import Unavailable
from penstock_operator.kafka import StatusTopic
from penstock_operator.settings import Settings
from penstock_runtime.kafka.admin import Admin
from penstock_runtime.kafka.settings import ClientSettings

from ..acl_table import ROWS, Row, grant
from ..journal import Journal
from ..lab import Lab, failed
from ..pods import Pods, shown
from ..reading import create
from ..running import Processes, Running, new_name, until
from ..secured import SecuredKafka, secured_kafka

pytestmark = pytest.mark.slow

USERS = [f"user{n}" for n in range(80)]
ALWAYS = ("every connector",)
PURPOSES = {
    "source": (*ALWAYS, "source"),
    "source that delivers exactly once": (*ALWAYS, "source", "source that delivers exactly once"),
    "source whose topics are created by rule": (*ALWAYS, "source", "source whose topics are created by rule"),
    "sink": (*ALWAYS, "sink"),
    "sink with a dead letter queue": (*ALWAYS, "sink", "sink with a dead letter queue"),
    "reset of a sink's offsets": (*ALWAYS, "sink", "reset of a sink's offsets"),
    "first start of a release": (*ALWAYS, "sink", "first start of a release"),
    "first start with a dead letter queue": (
        *ALWAYS,
        "sink",
        "sink with a dead letter queue",
        "first start with a dead letter queue",
    ),
}
"""What is run, and the rows that it needs."""
PODS = [row for row in ROWS if row.who == "pods"]
OPERATOR = [row for row in ROWS if row.who == "operator"]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    """A broker on which nothing is allowed that no ACL allows; a user for each case."""
    folder = tmp_path_factory.mktemp("guarded")
    with secured_kafka(folder, dict.fromkeys(USERS, "wonderland"), auto_create_topics_enable="false") as broker:
        yield broker


@dataclass
class Case:
    """A connector of one purpose, and a user with rights."""

    kafka: SecuredKafka
    pods: Pods
    user: str
    purpose: str

    def __post_init__(self) -> None:
        lab, mark = self.pods.lab, uuid.uuid4().hex[:8]
        self.name, self.topic, self.dead = f"c{mark}", f"t-{mark}", f"dead-{mark}"
        self.status, self.offsets = f"status-{mark}", f"offsets-{mark}"
        if self.purpose != "first start of a release":
            for internal in (self.status, self.offsets):
                create(self.kafka.plain, internal, 1, **{"cleanup.policy": "compact"})
                lab.produce(internal, b"{}", key=b"of somebody else")  # so that there is something to read
        if "created by rule" not in self.purpose:
            create(self.kafka.plain, self.topic, 1)
        if self.purpose == "sink with a dead letter queue":
            create(self.kafka.plain, self.dead, 1)

    @property
    def names(self) -> dict[str, str]:
        """What the table's placeholders stand for."""
        return {
            "<group.id>": "tenant",
            "<name>": self.name,
            "<status.storage.topic>": self.status,
            "<offset.storage.topic>": self.offsets,
            "<errors.deadletterqueue.topic.name>": self.dead,
            "each topic it writes to": self.topic,
            "each topic it creates": self.topic,
            "each topic it reads": self.topic,
        }

    @property
    def worker(self) -> dict[str, str]:
        return {
            **self.kafka.worker(self.user),
            "group.id": "tenant",
            "status.storage.topic": self.status,
            "offset.storage.topic": self.offsets,
        }

    def manifest(self) -> dict[str, Any]:
        lab = self.pods.lab
        if self.purpose.startswith("source"):
            guarantee = "exactly-once" if "exactly once" in self.purpose else "at-least-once"
            rule = {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "1"}
            more = {"delivery.guarantee": guarantee, **(rule if "created by rule" in self.purpose else {})}
            return lab.source_manifest([["v"]], self.topic, name=self.name, **more)
        lab.produce(self.topic, "good", "bad")
        queue_ = {
            "errors.deadletterqueue.topic.name": self.dead,
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.replication.factor": "1",
            "on": {"bad": {"do": "report"}},
        }
        return lab.sink_manifest(self.topic, name=self.name, **(queue_ if "dead letter" in self.purpose else {}))

    def run(self) -> str | None:
        """Plan, prepare and run it until it has done what it is for; what is said where it cannot."""
        manifest, lab = self.manifest(), self.pods.lab
        resource = shown(self.name, **manifest["spec"])
        answer = self.pods.answer(Action.PLAN, resource, worker=self.worker, prepare=True)
        if answer.outcome is not Outcome.DONE:
            return answer.message
        assert answer.plan is not None
        assert answer.epoch is not None
        spec = answer.plan.tasks[0].for_incarnation(
            generation=answer.epoch.generation, plan=answer.epoch.plan, incarnation=1, token="t"
        )
        task = lab.processes.task(spec.model_copy(update={"worker": {**spec.worker, **self.worker}}))
        told: str | None = until(lambda: self._done(task) or self._told(task), what=task.last_words)
        if told != "done":
            return told
        task.stop()
        if self.purpose.startswith("reset"):
            reset = self.pods.answer(Action.RESET_OFFSETS, resource, worker=self.worker)
            return None if reset.outcome is Outcome.DONE else reset.message
        return None

    def _done(self, task: Running) -> str | None:
        lab = self.pods.lab
        if self.purpose.startswith("source"):
            return "done" if lab.journal.of("commit") else None
        buried = "dead letter" not in self.purpose or lab.records(self.dead)
        return "done" if buried and lab.committed(self.name, self.topic) == 2 else None

    def _told(self, task: Running) -> str | None:
        return failed(task) if task.process.poll() is not None else task.failure or task.trouble


@pytest.fixture
def pods(guarded: SecuredKafka, processes: Processes, journal: Journal, tmp_path: Path) -> Iterator[Pods]:
    made = Pods(Lab(guarded.plain, processes, journal), tmp_path)
    yield made
    for task in made.tasks:
        task.close()


@pytest.fixture
def user() -> str:
    """One that has no right yet."""
    return USERS.pop()


def rows_of(purpose: str) -> list[Row]:
    return [row for row in PODS if row.purpose in PURPOSES[purpose]]


def test_every_row_of_the_table_is_for_something_that_is_run_here() -> None:
    assert {row.purpose for row in PODS} == {p for needed in PURPOSES.values() for p in needed}
    assert {row.who for row in ROWS} == {"operator", "pods"}
    assert "Cluster" not in {row.resource for row in ROWS}


@pytest.mark.parametrize("purpose", PURPOSES)
def test_the_rows_are_enough(guarded: SecuredKafka, pods: Pods, user: str, purpose: str) -> None:
    case = Case(guarded, pods, user, purpose)
    grant(guarded, user, rows_of(purpose), case.names)
    assert case.run() is None


@pytest.mark.parametrize("row", PODS, ids=str)
def test_without_a_row_the_missing_right_is_reported(guarded: SecuredKafka, pods: Pods, user: str, row: Row) -> None:
    purpose = "sink" if row.purpose in ALWAYS else row.purpose
    case = Case(guarded, pods, user, purpose)
    grant(guarded, user, [r for r in rows_of(purpose) if r is not row], case.names)
    told = case.run()
    assert told is not None
    assert row.filled(row.told, case.names) in told
    assert "wonderland" not in told


@pytest.mark.parametrize("purpose", ["source", "source that delivers exactly once"])
def test_a_source_that_may_run_may_be_reset(guarded: SecuredKafka, pods: Pods, user: str, purpose: str) -> None:
    """At least once it has no right to a transactional id, and needs none for this either."""
    case = Case(guarded, pods, user, purpose)
    grant(guarded, user, rows_of(purpose), case.names)
    assert case.run() is None
    resource, work = shown(case.name, **case.manifest()["spec"]), OffsetsWork(verb=OffsetsVerb.RESET)
    answer = pods.answer(Action.OFFSETS, resource, worker=case.worker, offsets=work)
    assert (answer.outcome, answer.message[-23:]) == (Outcome.DONE, "1 position was removed.")
    assert pods.lab.offset_records(case.name, case.offsets)[-1].value is None


def test_a_regular_expression_takes_the_topics_that_may_be_read_and_leaves_the_others_out(
    guarded: SecuredKafka, pods: Pods, user: str
) -> None:
    case, lab = Case(guarded, pods, user, "sink"), pods.lab
    grant(guarded, user, rows_of("sink"), case.names)
    hidden = f"{case.topic}-hidden"
    create(guarded.plain, hidden, 1)
    for topic in (case.topic, hidden):
        lab.produce(topic, "a")
    _, task = lab.start(lab.sink_manifest(f"regex:{case.topic}.*", name=case.name), case.worker)
    lab.wait_committed(case.name, case.topic, 1)
    assert task.trouble is None
    task.stop()
    assert lab.committed(case.name, hidden) is None


def test_an_internal_topic_that_may_not_be_described_is_not_reported_as_missing(
    guarded: SecuredKafka, user: str, topic: str
) -> None:
    """With `internal.topics.automatic.creation.enable=false`."""
    client = {
        "bootstrap.servers": guarded.secured,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": guarded.passwords[user],
    }
    admin = Admin(ClientSettings(producer=client, consumer=client, admin=client))
    with pytest.raises(ConnectError, match=f"Not authorized to describe topic.*'{topic}'"):
        admin.ensure_compacted(
            topic, partitions=1, replication_factor=1, settings={}, named_by="status.storage.topic", may_create=False
        )


# The operator


@dataclass
class Operator:
    """The operator's reading and writing of the status topic."""

    status: StatusTopic
    changes: "queue.Queue[str]"


@pytest.fixture
def topic(guarded: SecuredKafka) -> str:
    name = new_name("status")
    create(guarded.plain, name, 1, **{"cleanup.policy": "compact"})
    return name


def operator(guarded: SecuredKafka, user: str, topic: str) -> Operator:
    changes: queue.Queue[str] = queue.Queue()
    worker = {**guarded.worker(user), "status.storage.topic": topic}
    release = {"name": "penstock", "namespace": "ns"}
    settings = Settings.of({"release": release, "worker": worker, "images": {"runtime": "r:1"}})
    return Operator(StatusTopic(settings, changes.put), changes)


def told_by(made: Operator) -> str | None:
    """What it says once it has read and written."""
    until(lambda: made.status.caught_up or "allow" in (made.status.trouble or ""))
    if not made.status.caught_up:
        return made.status.trouble
    control = Control(connector_uid="u", generation=3, state="Paused")
    try:
        made.status.write([(control_key("ns.orders"), control.to_value())])
    except Unavailable as e:
        return str(e)
    until(lambda: made.status.control("ns.orders") == control)
    return None


@pytest.mark.parametrize("missing", [None, *OPERATOR], ids=str)
def test_the_operators_rows_are_enough_and_without_one_the_missing_right_is_reported(
    guarded: SecuredKafka, user: str, topic: str, missing: Row | None
) -> None:
    names = {"<status.storage.topic>": topic}
    grant(guarded, user, [row for row in OPERATOR if row is not missing], names)
    made = operator(guarded, user, topic)
    try:
        told = told_by(made)
    finally:
        made.status.close()
    if missing is None:
        assert told is None
    else:
        assert told is not None
        assert missing.filled(missing.told, names) in told
