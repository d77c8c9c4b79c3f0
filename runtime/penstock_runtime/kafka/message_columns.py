"""Lazy columns of messages: few sinks need them, and the client creates new objects for each call."""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

from confluent_kafka import Message

__all__ = ["MessageColumn"]

T = TypeVar("T")


class MessageColumn(Sequence[T], Generic[T]):
    """Sequence with one value for each message, computed on first use.

    Args:
        messages: the messages.
        read: returns the values of all messages.
    """

    __slots__ = ("_messages", "_read", "_rows")

    def __init__(self, messages: Sequence[Message], read: Callable[[Sequence[Message]], list[T]]) -> None:
        self._messages = messages
        self._read = read
        self._rows: list[T] | None = None

    @property
    def rows(self) -> list[T]:
        """Values of all messages."""
        if self._rows is None:
            self._rows = self._read(self._messages)
        return self._rows

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[T]:
        return iter(self.rows)

    @overload
    def __getitem__(self, at: int) -> T: ...

    @overload
    def __getitem__(self, at: slice) -> "MessageColumn[T]": ...

    def __getitem__(self, at: int | slice) -> "T | MessageColumn[T]":
        return MessageColumn(self._messages[at], self._read) if isinstance(at, slice) else self.rows[at]
