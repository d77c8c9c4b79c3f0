"""Headers of messages, read on first use: the client creates new Python objects at each access."""

from collections.abc import Iterator, Sequence
from typing import overload

from confluent_kafka import Message

from penstock._unread_headers import RawHeader

__all__ = ["MessageHeaders"]


class MessageHeaders(Sequence[list[RawHeader]]):
    """Names and bytes of each message's headers."""

    __slots__ = ("_messages", "_rows")

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._rows: list[list[RawHeader]] | None = None

    @property
    def rows(self) -> list[list[RawHeader]]:
        """Headers of each message."""
        if self._rows is None:
            self._rows = [headers or [] for headers in map(Message.headers, self._messages)]  # type: ignore[misc]
        return self._rows

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[list[RawHeader]]:
        return iter(self.rows)

    @overload
    def __getitem__(self, at: int) -> list[RawHeader]: ...

    @overload
    def __getitem__(self, at: slice) -> "MessageHeaders": ...

    def __getitem__(self, at: int | slice) -> "list[RawHeader] | MessageHeaders":
        return MessageHeaders(self._messages[at]) if isinstance(at, slice) else self.rows[at]
