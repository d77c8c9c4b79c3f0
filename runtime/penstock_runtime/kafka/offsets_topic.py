"""Source offsets in Kafka Connect's format: `["<connector>",{source partition}]` -> `{offset}`, or a tombstone.

Keys and values are written as Jackson writes them: compact, `é` as two bytes, an emoji as two escapes, 1e10 as `1.0E10`.
Kafka Connect compares source partitions as bytes. Penstock compares them as structures, and writes a partition back with the
bytes that it read, so that Kafka Connect finds it again (connect-semantics 1).

One source partition may have several byte forms, possibly in several partitions of the topic. The form with the newest
timestamp is valid; the others get tombstones together with its next record. All forms are remembered, since a reset must
delete each. The same applies to a single key, which maps to another partition of the topic after partitions were added: the
last record of each partition counts, and the newest of those is valid. A tombstone in one partition hides an older record in
another only until compaction removes the tombstone, so a reset writes one to every partition that holds a record.
"""

import json
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.errors import ConnectError
from penstock.offsets import Offset, OffsetUpdates, SourcePartition, updated
from penstock_java_compat.floats import double_text
from penstock_kafka.compacted_reader import read_to_end
from penstock_kafka.records import Entry, Record
from penstock_kafka.topic_consumer import NoSuchTopic
from penstock_runtime.kafka.compacted_topic import reader_clients
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["StoredOffsets", "fold", "load", "load_if_present"]

log = logging.getLogger(__name__)


# One encoder, since `json.dumps` creates a new one at each call that sets separators.
_encoder: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


# Jackson, which Kafka Connect uses to write and look up keys, spells these differently: doubles, control characters,
# characters beyond U+FFFF, and lone surrogates. Most strings contain none.
_DIFFERENT: Final = re.compile(r"[0-9][.e]|NaN|Infinity|\\u00|[\ud800-\udfff\U00010000-\U0010ffff]")
_TOKENS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?|NaN|-?Infinity', re.DOTALL)
_CHARACTERS: Final = re.compile(r"\\u00..|\\.|[\ud800-\udfff\U00010000-\U0010ffff]")


def _json(value: Any) -> bytes:
    text = _encoder.encode(value)
    return (_TOKENS.sub(_as_jackson, text) if _DIFFERENT.search(text) else text).encode()


def _as_jackson(token: re.Match[str]) -> str:
    text = token[0]
    if text[0] == '"':
        return _CHARACTERS.sub(_character_as_jackson, text)
    if text.lstrip("-").isdigit():
        return text
    number = double_text(float(text))
    return number if number[-1].isdigit() else f'"{number}"'


def _character_as_jackson(found: re.Match[str]) -> str:
    text = found[0]
    if text[0] == "\\":
        return f"\\u{text[2:].upper()}" if len(text) > 2 else text
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex().upper()}" for i in range(0, len(units), 2))


