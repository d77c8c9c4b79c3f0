"""List a connector's offsets in the JSON of KIP-875, even while tasks run. Write nothing, and call no plugin."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from penstock.offsets import Offset, SourcePartition
from penstock.sink import TopicPartition
from penstock_model.contracts.job import LIST_BYTES, JobRequest
from penstock_runtime.job.offsets_target import Target, target_by_name
from penstock_runtime.job.with_kafka import ClientErrors, OffsetsRefused, with_kafka
from penstock_runtime.kafka.groups import Groups
from penstock_runtime.kafka.offsets_topic import StoredOffsets, load_if_present

__all__ = ["entries_of", "list_offsets", "read_entries", "to_json"]

_TOO_MUCH: Final = (
    "cannot list {count} positions: they take {size} KiB, and the list in a ConfigMap holds at most {most} KiB; run "
    "`penstock offsets list` with the Connector's manifest and spec.connectName set to {name}"
)


def list_offsets(request: JobRequest) -> str:
    """Return the offsets, `{"offsets": [{"partition": {...}, "offset": {...}}, ...]}`, one per line.

    Offsets of a source are those at which its next task would start: the committed ones, once for all byte forms of a
    partition. They are looked up by the connector's name, so that only properties that determine where the offsets are
    stored must be valid. A number that JSON does not support (`NaN`) is written as a string.

    Raises:
        ConfigError: the worker configuration is invalid, the connector has no name, or its client overrides are invalid
            or forbidden by the worker's policy.
        OffsetsRefused: the list is longer than `LIST_BYTES`.
        Unavailable: Kafka is unavailable, or refuses.
    """
    target, entries = read_entries(request)
    text = to_json(entries)
    if (size := len(text.encode())) > LIST_BYTES:
        raise OffsetsRefused(
            _TOO_MUCH.format(
                size=-(-size // 1024), most=LIST_BYTES // 1024, count=len(entries), name=target.place.connector
            )
        )
    return text


def read_entries(request: JobRequest) -> tuple[Target, list[dict[str, Any]]]:
    """Return the target of the offsets, and the entries of the list.

    Raises:
        ConfigError, Unavailable: as `list_offsets`.
    """
    client_errors = ClientErrors()
    kinds = frozenset(("source", "sink") if request.kind is None else (request.kind,))
    target = target_by_name(request, client_errors, kinds, strict=True)
    place = target.place
    return target, with_kafka(lambda: entries_of(target), place.shared, place.settings, client_errors=client_errors)


def entries_of(target: Target) -> list[dict[str, Any]]:
    """Return the entries of the list. Call this only when Kafka answers.

    Raises:
        RetriableError, ConnectError: Kafka does not answer, or refuses.
    """
    entries: list[dict[str, Any]] = []
    if "source" in target.kinds:
        stored = StoredOffsets(target.place.connector)
        for settings, topic in target.topics:
            stored.prefer(load_if_present(settings, target.place.connector, topic=topic))
        entries += _of_source(stored.offsets)
    if "sink" in target.kinds:
        entries += _of_sink(Groups(target.place.settings).committed(target.group))
    return entries


def _of_source(offsets: Mapping[SourcePartition, Offset]) -> Iterator[dict[str, Any]]:
    for partition in sorted(offsets, key=lambda p: json.dumps(dict(p), sort_keys=True)):
        yield {"partition": dict(partition), "offset": dict(offsets[partition])}


def _of_sink(offsets: Mapping[TopicPartition, int]) -> Iterator[dict[str, Any]]:
    for p in sorted(offsets):
        yield {
            "partition": {"kafka_topic": p.topic, "kafka_partition": p.partition},
            "offset": {"kafka_offset": offsets[p]},
        }


def to_json(entries: Iterable[Mapping[str, Any]]) -> str:
    """Return the list in KIP-875's JSON, with a line for each entry."""
    lines = ",\n".join(map(_line, entries))
    return f'{{"offsets":[\n{lines}\n]}}' if lines else '{"offsets":[]}'


def _line(entry: Mapping[str, Mapping[str, Any]]) -> str:
    finite = {name: {n: _finite(v) for n, v in fields.items()} for name, fields in entry.items()}
    text = json.dumps(finite, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can only escape
        return json.dumps(finite, separators=(",", ":"))
    return text


def _finite(value: object) -> object:
    """Return the value, or Kafka Connect's string for a number that JSON does not support."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
