"""A task of `numbers_source` whose readers a test can stop in the middle of a batch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock_model.contracts.task_spec import TaskSpec

from .reading import create
from .running import manifest, new_name, specs, until

PARTITIONS = 4


class Hold:
    """Makes the readers of some partitions wait while it is on. Their records are sent, and their transactions are open."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "hold"

    def on(self, partitions: Sequence[int]) -> None:
        part = self.path.with_suffix(".new")
        part.write_text(" ".join(map(str, partitions)))
        part.rename(self.path)

    def off(self) -> None:
        self.path.unlink()

    def await_reader(self, partition: int) -> int:
        """Wait until the reader of the partition waits. Returns the id of its process."""
        return int(until(lambda: self.waiting_process(partition), what=f"the reader of partition {partition} waits"))

    def waiting_process(self, partition: int) -> str:
        """The id of the process whose reader of the partition waited last; empty if none did."""
        try:
            return self.path.with_suffix(f".{partition}").read_text()
        except FileNotFoundError:
            return ""


def held_task_spec(kafka: str, topic: str, hold: Hold, **config: Any) -> TaskSpec:
    """Creates the topic. Returns the spec of a task whose readers `hold` makes wait."""
    create(kafka, topic, PARTITIONS)
    settings = {
        "topic": topic,
        "partitions": PARTITIONS,
        "hold": hold.path,
        "batch.max.records": 400,
        "value.converter": "StringConverter",
        **config,
    }
    return specs(manifest(new_name(), "numbers_source:Numbers", settings), kafka)[0]
