"""Prepare a set of tasks: create internal topics and dead letter queues, and fence the connector's earlier tasks."""

import logging
import socket
import time
from collections.abc import Sequence
from typing import Final

from penstock.errors import ConnectError, RetriableError
from penstock_kafka.topic_consumer import NoSuchTopic
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.fencing.plan_fence import Place, fence, supersede
from penstock_runtime.kafka.admin import Admin
from penstock_runtime.kafka.compacted_topic import StatusWriter, read_to_end
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.status_topic import State, connector_status
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.source.context import SourceContext

__all__ = ["announce", "make_internal_topics", "make_status_topic", "place_of", "prepare"]

log = logging.getLogger(__name__)
_APPEARS: Final = 10.0  # seconds


def prepare(context: TaskContext, known: StatusSnapshot | None = None, owner: str = "") -> PlanEpoch:
    """Create the topics that the tasks of one connector need, and fence earlier tasks.

    Args:
        context: context of one of its tasks.
        known: the connector's records that the operator has read from the status topic.
        owner: mark of the Connector that is prepared (`PlanEpoch.owner`); empty if there is none.

    Returns:
        Epoch of this plan, greater than those of all plans before it.

    Raises:
        Superseded: another process is starting the same connector, with a greater generation.
        RetriableError: Kafka does not answer.
        ConnectError: a topic cannot be created, or is not compacted as required.
    """
    make_internal_topics(context)
    dead_letters = context.policy.dead_letter_topic
    if dead_letters is not None:
        try:
            _target_admin(context).ensure_exists(
                dead_letters, replication_factor=context.framework.dlq_replication_factor
            )
        except ConnectError as e:
            raise ConnectError(f"Could not initialize dead letter queue with topic={dead_letters}: {e}") from e
    place = place_of(context, owner)
    if context.exactly_once:
        return fence(place, context.spec.tasks, known=known).epoch
    # The minimum generation is the current time: nothing is fenced here, so this plan must be the newest even if the
    # topic was lost.
    return supersede(place, context.spec.tasks, least=int(time.time()), known=known).epoch


def make_internal_topics(context: TaskContext) -> None:
    """Create the topics for the status and the offsets if they are missing, and wait until they can be read.

    With `internal.topics.automatic.creation.enable=false` (KIP-1209) a missing topic is an error.

    Raises:
        RetriableError: Kafka does not answer.
        ConnectError: a topic cannot be created, may not be created, or is not compacted.
    """
    worker = context.worker
    make_status_topic(context.shared, worker)
    topics = [(Admin(context.shared), context.shared, worker.offset_storage_topic, "offset.storage.topic")]
    if isinstance(context, SourceContext) and context.own_offsets:
        topics.append((_target_admin(context), context.settings, context.offsets_topic, "offsets.storage.topic"))
    for at, settings, topic, named_by in topics:
        if at.ensure_compacted(
            topic,
            partitions=worker.offset_storage_partitions,
            replication_factor=worker.offset_storage_replication_factor,
            settings=worker.topic_settings("offset.storage."),
            named_by=named_by,
            may_create=worker.internal_topics_automatic_creation_enable,
        ):
            _appear(settings, topic)


def make_status_topic(shared: ClientSettings, worker: WorkerConfig) -> None:
    """Create the status topic if it is missing, and wait until it can be read. Raises as `make_internal_topics`."""
    if Admin(shared).ensure_compacted(
        worker.status_storage_topic,
        partitions=worker.status_storage_partitions,
        replication_factor=worker.status_storage_replication_factor,
        settings=worker.topic_settings("status.storage."),
        named_by="status.storage.topic",
        may_create=worker.internal_topics_automatic_creation_enable,
    ):
        _appear(shared, worker.status_storage_topic)


def _target_admin(context: TaskContext) -> Admin:
    """Return an admin client of the cluster that the connector writes to."""
    servers = context.settings.bootstrap
    return Admin(context.shared) if servers == context.shared.bootstrap else Admin(context.settings, servers=servers)


def place_of(context: TaskContext, owner: str = "") -> Place:
    """Return the location of the incarnation records of a task's connector."""
    spec, worker = context.spec, context.worker
    return Place(spec.connector, worker.group_id, context.settings, context.shared, context.status_topic, owner)


def _appear(settings: ClientSettings, topic: str) -> None:
    """Wait until a topic that was just created can be read: not all brokers know it immediately."""
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


def announce(context: TaskContext, state: State, specs: Sequence[TaskSpec], *, timeout: float = 30.0) -> None:
    """Write the connector's state to the status topic, as Kafka Connect's herder does."""
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
