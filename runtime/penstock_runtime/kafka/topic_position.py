"""Up to where a topic was read, by whoever: a later reader goes on from there where it still is that topic."""

from dataclasses import dataclass
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["TopicPosition", "topic_id"]

_SECONDS: Final = 10.0
_NO_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""Zero: a broker from before topics had ids."""


@dataclass(frozen=True, slots=True)
class TopicPosition:
    """A place in every partition of a topic.

    Attributes:
        topic_id: of that topic.
        ends: by partition, the first offset that was not read.
    """

    topic_id: str
    ends: tuple[int, ...]

    @classmethod
    def of(cls, snapshot: StatusSnapshot | None) -> "TopicPosition | None":
        """The operator's, where it has told one."""
        return None if snapshot is None else cls(snapshot.topic_id, snapshot.ends)

    def start(self, partition: int, low: int, high: int) -> int:
        """From where to read a partition that holds these offsets: all of it where the place is not in it any more."""
        at = self.ends[partition] if partition < len(self.ends) else -1
        return at if low <= at <= high else OFFSET_BEGINNING


def topic_id(settings: ClientSettings, topic: str) -> str | None:
    """Kafka's id of a topic; None: the broker does not say, and nothing that was read before can be built upon.

    To be asked after the offsets that it is to vouch for.
    """
    try:
        client = AdminClient(settings.for_admin())
        asked = client.describe_topics(TopicCollection([topic]), request_timeout=_SECONDS)
        found = str(asked[topic].result(_SECONDS * 2).topic_id)
    except (KafkaException, TimeoutError):
        return None
    return None if found == _NO_ID else found
