"""Records that wait at their brokers and do not come: a client can miss that a broker is back."""

from penstock.sink import TopicPartition
from penstock_runtime.kafka.consumers import RecordConsumer
from penstock_runtime.sink.offsets import SinkOffsets

__all__ = ["Missed"]


class Missed:
    """Which of a sink's partitions had more to read at one look, and at the next, with nothing read between.

    Args:
        consumer: knows the ends.
        offsets: knows where reading stands.
    """

    def __init__(self, consumer: RecordConsumer, offsets: SinkOffsets) -> None:
        self._consumer = consumer
        self._offsets = offsets
        self._waiting: dict[TopicPartition, int | None] = {}

    def look(self) -> list[TopicPartition]:
        """Look, when nothing is there to be written: what waits behind others in the client's queue is not missed.

        Raises:
            RetriableError: not all ends could be asked for.
        """
        places = self._offsets.places
        ends = self._consumer.ends(places)
        before = self._waiting
        self._waiting = {of: place for of, place in places.items() if self._offsets.lag(of, 0, ends[of])}
        return [of for of, place in self._waiting.items() if (of, place) in before.items()]
