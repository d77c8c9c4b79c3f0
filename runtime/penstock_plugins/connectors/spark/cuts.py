"""The partitions of a reader, as bytes for other processes, in parts that are known again after a crash.

The digest of a cut depends on what the partitions hold and not on the order in which the reader names them, nor on which of
their values are the same object, so that it is the same in another process. The number of a part depends on its partitions
alone likewise.
"""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

__all__ = ["Cut", "cut", "pickled"]

_MOST_PARTS: Final = 32
"""Each part writes an offset that names both ends, so there are not more than processes that could read them."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Partitions in parts.

    Attributes:
        parts: the pickled partitions of each part, in the order in which the reader named them.
        digest: of all partitions.
    """

    parts: tuple[tuple[bytes, ...], ...]
    digest: str


def cut(partitions: Iterable[Any]) -> Cut:
    """Partitions in parts, one for each as long as they are few."""
    named = [(pickled(p), _digest(p)) for p in partitions]
    ranks = sorted(range(len(named)), key=lambda at: named[at][1])
    count = min(len(named), _MOST_PARTS)
    parts = tuple(tuple(named[at][0] for at in sorted(ranks[number::count])) for number in range(count))
    return Cut(parts, sha256(b"".join(named[at][1] for at in ranks)).hexdigest()[:32])


def pickled(partition: Any) -> bytes:
    """A partition for another process."""
    from pyspark import cloudpickle

    data: bytes = cloudpickle.dumps(partition)  # type: ignore[no-untyped-call]
    return data


def _digest(partition: Any) -> bytes:
    """A digest of what a partition holds."""
    from pyspark import cloudpickle

    written = io.BytesIO()
    pickler = cloudpickle.Pickler(written)  # type: ignore[no-untyped-call]
    pickler.fast = True  # equal values are written again, whether or not they are one object
    try:
        pickler.dump(partition)  # type: ignore[no-untyped-call]
    except (ValueError, RecursionError):  # it holds itself
        return sha256(pickled(partition)).digest()
    return sha256(written.getvalue()).digest()
