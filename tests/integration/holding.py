"""A task of `numbers_source` whose readers a test can stop in the middle of a batch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock_model.contracts.task_spec import TaskSpec

from .reading import create
from .running import manifest, new_name, specs, until

PARTITIONS = 4


class Hold:
    """While it is on, the readers of some partitions wait, their records sent and their transactions open."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "hold"

    def on(self, partitions: Sequence[int]) -> None:
        part = self.path.with_suffix(".new")
        part.write_text(" ".join(map(str, partitions)))
        part.rename(self.path)

    def off(self) -> None:
        self.path.unlink()

    def reached(self, partition: int) -> int:
        """Wait until that partition's reader waits; its process."""
        return int(until(lambda: self.who(partition), what=f"the reader of partition {partition} waits"))

    def who(self, partition: int) -> str:
        """The process whose reader has waited there last; empty: none."""
        try:
            return self.path.with_suffix(f".{partition}").read_text()
        except FileNotFoundError:
            return ""


def held(kafka: str, topic: str, hold: Hold, **config: Any) -> TaskSpec:
    """The spec of such a task, and its topic."""
    create(kafka, topic, PARTITIONS)
    settings = {"topic": topic, "partitions": PARTITIONS, "hold": hold.path, "batch.max.records": 400,
                "value.converter": "StringConverter", **config}  # fmt: skip
    return specs(manifest(new_name(), "numbers_source:Numbers", settings), kafka)[0]
