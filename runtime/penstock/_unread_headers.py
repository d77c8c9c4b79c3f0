"""Headers that nobody has asked for: most sinks never look at those that came with their records."""

from collections.abc import Callable, Sequence, Set
from typing import Any, Final

from penstock.record import Header

__all__ = ["RawHeader", "UnreadHeaders"]

RawHeader = tuple[str, bytes | None]
"""Name and bytes."""
_NAME: Final = 0


class UnreadHeaders:
    """The headers of a batch's records, read when their values are asked for, once for all batches that share them.

    Args:
        raw: gives those of each record as they came; called once, when anything is asked.
        read: makes the headers of them; must not fail.
        added: come after those of each record.
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
        """The column: `()` when no record has any."""
        if self._rows is None:  # assigned whole: a writer may look from several threads
            raw, added = self.as_came(), self.added
            if any(raw):
                self._rows = [headers + added for headers in self.read(raw)] if added else self.read(raw)
            else:
                self._rows = [added] * len(raw) if added else ()
        return self._rows

    def named(self, name: str) -> list[bool]:
        """Of each record whether it has a header of that name."""
        raw = self.as_came()
        if any(header.name == name for header in self.added):
            return [True] * len(raw)
        return [name in [header[_NAME] for header in headers] for headers in raw]

    def having(self, header: Header) -> "UnreadHeaders":
        """With one more at the end of each record's."""
        return UnreadHeaders(self.as_came, self.read, (*self.added, header))

    def without(self, names: Set[str]) -> "UnreadHeaders":
        """Without the headers of these names."""
        return UnreadHeaders(
            lambda: [[h for h in headers if h[_NAME] not in names] for headers in self.as_came()],
            self.read,
            tuple(h for h in self.added if h.name not in names),
        )

    def take(
        self, taken: Callable[[Sequence[Any]], list[Any]]
    ) -> "UnreadHeaders | list[tuple[Header, ...]] | tuple[()]":
        """Those of the records that `taken` picks."""
        if self._rows is None:
            return UnreadHeaders(lambda: taken(self.as_came()), self.read, self.added)
        return taken(self._rows) if self._rows else ()

    def merged(self, other: object, ordered: Callable[[Sequence[Any]], list[Any]]) -> "UnreadHeaders | None":
        """Those of the records of both, in an order; None where they have to be read for that."""
        if not isinstance(other, UnreadHeaders) or self.read is not other.read or self.added is not other.added:
            return None
        return UnreadHeaders(lambda: ordered([*self.as_came(), *other.as_came()]), self.read, self.added)

    def as_came(self) -> Sequence[Sequence[RawHeader]]:
        """Names and bytes of each record's, without those that were added."""
        raw = self._raw
        if callable(raw):
            raw = self._raw = raw()
        return raw

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """A copy, and what another process is sent, is the plain column."""
        return (list if self.rows else tuple), (self.rows,)
