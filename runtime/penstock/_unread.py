"""Headers and timestamps of sink records that are converted only when they are read: most sinks never read them."""

from collections.abc import Callable, Sequence, Set
from typing import Any, Final

from penstock.record import Header

__all__ = ["RawHeader", "UnreadHeaders", "UnreadTimestamps"]

RawHeader = tuple[str, bytes | None]
"""Name and bytes of a header."""
_NAME: Final = 0


class UnreadHeaders:
    """Headers of the records of a batch, converted on first access, once for all batches that share them.

    Args:
        raw: returns the headers of each record as stored in Kafka; called once, on first access.
        read: converts them; must not fail.
        added: headers that transforms appended to every record.
    """

    __slots__ = ("_raw", "_rows", "added", "read")

    def __init__(
        self,
        raw: Callable[[], Sequence[Sequence[RawHeader]]],
        read: Callable[[Sequence[Sequence[RawHeader]]], list[tuple[Header, ...]]],
        added: tuple[Header, ...] = (),
    ) -> None:
        self._raw: Callable[[], Sequence[Sequence[RawHeader]]] | Sequence[Sequence[RawHeader]] = raw
        self.read = read
        self.added = added
        self._rows: tuple[()] | list[tuple[Header, ...]] | None = None

    @property
    def rows(self) -> tuple[()] | list[tuple[Header, ...]]:
        """Headers of each record; `()` if no record has any."""
        if self._rows is None:  # assigned in one step: a writer may read from several threads
            raw, added = self.raw_headers(), self.added
            if any(raw):
                self._rows = [headers + added for headers in self.read(raw)] if added else self.read(raw)
            else:
                self._rows = [added] * len(raw) if added else ()
        return self._rows

    def named(self, name: str) -> list[bool]:
        """Return a list with whether each record has a header with this name."""
        raw = self.raw_headers()
        if any(header.name == name for header in self.added):
            return [True] * len(raw)
        return [name in [header[_NAME] for header in headers] for headers in raw]

    def having(self, header: Header) -> "UnreadHeaders":
        """Return headers with this header appended for each record."""
        return UnreadHeaders(self.raw_headers, self.read, (*self.added, header))

    def without(self, names: Set[str]) -> "UnreadHeaders":
        """Return headers without those that have one of these names."""
        return UnreadHeaders(
            lambda: [[h for h in headers if h[_NAME] not in names] for headers in self.raw_headers()],
            self.read,
            tuple(h for h in self.added if h.name not in names),
        )

    def take(
        self, taken: Callable[[Sequence[Any]], list[Any]]
    ) -> "UnreadHeaders | list[tuple[Header, ...]] | tuple[()]":
        """Return the headers of the records that `taken` selects."""
        if self._rows is None:
            return UnreadHeaders(lambda: taken(self.raw_headers()), self.read, self.added)
        return taken(self._rows) if self._rows else ()

    def merged(self, other: object, ordered: Callable[[Sequence[Any]], list[Any]]) -> "UnreadHeaders | None":
        """Return the headers of both objects in the order of `ordered`, or None if they must be converted first."""
        if not isinstance(other, UnreadHeaders) or self.read is not other.read or self.added is not other.added:
            return None
        return UnreadHeaders(lambda: ordered([*self.raw_headers(), *other.raw_headers()]), self.read, self.added)

    def raw_headers(self) -> Sequence[Sequence[RawHeader]]:
        """Return the names and bytes of each record's headers, without those in `added`."""
        raw = self._raw
        if callable(raw):
            raw = self._raw = raw()
        return raw

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle and copy the headers as plain columns."""
        return (list if self.rows else tuple), (self.rows,)


class UnreadTimestamps:
    """Timestamps of the records of a batch, computed on first access, once for all batches that share them.

    Args:
        read: returns the timestamps; must not fail.
        length: the number of records.
    """

    __slots__ = ("_length", "_rows")

    def __init__(self, read: Callable[[], list[int | None]], length: int) -> None:
        self._length = length
        self._rows: Callable[[], list[int | None]] | list[int | None] = read

    @property
    def rows(self) -> list[int | None]:
        """Timestamp of each record."""
        rows = self._rows
        if callable(rows):
            rows = self._rows = rows()
        return rows

    def __len__(self) -> int:
        return self._length

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle and copy the timestamps as a plain column."""
        return list, (self.rows,)
