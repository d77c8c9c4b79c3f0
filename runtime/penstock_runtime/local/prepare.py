"""Before any task starts: internal topics, dead letter queues, and the fencing of every task that was there before."""

import logging
import socket
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.errors import ConnectError
from penstock.taskspec import TaskSpec
from penstock_runtime.engine.incarnation import TransactionalIds
from penstock_runtime.engine.setup import Setup
from penstock_runtime.kafka import transactions
from penstock_runtime.kafka.admin import Admin
from penstock_runtime.kafka.compacted import StatusWriter, read_to_end
from penstock_runtime.kafka.status_topic import Incarnation, State, connector_status, incarnated_tasks

__all__ = ["announce", "prepare"]

log = logging.getLogger(__name__)


def prepare(setup: Setup) -> Mapping[int, int]:
    """Make ready what the tasks of one connector need.

    Args:
        setup: of one of its tasks.

    Returns:
        The incarnation that each task that was there before has now; a new life must be greater.

    Raises:
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
    return _fence(setup) if setup.exactly_once else {}


def _fence(setup: Setup) -> Mapping[int, int]:
    """Shut out every process of every task that this connector had: partitions may move between tasks."""
    name = setup.spec.connector
    before = incarnated_tasks(read_to_end(setup.shared, setup.status_topic), name)
    if not before:
        return {}
    token = uuid.uuid4().hex
    records: dict[int, Incarnation] = {
        task: replace(i, incarnation=i.incarnation + 1, fence=0, token=token) for task, i in before.items()
    }
    writer = StatusWriter(setup.shared, client_id=f"penstock-plan-{name}")
    try:
        writer.write(setup.status_topic, [i.entry(name, task) for task, i in records.items()])
    finally:
        writer.close()
    ids: list[str] = []
    for task, i in records.items():
        of = TransactionalIds(setup.worker.group_id, name, task)
        ids += [of.driver, *of.slots(i.slots)]
    transactions.fence(setup.settings, ids)
    log.info("Fenced %d transactional ids of earlier lives of %s", len(ids), name)
    return {task: i.incarnation for task, i in records.items()}


def announce(setup: Setup, state: State, specs: Sequence[TaskSpec]) -> None:
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
        )
    finally:
        writer.close()
