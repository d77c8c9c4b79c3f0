"""Before any task starts: internal topics, dead letter queues, and the fencing of every task that was there before."""

import logging
import socket
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors import ConnectError, Superseded
from penstock.taskspec import TaskSpec
from penstock_runtime.engine.incarnation import TransactionalIds, all_ids
from penstock_runtime.engine.setup import Setup
from penstock_runtime.kafka import transactions
from penstock_runtime.kafka.admin import Admin
from penstock_runtime.kafka.compacted import StatusWriter, read_to_end
from penstock_runtime.kafka.status_topic import Incarnation, State, connector_status, incarnated_tasks, named_ids

__all__ = ["Standing", "announce", "prepare"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Standing:
    """A plan's place among the plans of its connector (`TaskSpec.generation`, `TaskSpec.plan`)."""

    generation: int
    plan: str


def prepare(setup: Setup) -> Standing:
    """Make ready what the tasks of one connector need.

    Args:
        setup: of one of its tasks.

    Returns:
        The place of this plan, greater than those of all before it.

    Raises:
        Superseded: somebody else starts the same connector at this moment, and is the greater.
        RetriableError: Kafka is away.
        ConnectError: a topic cannot be made, or is not what it must be.
    """
    worker = setup.worker
    admin = Admin(setup.shared)
    servers = setup.settings.bootstrap
    target = admin if servers == setup.shared.bootstrap else Admin(setup.settings, servers=servers)
    raw = worker.raw
    for topic, partitions, factor, prefix in (
        (worker.status_storage_topic, worker.status_storage_partitions, worker.status_storage_replication_factor,
         "status.storage"),
        (worker.offset_storage_topic, worker.offset_storage_partitions, worker.offset_storage_replication_factor,
         "offset.storage"),
    ):  # fmt: skip
        own = {"topic", "partitions", "replication.factor"}
        more = {k[len(prefix) + 1 :]: v for k, v in raw.items() if k.startswith(f"{prefix}.")}
        admin.ensure_compacted(
            topic, partitions=partitions, replication_factor=factor, named_by=f"{prefix}.topic",
            settings={k: v for k, v in more.items() if k not in own},
        )  # fmt: skip
    if setup.spec.kind == "source" and setup.own_offsets:
        target.ensure_compacted(
            setup.offsets_topic, partitions=worker.offset_storage_partitions, settings={},
            replication_factor=worker.offset_storage_replication_factor, named_by="offsets.storage.topic",
        )  # fmt: skip
    dead_letters = setup.policy.dead_letter_topic
    if dead_letters is not None:
        try:
            target.ensure_exists(
                dead_letters, partitions=1, replication_factor=setup.framework.dlq_replication_factor,
                named_by="errors.deadletterqueue.topic.name",
            )  # fmt: skip
        except ConnectError as e:
            raise ConnectError(f"Could not initialize dead letter queue with topic={dead_letters}: {e}") from e
    if setup.exactly_once:
        return _fence(setup, setup.spec.tasks)
    return Standing(int(time.time()), uuid.uuid4().hex)


def _fence(setup: Setup, tasks: int) -> Standing:
    """Shut out every process of every task that this connector had: partitions may move between tasks.

    The new plan's records stand before anything is fenced, for the tasks that were and for those that will be; a plan
    that finds a greater one beside its own leaves it the field.
    """
    name = setup.spec.connector
    entries = read_to_end(setup.shared, setup.status_topic)
    before = incarnated_tasks(entries, name)
    standing = Standing(1 + max((i.generation for i in before.values()), default=0), uuid.uuid4().hex)
    slots = {task: before[task].slots if task in before else 0 for task in {*before, *range(tasks)}}
    drivers = {  # as the lives before named them: `group.id` may have been another
        t: {TransactionalIds(setup.worker.group_id, name, t).driver, *named_ids(entries, name, t)} for t in slots
    }
    writer = StatusWriter(setup.shared, client_id=f"penstock-plan-{name}")
    written: set[int] = set()
    try:
        while slots.keys() - written:
            records = [
                Incarnation(0, 0, "", slots[t], standing.generation, standing.plan).entry(
                    name, t, ids=drivers.get(t, ())
                )
                for t in sorted(slots.keys() - written)
            ]
            writer.write(setup.status_topic, records)
            written |= slots.keys()
            for task, found in incarnated_tasks(read_to_end(setup.shared, setup.status_topic), name).items():
                if (found.generation, found.plan) > (standing.generation, standing.plan):
                    raise Superseded(f"Connector {name} was started elsewhere at this moment; it runs there")
                slots[task] = max(found.slots, slots.get(task, 0))
    finally:
        writer.close()
    ids: list[str] = []
    for task, count in slots.items():
        ids += all_ids(drivers[task], count) if task in before else []
    if ids:
        transactions.fence(setup.settings, ids)
        log.info("Fenced %d transactional ids of earlier lives of %s", len(ids), name)
    return standing


def announce(setup: Setup, state: State, specs: Sequence[TaskSpec], *, timeout: float = 30.0) -> None:
    """Write the connector's state to the status topic, as Connect's herder does."""
    writer = StatusWriter(setup.shared, client_id=f"penstock-plan-{setup.spec.connector}")
    try:
        writer.write(
            setup.status_topic,
            [
                connector_status(
                    setup.spec.connector,
                    state,
                    worker_id=socket.gethostname(),
                    generation=setup.spec.generation,
                    version=specs[0].plugins["connector"].version if specs else None,
                )
            ],
            timeout=timeout,
        )
    finally:
        writer.close()
