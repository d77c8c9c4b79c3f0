"""Remove active topics that a sink no longer reads after its configuration has changed (KIP-558)."""

import logging
import threading
from collections.abc import Callable, Collection

from penstock.errors import ConnectError
from penstock_model.connect.status_records import topic_key
from penstock_model.contracts.status_snapshot import topic_mark
from penstock_runtime.kafka.compacted_topic import StatusWriter, read_to_end
from penstock_runtime.kafka.status_topic import active_topics
from penstock_runtime.pipeline.context import TaskContext

__all__ = ["forget_unread"]

log = logging.getLogger(__name__)


def forget_unread(context: TaskContext, is_read: Callable[[str], object], known: Collection[str]) -> None:
    """Write tombstones for the connector's active topics that it does not read, in a separate thread.

    Kafka is not queried if the operator has passed the active topics and the sink reads all of them.

    Args:
        context: context of the sink's first task, which has started.
        is_read: returns whether the sink reads a topic, whether or not the topic exists.
        known: topics that the sink reads.
    """
    snapshot = context.spec.status
    if not context.worker.topic_tracking_enable:
        return
    if snapshot is not None and snapshot.marks() <= {topic_mark(name) for name in known}:
        return
    threading.Thread(target=_forget, args=(context, is_read), name="unread-topics", daemon=True).start()


def _forget(context: TaskContext, is_read: Callable[[str], object]) -> None:
    name = context.spec.connector
    try:
        active = active_topics(read_to_end(context.shared, context.status_topic), name)
        unread = [topic.name for topic in active if not is_read(topic.name)]
        if not unread:
            return
        writer = StatusWriter(context.shared, client_id=f"penstock-topics-{context.spec.id}")
        try:
            writer.write(context.status_topic, [(topic_key(topic, name), None) for topic in unread])
        finally:
            writer.close()
    except ConnectError as e:  # the next start does it
        log.info("Topics that are no longer read remain active topics: %s", e)
    else:
        log.info("Removed active topics that are no longer read: %s", ", ".join(sorted(unread)))
