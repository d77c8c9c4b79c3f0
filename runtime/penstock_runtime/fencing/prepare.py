"""Before any task starts: internal topics, dead letter queues, and the end of every task that was there before."""

import logging
import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.errors import ConnectError, RetriableError, Superseded
from penstock_kafka.records import Entry
from penstock_kafka.topic_consumer import NoSuchTopic
from penstock_kafka.topic_position import TopicPosition
from penstock_model.contracts.pod_identity import Standing
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.task_reports import Report, report_key
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.fencing.incarnation import TransactionalIds, all_ids
from penstock_runtime.kafka import transactions
from penstock_runtime.kafka.admin import Admin
from penstock_runtime.kafka.compacted_topic import StatusWriter, read_since, read_to_end
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.status_topic import Incarnation, State, connector_status, incarnated_tasks, named_ids
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.source.context import SourceContext

__all__ = ["Place", "announce", "fence", "prepare"]

log = logging.getLogger(__name__)
_APPEARS: Final = 10.0  # seconds


@dataclass(frozen=True)
class Place:
    """Where the lives of a connector's tasks are on record.

    Attributes:
        connector: the Connect name.
        group_id: the worker's, with which transactional ids begin.
        settings: of the cluster that the connector's transactions are on.
        shared: of the worker's own cluster.
        status_topic: there.
        owner: the mark of the Connector that is prepared (`Standing.owner`); empty: of no Connector.
    """

    connector: str
    group_id: str
    settings: ClientSettings
    shared: ClientSettings
    status_topic: str
    owner: str = ""

    @classmethod
    def of(cls, context: TaskContext, owner: str = "") -> "Place":
        """Of a task's."""
        spec, worker = context.spec, context.worker
        return cls(spec.connector, worker.group_id, context.settings, context.shared, context.status_topic, owner)


def prepare(context: TaskContext, known: StatusSnapshot | None = None, owner: str = "") -> Standing:
    """Make ready what the tasks of one connector need.

    Args:
        context: of one of its tasks.
        known: what the operator has read of the status topic about it.
        owner: the mark of the Connector that it is done for (`Standing.owner`); empty: of no Connector.

    Returns:
        The place of this plan, greater than those of all before it.

    Raises:
        Superseded: another process starts the same connector at this moment, with a greater generation.
        RetriableError: Kafka is away.
        ConnectError: a topic cannot be made, or is not what it must be.
    """
    worker = context.worker
    admin = Admin(context.shared)
    servers = context.settings.bootstrap
    target = admin if servers == context.shared.bootstrap else Admin(context.settings, servers=servers)
    raw = worker.raw
    for topic, partitions, factor, prefix in (
        (worker.status_storage_topic, worker.status_storage_partitions, worker.status_storage_replication_factor,
         "status.storage"),
        (worker.offset_storage_topic, worker.offset_storage_partitions, worker.offset_storage_replication_factor,
         "offset.storage"),
    ):  # fmt: skip
        own = {"topic", "partitions", "replication.factor"}
        more = {k[len(prefix) + 1 :]: v for k, v in raw.items() if k.startswith(f"{prefix}.")}
        made = admin.ensure_compacted(
            topic, partitions=partitions, replication_factor=factor, named_by=f"{prefix}.topic",
            settings={k: v for k, v in more.items() if k not in own},
        )  # fmt: skip
        if made:
            _appear(context.shared, topic)
    if isinstance(context, SourceContext) and context.own_offsets:
        made = target.ensure_compacted(
            context.offsets_topic, partitions=worker.offset_storage_partitions,
            settings=worker.topic_settings("offset.storage."),
            replication_factor=worker.offset_storage_replication_factor, named_by="offsets.storage.topic",
        )  # fmt: skip
        if made:
            _appear(context.settings, context.offsets_topic)
    dead_letters = context.policy.dead_letter_topic
    if dead_letters is not None:
        try:
            target.ensure_exists(
                dead_letters, partitions=1, replication_factor=context.framework.dlq_replication_factor,
                named_by="errors.deadletterqueue.topic.name",
            )  # fmt: skip
        except ConnectError as e:
            raise ConnectError(f"Could not initialize dead letter queue with topic={dead_letters}: {e}") from e
    place = Place.of(context, owner)
    if context.exactly_once:
        return fence(place, context.spec.tasks, known=known)
    # By the clock: without ids that are fenced, records alone tell which plan is newer, also when the topic was lost.
    return _supersede(place, context.spec.tasks, least=int(time.time()), known=known).standing


