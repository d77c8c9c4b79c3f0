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
    """

    __slots__ = ("_raw", "_read", "_rows")

    def __init__(
        self,
        raw: Callable[[], Sequence[Sequence[RawHeader]]],
        read: Callable[[Sequence[Sequence[RawHeader]]], list[tuple[Header, ...]]],
    ) -> None:
        self._raw: Callable[[], Sequence[Sequence[RawHeader]]] | Sequence[Sequence[RawHeader]] = raw
        self._read = read
        self._rows: tuple[()] | list[tuple[Header, ...]] | None = None

    @property
    def rows(self) -> tuple[()] | list[tuple[Header, ...]]:
        """The column: `()` when no record has any."""
        if self._rows is None:
            raw = self._as_came()
            self._rows = self._read(raw) if any(raw) else ()
        return self._rows

    def named(self, name: str) -> list[bool]:
        """Of each record whether it has a header of that name."""
        return [name in [header[_NAME] for header in headers] for headers in self._as_came()]

    def without(self, names: Set[str]) -> "UnreadHeaders":
        """Without the headers of these names."""
        return UnreadHeaders(
            lambda: [[h for h in headers if h[_NAME] not in names] for headers in self._as_came()], self._read
        )

    def take(
        self, taken: Callable[[Sequence[Any]], list[Any]]
    ) -> "UnreadHeaders | list[tuple[Header, ...]] | tuple[()]":
        """Those of the records that `taken` picks."""
        if self._rows is None:
            return UnreadHeaders(lambda: taken(self._as_came()), self._read)
        return taken(self._rows) if self._rows else ()

    def _as_came(self) -> Sequence[Sequence[RawHeader]]:
        if callable(self._raw):
            self._raw = self._raw()
        return self._raw
