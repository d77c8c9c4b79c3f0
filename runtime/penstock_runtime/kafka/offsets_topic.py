"""Source offsets as Kafka Connect keeps them: `["<connector>",{source partition}]` -> `{offset}`, or a tombstone.

Written compact and unescaped (no white space, `é` as two bytes). Kafka Connect compares partitions as bytes; here they are
compared as structures, and a partition that was read is written back with the bytes that were read, so that Connect finds
it again (connect-semantics 1). Of several byte forms of one partition, which may lie in several partitions of the topic,
the one with the newest timestamp holds; the others get tombstones when it is written next, together with it. All of them
are known, for a reset must reach each. So it is with one key, too, which lies in another partition of the topic once that
has got more: the last record of each partition counts, and of those the newest. A tombstone in one partition hides an older
record in another only until compaction has removed the tombstone, so a reset writes one to every partition that holds one.
"""

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.errors import ConnectError
from penstock.offsets import Offset, OffsetUpdates, SourcePartition, updated
from penstock_kafka.compacted_reader import read_to_end
from penstock_kafka.records import Entry, Record
from penstock_runtime.kafka.compacted_topic import reader_clients
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["StoredOffsets", "fold", "load"]

log = logging.getLogger(__name__)


# Kept, for `json.dumps` makes an encoder of its own at each call that asks for other separators.
_encoder: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


def _json(value: Any) -> bytes:
    return _encoder.encode(value).encode()


@dataclass
class StoredOffsets:
    """What the offsets topic holds of one connector.

    Attributes:
        offsets: the position of each source partition.
        keys: the bytes under which a partition is written next.
        forms: every live key of a partition.
        live: by partition of the topic, every key whose last record there is no tombstone, as compaction leaves it; also one
            that a newer tombstone in another partition hides.
    """

    connector: str
    offsets: dict[SourcePartition, Offset] = field(default_factory=dict)
    keys: dict[SourcePartition, bytes] = field(default_factory=dict)
    forms: dict[SourcePartition, set[bytes]] = field(default_factory=dict)
    live: dict[int, list[bytes]] = field(default_factory=dict)
    _twofold: set[SourcePartition] = field(default_factory=set)

    def entry(self, partition: SourcePartition, offset: Offset | None) -> Entry:
        """The record that says that `partition` stands at `offset`; None writes a tombstone."""
        key = self.keys.get(partition)
        if key is None:
            key = self.keys[partition] = _json([self.connector, dict(partition)])
        return key, None if offset is None else _json(dict(offset))

    def entries(self, offsets: Mapping[SourcePartition, Offset | None]) -> list[Entry]:
        """One record for each partition, and a tombstone for each other form that it has."""
        return [
            *(self.entry(p, o) for p, o in offsets.items()),
            *(
                (key, None)
                for p in self._twofold.intersection(offsets)
                for key in sorted(self.forms[p] - {self.keys[p]})
            ),
        ]

    def prefer(self, own: "StoredOffsets") -> None:
        """Take over what another topic says, before what this one says."""
        self.offsets.update(own.offsets)
        self.keys.update(own.keys)
        for partition, forms in own.forms.items():
            self.know(partition, forms)

    def advance(self, offsets: OffsetUpdates) -> None:
        """Take over offsets that were committed."""
        self.offsets = updated(self.offsets, offsets)
        for partition in self._twofold.intersection(offsets):
            self.forms[partition] = {self.keys[partition]}
        self._twofold -= offsets.keys()

    def know(self, partition: SourcePartition, forms: Iterable[bytes]) -> None:
        """Learn of live keys of a partition."""
        known = self.forms.setdefault(partition, set())
        known.update(forms)
        if len(known) > 1:
            self._twofold.add(partition)


def fold(connector: str, entries: Iterable[Record]) -> StoredOffsets:
    """Read records of an offsets topic, oldest first within each partition, into what they mean for one connector.

    A malformed record is logged and passed over, as Kafka Connect does; one of another connector is none of ours.
    """
    records: dict[SourcePartition, dict[bytes, dict[int, tuple[int, int, Offset | None]]]] = {}
    name = _json(connector)
    for key, value, timestamp, place, lies_in in entries:
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
        records.setdefault(partition, {}).setdefault(key, {})[lies_in] = (timestamp, place, offset)
    stored = StoredOffsets(connector)
    for partition, keys in records.items():
        forms: dict[bytes, tuple[tuple[int, int, bytes], Offset]] = {}
        for key, last in keys.items():
            # Of one time, the one in the partition that was new, and so holds less.
            timestamp, place, offset = max(last.values(), key=lambda one: (one[0], -one[1]))
            if offset is not None:
                forms[key] = ((timestamp, place, key), offset)
            for lies_in, (_, _, its_offset) in last.items():
                if its_offset is not None:
                    stored.live.setdefault(lies_in, []).append(key)
        if forms:
            newest = max(forms, key=lambda k: forms[k][0])
            stored.keys[partition], stored.offsets[partition] = newest, forms[newest][1]
            stored.know(partition, forms)
    return stored


def load(settings: ClientSettings, connector: str, *, topic: str) -> StoredOffsets:
    """The connector's offsets in one topic, on the cluster that its producers write to.

    Raises:
        RetriableError, ConnectError: as `read_to_end`.
    """
    return fold(connector, read_to_end(reader_clients(settings, servers=settings.bootstrap), topic, past_open=True))
