"""What the operator has read of the status topic about one connector, for pods that would read all of it again. Pure."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

__all__ = ["StatusSnapshot"]


class StatusSnapshot(BaseModel):
    """Records up to a position: whoever reads on from there has seen what a reader of the whole topic sees (0021).

    Attributes:
        topic_id: Kafka's own; a topic that was made anew has another.
        ends: by partition, the first offset that was not read.
        records: keys and values of what stands before it: incarnations (`incarnation.merged`), and for a task the control.
        generation: the greatest that a report before it tells.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    topic_id: str
    ends: tuple[int, ...]
    records: tuple[tuple[str, str], ...] = ()
    generation: int = 0

    def entries(self) -> list[tuple[bytes, bytes | None]]:
        """The records as a reader of the topic has them."""
        return [(key.encode(), value.encode()) for key, value in self.records]
