"""A task on one file as the engine runs it, and what programs that rotate files do to that file."""

import shutil
from pathlib import Path

from penstock import Limits, Offsets, SourcePartition
from penstock_plugins.connectors.file.source import FileReader, FileSource

PLENTY = Limits(1_000_000, 1 << 30)


class Task:
    """`lines` runs it until there is nothing for now.

    Args:
        path: the file.
        at: what the offsets topic holds; a number is a position alone, as Kafka Connect writes it.
    """

    def __init__(self, path: Path, at: int | Offsets | None = None) -> None:
        self.now = 0.0
        self.partition = SourcePartition({"filename": str(path)})
        self.source = FileSource(str(path), lambda: self.now)
        self.reader = FileReader("t", 100)
        self.at: Offsets = {self.partition: {"position": at}} if isinstance(at, int) else at or {}
        self.local: list[bool] = []
        self.source.start(self.at)

    def position(self) -> int:
        found = self.at[self.partition]["position"]
        assert isinstance(found, int)
        return found

    def plan(self, limits: Limits = PLENTY) -> tuple[list[str], Offsets]:
        """One batch, not committed."""
        end = self.source.latest_offsets(self.at, limits)
        lines = []
        for part in self.source.partitions(self.at, end):
            self.local.append(part.local)
            assert part.offsets == end
            lines += [line for batch in self.reader.read(part) for line in batch.column("value")]
        return lines, end

    def batch(self, limits: Limits = PLENTY) -> list[str]:
        lines, end = self.plan(limits)
        if end:
            self.at = end
            self.source.commit(end)
        return lines

    def lines(self, limits: Limits = PLENTY) -> list[str]:
        lines, before = self.batch(limits), None
        while before != self.at:
            before = self.at
            lines += self.batch(limits)
        return lines

    def all_lines(self, limits: Limits = PLENTY) -> list[str]:
        """Until nothing comes for as long as rotated files are waited for."""
        lines: list[str] = []
        quiet = 0
        while quiet < 3:
            before = self.at
            found = self.lines(limits)
            lines += found
            quiet = 0 if found or self.at != before else quiet + 1
            self.now += 10.1
        return lines

    def next_life(self) -> "Task":
        """The task after a crash: what is committed is all that it knows."""
        self.source.stop()
        return Task(Path(str(self.partition["filename"])), self.at)


def append(path: Path, text: str) -> None:
    """Add to the file; make it if need be."""
    with path.open("a") as file:
        file.write(text)


def shift(path: Path) -> Path:
    """Make room for another `.1`, as logrotate does."""
    marks = [p.name[len(path.name) + 1 :] for p in path.parent.iterdir() if p.name.startswith(f"{path.name}.")]
    for number in sorted((int(m) for m in marks if m.isdigit()), reverse=True):
        Path(f"{path}.{number}").replace(f"{path}.{number + 1}")
    return Path(f"{path}.1")


def rename(path: Path, text: str = "") -> None:
    """Rotate as logrotate does with `create`."""
    path.rename(shift(path))
    path.write_text(text)


def copytruncate(path: Path, text: str = "") -> None:
    """Rotate as logrotate does with that option."""
    shutil.copy(path, shift(path))
    with path.open("r+") as file:
        file.truncate()
        file.write(text)
