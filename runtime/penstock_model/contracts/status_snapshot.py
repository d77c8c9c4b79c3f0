"""Records of one connector that the operator has read from the status topic. Pods start from them (decision 0021).

Without a snapshot a pod would read the whole topic again. Pure.
"""

import base64
import hashlib
from collections.abc import Iterable
from typing import Final

from pydantic import Field

from penstock_model.contracts.base import Part

__all__ = ["StatusSnapshot", "topic_mark", "topic_marks"]

_MARK_BYTES: Final = 6
_MOST_TOPICS: Final = 2_048
"""Maximum topics in a snapshot, in 16 KiB. Further topics are recorded again by each incarnation of a task."""


class StatusSnapshot(Part):
    """Records up to a position. A reader that continues from there knows as much as a reader of the whole topic.

    Attributes:
        topic_id: Kafka's topic ID, which changes when the topic is deleted and created again.
        ends: by partition, the first offset that was not read.
        records: keys and values before those offsets: the incarnation records, joined by `incarnation.merge_records`, and
            for a task the control record.
        generation: greatest plan generation in the reports before those offsets.
        topics: for a task, the marks of the connector's active topics before those offsets (`topic_marks`).
    """

    topic_id: str
    ends: tuple[int, ...]
    records: tuple[tuple[str, str], ...] = ()
    generation: int = 0
    topics: str = Field(default="", exclude_if=lambda v: not v)

    def entries(self) -> list[tuple[bytes, bytes | None]]:
        """Return the records as a reader of the topic receives them."""
        return [(key.encode(), value.encode()) for key, value in self.records]

    def marks(self) -> frozenset[bytes]:
        """Return the marks in `topics`."""
        whole = base64.b64decode(self.topics)
        return frozenset(whole[n : n + _MARK_BYTES] for n in range(0, len(whole), _MARK_BYTES))


def topic_mark(name: str) -> bytes:
    """Return a short hash of a topic's name. Names of 2,000 topics would not fit into a pod's environment."""
    return hashlib.blake2b(name.encode(), digest_size=_MARK_BYTES).digest()


def topic_marks(names: Iterable[str]) -> str:
    """Return the marks of these topics, as many as fit into a snapshot."""
    return base64.b64encode(b"".join(sorted(map(topic_mark, names))[:_MOST_TOPICS])).decode()
