"""A file that is written and rotated as logrotate does it."""

import os
import shutil
from pathlib import Path

__all__ = ["Rotated"]


class Rotated:
    """Lines of 13 bytes, numbered from 0.

    Args:
        path: where the newest lines stand.
        copies: rotate as logrotate does with `copytruncate`, else with `create`.
    """

    def __init__(self, path: Path, *, copies: bool = False) -> None:
        self.path = path
        self.copies = copies
        self._count = 0

    def append(self, count: int) -> None:
        """More lines."""
        with self.path.open("a") as file:
            file.write(self._next(count))

    def rotate(self, count: int) -> None:
        """A file with so many lines takes the name; the others are numbered anew."""
        folder, name = self.path.parent, self.path.name
        for number in range(len(list(folder.iterdir())), 0, -1):  # more than there can be
            if (folder / f"{name}.{number}").exists():
                (folder / f"{name}.{number}").rename(folder / f"{name}.{number + 1}")
        if self.copies:
            shutil.copyfile(self.path, folder / f"{name}.1")
            os.truncate(self.path, 0)
        else:
            self.path.rename(folder / f"{name}.1")
            self.path.touch()
        self.append(count)

    def lines(self) -> list[str]:
        """All that was written, in order."""
        return [f"{n:012d}" for n in range(self._count)]

    def _next(self, count: int) -> str:
        self._count += count
        return "".join(f"{n:012d}\n" for n in range(self._count - count, self._count))
