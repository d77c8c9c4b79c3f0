"""Record transactional ids of Kafka Connect, so that the first plan of Penstock fences them.

An exactly-once task of Kafka Connect may be frozen, and resume when Penstock already runs its connector. A plan fences the
ids in the incarnation records (`plan_fence`), which contain the ids of Kafka Connect's tasks only after they are recorded
here.
"""

from collections.abc import Iterable

from penstock_kafka.records import Entry
from penstock_runtime.fencing.incarnation import TransactionalIds
from penstock_runtime.fencing.plan_fence import Place
from penstock_runtime.kafka.compacted_topic import StatusWriter, read_to_end
from penstock_runtime.kafka.status_topic import Incarnation, latest_incarnation, named_ids

__all__ = ["record_ids", "records_with_ids"]


def record_ids(place: Place, group_id: str, tasks: int) -> list[str]:
    """Write the ids `<group.id>-<connector>-<task>` to the incarnation records; return the ids. Idempotent.

    Args:
        place: location of the connector's incarnation records. No task of the connector may write to them at the same time.
        group_id: `group.id` of Kafka Connect's worker.
        tasks: maximum number of tasks that Kafka Connect may have had.

    Raises:
        RetriableError, ConnectError: Kafka does not answer, or refuses.
    """
    entries = read_to_end(place.shared, place.status_topic)
    writer = StatusWriter(place.shared, client_id=f"penstock-import-{place.connector}")
    try:
        writer.write(place.status_topic, records_with_ids(entries, place.connector, group_id, tasks))
    finally:
        writer.close()
    return [TransactionalIds(group_id, place.connector, task).driver for task in range(tasks)]


def records_with_ids(entries: Iterable[Entry], connector: str, group_id: str, tasks: int) -> list[Entry]:
    """Return the incarnation record of each task with Kafka Connect's id added, and otherwise unchanged. Without I/O."""
    entries = list(entries)
    records = []
    for task in range(tasks):
        latest = latest_incarnation(entries, connector, task) or Incarnation(0, 0, "", 0)
        ids = {*named_ids(entries, connector, task), TransactionalIds(group_id, connector, task).driver}
        records.append(latest.entry(connector, task, ids=ids))
    return records
