"""Printed tables of offsets. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.offsets import Offset, OffsetUpdates, SourcePartition
from penstock.sink import TopicPartition
from penstock_cli.text_table import text_table

__all__ = ["change_table", "list_table", "partition_of_kafka"]

_NONE = "none"


def list_table(
    entries: Iterable[Mapping[str, Any]], ends: Mapping[TopicPartition, int], *, has_sink: bool = True
) -> str:
    """Return the table of a list; a sink's entries have the end of each partition and the number of records left to read.

    Args:
        entries: in KIP-875's form, those of a source before those of a sink.
        ends: end offsets of the Kafka partitions that exist.
        has_sink: whether a sink's entries can be among them.
    """
    of_source: list[Sequence[str]] = [("SOURCE PARTITION", "OFFSET")]
    of_sink: list[Sequence[str]] = [("TOPIC", "PARTITION", "OFFSET", "END", "LAG")]
    for entry in entries:
        place = partition_of_kafka(entry) if has_sink else None
        if place is None:
            of_source.append((_json(entry["partition"]), _json(entry["offset"])))
            continue
        offset, end = entry["offset"]["kafka_offset"], ends.get(place)
        rest = ("gone", "") if end is None else (str(end), str(max(0, end - offset)))
        of_sink.append((place.topic, str(place.partition), str(offset), *rest))
    return "".join(text_table(rows) for rows in (of_source, of_sink) if len(rows) > 1)


def change_table(before: Mapping[SourcePartition, Offset], changes: OffsetUpdates, *, is_sink: bool) -> str:
    """Return a table of the partitions that change, each with its offset before and after."""
    rows = [("PARTITION", "BEFORE", "AFTER")]
    for partition, after in changes.items():
        name = f"{partition['kafka_topic']}-{partition['kafka_partition']}" if is_sink else _json(partition)
        rows.append((name, _shown(before.get(partition), is_sink=is_sink), _shown(after, is_sink=is_sink)))
    return text_table(rows) if len(rows) > 1 else ""


def partition_of_kafka(entry: Mapping[str, Any]) -> TopicPartition | None:
    """Return the Kafka partition that a sink's entry names; None for an entry of a source."""
    partition, offset = entry["partition"], entry["offset"]
    if set(partition) != {"kafka_topic", "kafka_partition"} or set(offset) != {"kafka_offset"}:
        return None
    topic, number = partition["kafka_topic"], partition["kafka_partition"]
    if not isinstance(topic, str) or not isinstance(number, int) or not isinstance(offset["kafka_offset"], int):
        return None
    return TopicPartition(topic, number)


def _shown(offset: Offset | None, *, is_sink: bool) -> str:
    if offset is None:
        return _NONE
    return str(offset["kafka_offset"]) if is_sink else _json(offset)


def _json(fields: Mapping[str, Any]) -> str:
    return json.dumps(dict(fields), ensure_ascii=False, separators=(",", ":"))
