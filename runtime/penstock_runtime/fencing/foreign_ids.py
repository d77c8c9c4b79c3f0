"""Makes transactional ids of Kafka Connect known, so that the first plan here fences them.

A task of Kafka Connect that delivers exactly once may be frozen, and wake when its connector runs here. A plan fences the
ids that the incarnation records name (`plan_fence`); those of Kafka Connect's tasks are named by none until they are
written.
"""

from collections.abc import Iterable

from penstock_kafka.records import Entry
from penstock_runtime.fencing.incarnation import TransactionalIds
from penstock_runtime.fencing.plan_fence import Place
from penstock_runtime.kafka.compacted_topic import StatusWriter, read_to_end
from penstock_runtime.kafka.status_topic import Incarnation, latest_incarnation, named_ids

__all__ = ["record_ids", "records_with_ids"]


def record_ids(place: Place, group_id: str, tasks: int) -> list[str]:
    """Write the ids `<group.id>-<connector>-<task>` to the incarnation records; the ids. It may be done again.

    Args:
        place: of the connector's incarnation records, which no task of it may write meanwhile.
        group_id: of Kafka Connect's worker.
        tasks: as many as Kafka Connect may have had.

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
    """The incarnation record of each task, as it is, with Kafka Connect's id among those that it names. Pure."""
    entries = list(entries)
    records = []
    for task in range(tasks):
        latest = latest_incarnation(entries, connector, task) or Incarnation(0, 0, "", 0)
        ids = {*named_ids(entries, connector, task), TransactionalIds(group_id, connector, task).driver}
        records.append(latest.entry(connector, task, ids=ids))
    return records