@dataclass
class StoredOffsets:
    """Records of one connector in the offsets topic.

    Attributes:
        offsets: offset of each source partition.
        keys: by source partition, the key of its next record.
        forms: by source partition, every live key.
        live: by partition of the topic, every key whose last record in that partition is not a tombstone, including keys
            hidden by a newer tombstone in another partition.
        places: by source partition, the same keys as pairs of topic partition and key.
    """

    connector: str
    offsets: dict[SourcePartition, Offset] = field(default_factory=dict)
    keys: dict[SourcePartition, bytes] = field(default_factory=dict)
    forms: dict[SourcePartition, set[bytes]] = field(default_factory=dict)
    live: dict[int, list[bytes]] = field(default_factory=dict)
    places: dict[SourcePartition, list[tuple[int, bytes]]] = field(default_factory=dict)
    _with_several_keys: set[SourcePartition] = field(default_factory=set)

    def entry(self, partition: SourcePartition, offset: Offset | None) -> Entry:
        """Return the record that sets `partition` to `offset`. None makes it a tombstone."""
        key = self.keys.get(partition)
        if key is None:
            key = self.keys[partition] = _json([self.connector, dict(partition)])
        return key, None if offset is None else _json(dict(offset))

    def entries(self, offsets: Mapping[SourcePartition, Offset | None]) -> list[Entry]:
        """Return a record for each source partition, and a tombstone for each of its other keys."""
        return [
            *(self.entry(p, o) for p, o in offsets.items()),
            *(
                (key, None)
                for p in self._with_several_keys.intersection(offsets)
                for key in sorted(self.forms[p] - {self.keys[p]})
            ),
        ]

    def prefer(self, own: "StoredOffsets") -> None:
        """Merge the offsets of another topic, which override the offsets of this one."""
        self.offsets.update(own.offsets)
        self.keys.update(own.keys)
        for partition, forms in own.forms.items():
            self.know(partition, forms)

    def advance(self, offsets: OffsetUpdates) -> None:
        """Apply committed offsets."""
        self.offsets = updated(self.offsets, offsets)
        for partition in self._with_several_keys.intersection(offsets):
            self.forms[partition] = {self.keys[partition]}
        self._with_several_keys -= offsets.keys()

    def know(self, partition: SourcePartition, forms: Iterable[bytes]) -> None:
        """Add live keys of a source partition."""
        known = self.forms.setdefault(partition, set())
        known.update(forms)
        if len(known) > 1:
            self._with_several_keys.add(partition)


def fold(connector: str, entries: Iterable[Record]) -> StoredOffsets:
    """Return the offsets of one connector from the records of an offsets topic, given oldest first within each partition.

    Malformed records are logged and ignored, as in Kafka Connect; records of other connectors are ignored.
    """
    records: dict[SourcePartition, dict[bytes, dict[int, tuple[int, int, Offset | None]]]] = {}
    name = _json(connector)
    for key, value, timestamp, position, topic_partition in entries:
        if not key.startswith(b"[" + name) and connector.encode() not in key and b"\\" not in key:
            continue
        try:
            of, fields = json.loads(key)
            if of != connector:
                continue
            partition = SourcePartition(fields)
            offset = None if value is None else json.loads(value)
            if offset is not None and not isinstance(offset, dict):
                raise ValueError("not an object")
        except (ValueError, TypeError, AttributeError, ConnectError):
            log.warning("Ignoring a malformed record in the offsets topic: key %r", key[:200])
            continue
        records.setdefault(partition, {}).setdefault(key, {})[topic_partition] = (timestamp, position, offset)
    stored = StoredOffsets(connector)
    for partition, keys in records.items():
        forms: dict[bytes, tuple[tuple[int, int, bytes], Offset]] = {}
        for key, last in keys.items():
            # Of records with equal timestamps, take the one in the newer partition, which holds fewer records.
            timestamp, position, offset = max(last.values(), key=lambda record: (record[0], -record[1]))
            if offset is not None:
                forms[key] = ((timestamp, position, key), offset)
            for topic_partition, (_, _, its_offset) in last.items():
                if its_offset is not None:
                    stored.live.setdefault(topic_partition, []).append(key)
                    stored.places.setdefault(partition, []).append((topic_partition, key))
        if forms:
            newest = max(forms, key=lambda k: forms[k][0])
            stored.keys[partition], stored.offsets[partition] = newest, forms[newest][1]
            stored.know(partition, forms)
    return stored


def load(settings: ClientSettings, connector: str, *, topic: str) -> StoredOffsets:
    """Read the connector's offsets in one topic, on the cluster that its producers write to.

    Raises:
        RetriableError, ConnectError: as `read_to_end`.
    """
    return fold(connector, read_to_end(reader_clients(settings, servers=settings.bootstrap), topic, past_open=True))


def load_if_present(settings: ClientSettings, connector: str, *, topic: str) -> StoredOffsets:
    """Read the connector's offsets, as `load` does; return none if the topic does not exist."""
    try:
        return load(settings, connector, topic=topic)
    except NoSuchTopic:
        return StoredOffsets(connector)
