"""What sinks have written, as it is found while they go on writing."""

from pathlib import Path
from typing import Final

__all__ = ["GrowingFile", "Prefix"]

_PORTION: Final = 8 << 20


class Prefix:
    """Numbers that are there, from 0 on without a gap, and those beyond."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._known: set[int] = set()

    def add(self, number: int) -> None:
        """As it was found."""
        self.numbers.append(number)
        self._known.add(number)

    def __contains__(self, number: int) -> bool:
        return number in self._known

    def __len__(self) -> int:
        return len(self._known)

    @property
    def known(self) -> set[int]:
        """All of them."""
        return self._known


class GrowingFile:
    """The whole lines of a file that is appended to.

    A sink that finds its disk full takes back what it wrote of a batch: then `begin_anew`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    @property
    def is_read(self) -> bool:
        """Whether nothing is left that ends with a line end; the beginning of a line that nobody ended is."""
        return not self._portion()

    def more(self) -> list[bytes]:
        """Lines that are new, some megabytes of them at most."""
        data = self._portion()
        self._at += len(data)
        return [line for line in data.split(b"\n") if line]

    def begin_anew(self) -> None:
        """Read all of it again."""
        self._at = 0

    def _portion(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                data = file.read(_PORTION)
        except FileNotFoundError:
            return b""
        return data[: data.rfind(b"\n") + 1]
