"""Offsets of a Connector in Kafka Connect's format (KIP-875), and the effect of changes. Pure."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from penstock.offsets import SourcePartition
from penstock_model.connect.offset_changes import offset_changes

__all__ = ["MOST_OFFSETS", "Change", "OffsetRow", "changes_of", "offset_rows"]

MOST_OFFSETS: Final = 500


class OffsetRow(NamedTuple):
    """Position in a partition."""

    partition: str
    offset: str


class Change(NamedTuple):
    """Position before and after a change; empty: there is none."""

    partition: str
    before: str
    after: str


def offset_rows(listed: Mapping[str, Any]) -> list[OffsetRow]:
    """Return the positions of a list."""
    return [OffsetRow(_partition(e["partition"]), _offset(e["offset"])) for e in listed.get("offsets") or ()]


def changes_of(listed: Mapping[str, Any], document: str | None) -> list[Change]:
    """Return the changes that a request would make.

    Args:
        listed: the last list.
        document: JSON in the format of the list; None: all positions are reset.

    Raises:
        ConfigError: it is not in that format.
    """
    before = {SourcePartition(e["partition"]): e["offset"] for e in listed.get("offsets") or ()}
    after = dict.fromkeys(before) if document is None else offset_changes(document, "the new offsets")
    return [
        Change(_partition(partition), _offset(before.get(partition)), _offset(offset))
        for partition, offset in after.items()
    ]


def _partition(partition: Mapping[str, Any]) -> str:
    if set(partition) == {"kafka_topic", "kafka_partition"}:
        return f"{partition['kafka_topic']}, partition {partition['kafka_partition']}"
    return json.dumps(dict(partition), ensure_ascii=False)


def _offset(offset: Mapping[str, Any] | None) -> str:
    if offset is None:
        return ""
    if set(offset) == {"kafka_offset"}:
        return str(offset["kafka_offset"])
    return json.dumps(dict(offset), ensure_ascii=False)