def _appear(settings: ClientSettings, topic: str) -> None:
    """Wait until a topic that was just made can be read: the brokers hear of it one after the other."""
    deadline = time.monotonic() + _APPEARS
    while True:
        try:
            read_to_end(settings, topic, servers=settings.bootstrap)
        except (NoSuchTopic, RetriableError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def fence(place: Place, tasks: int = 0, *, transactional: bool = True, known: StatusSnapshot | None = None) -> Standing:
    """Shut out every process of every task that a connector had: partitions may move between tasks.

    The new plan's records stand before anything is fenced, for the tasks that were and for those that will be; a plan
    that finds a greater one beside its own leaves it the field.

    Args:
        place: where they are on record.
        tasks: how many there will be.
        transactional: lives before may have had ids that no record names: those of old records do not. Without, only named
            ids are fenced, and who may not use any need not be allowed to.
        known: as for `prepare`.

    Returns:
        The place of the plan that those will belong to.

    Raises:
        Superseded: another process starts the same connector at this moment, with a greater generation.
        RetriableError, ConnectError: Kafka is away, or refuses.
    """
    recorded = _supersede(place, tasks, transactional=transactional, known=known)
    if recorded.ids:
        transactions.fence(place.settings, recorded.ids)
        log.info("Fenced %d transactional ids of earlier lives of %s", len(recorded.ids), place.connector)
    return recorded.standing


@dataclass(frozen=True)
class _Recorded:
    """A plan that is on record for every task.

    Attributes:
        standing: the plan's.
        ids: the transactional ids that lives before it may still hold.
    """

    standing: Standing
    ids: list[str]


def _supersede(
    place: Place, tasks: int, *, transactional: bool = False, least: int = 0, known: StatusSnapshot | None = None
) -> _Recorded:
    """Write a new plan's records for the tasks that were and for those that will be.

    Every life of an earlier plan finds them when it looks, and leaves. Arguments and errors are those of `fence`;
    `least` is the least generation.
    """
    name = place.connector
    entries = [] if known is None else known.entries()
    news, position = read_since(place.shared, place.status_topic, TopicPosition.of(known))
    entries += news
    before = incarnated_tasks(entries, name)
    greatest = max(_generation(entries, name), 0 if known is None else known.generation)
    standing = Standing.of_owner(max(least, 1 + greatest), place.owner)
    slots = {task: before[task].slots if task in before else 0 for task in {*before, *range(tasks)}}
    drivers = {  # as the lives before named them: `group.id` may have been another
        t: {
            *named_ids(entries, name, t),
            *({TransactionalIds(place.group_id, name, t).driver} if transactional else ()),
        }
        for t in slots
    }
    writer = StatusWriter(place.shared, client_id=f"penstock-plan-{name}")
    written: set[int] = set()
    try:
        while slots.keys() - written:
            records = [
                Incarnation(0, 0, "", slots[t], standing.generation, standing.plan).entry(
                    name, t, ids=drivers.get(t, ())
                )
                for t in sorted(slots.keys() - written)
            ]
            writer.write(place.status_topic, records)
            written |= slots.keys()
            news, position = read_since(place.shared, place.status_topic, position)
            for task, found in incarnated_tasks(news, name).items():
                if found.standing.is_after(standing):
                    raise Superseded(f"Connector {name} was started elsewhere at this moment; it runs there")
                slots[task] = max(found.slots, slots.get(task, 0))
    finally:
        writer.close()
    ids: list[str] = []
    for task, count in slots.items():
        ids += all_ids(drivers[task], count) if task in before else []
    return _Recorded(standing, ids)


def _generation(entries: Iterable[Entry], connector: str) -> int:
    """The greatest generation in the incarnation records and reports of this connector; 0: there is none."""
    entries = list(entries)
    found = [i.generation for i in incarnated_tasks(entries, connector).values()]
    start = report_key(connector, 0).rpartition(b",")[0] + b","
    reports = [Report.of(value) for key, value in entries if key.startswith(start)]
    return max([*found, *(r.standing.generation for r in reports if r is not None)], default=0)


def announce(context: TaskContext, state: State, specs: Sequence[TaskSpec], *, timeout: float = 30.0) -> None:
    """Write the connector's state to the status topic, as Connect's herder does."""
    writer = StatusWriter(context.shared, client_id=f"penstock-plan-{context.spec.connector}")
    try:
        writer.write(
            context.status_topic,
            [
                connector_status(
                    context.spec.connector,
                    state,
                    worker_id=socket.gethostname(),
                    generation=context.spec.generation,
                    version=specs[0].plugins["connector"].version if specs else None,
                )
            ],
            timeout=timeout,
        )
    finally:
        writer.close()
