"""Partitions of a reader, pickled for other processes, in parts that can be recognized after a crash.

The digest of a cut depends on the contents of the partitions. It does not depend on the order in which the reader returns
them, or on which of their values are the same object, so it is the same in another process. Likewise, the index of
a part depends only on its partitions.
"""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

__all__ = ["Cut", "cut", "pickled"]

_MOST_PARTS: Final = 32
"""Maximum number of parts. Each part writes an offset with both ends of the round, and more parts than readers have no
benefit."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Partitions in parts.

    Attributes:
        parts: the pickled partitions of each part, in the order in which the reader returned them.
        digest: digest of all partitions.
    """

    parts: tuple[tuple[bytes, ...], ...]
    digest: str


def cut(partitions: Iterable[Any]) -> Cut:
    """Return the partitions in parts; few partitions become one part each."""
    named = [(pickled(p), _digest(p)) for p in partitions]
    ranks = sorted(range(len(named)), key=lambda at: named[at][1])
    count = min(len(named), _MOST_PARTS)
    parts = tuple(tuple(named[at][0] for at in sorted(ranks[number::count])) for number in range(count))
    return Cut(parts, sha256(b"".join(named[at][1] for at in ranks)).hexdigest()[:32])


def pickled(partition: Any) -> bytes:
    """Return a pickled partition for another process."""
    from pyspark import cloudpickle

    data: bytes = cloudpickle.dumps(partition)  # type: ignore[no-untyped-call]
    return data


def _digest(partition: Any) -> bytes:
    """Return a digest of a partition's contents."""
    from pyspark import cloudpickle

    written = io.BytesIO()
    pickler = cloudpickle.Pickler(written)  # type: ignore[no-untyped-call]
    pickler.fast = True  # equal values are written in full, whether or not they are the same object
    try:
        pickler.dump(partition)  # type: ignore[no-untyped-call]
    except (ValueError, RecursionError):  # it contains itself
        return sha256(pickled(partition)).digest()
    return sha256(written.getvalue()).digest()
