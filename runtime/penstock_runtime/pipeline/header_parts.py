"""Parts of messages that converters keep in the headers of records."""

from collections.abc import Sequence

from penstock._unread import RawHeader
from penstock.plugin import Converter

__all__ = ["joined", "split_columns"]


def joined(converter: Converter, data: bytes | None, headers: Sequence[RawHeader]) -> bytes | None:
    """Return a message with the part that is in its headers."""
    return data if data is None or not headers else converter.join_headers(data, headers)


def split_columns(
    converter: Converter, data: Sequence[bytes | None], headers: Sequence[list[RawHeader]] | None
) -> tuple[list[bytes | None], list[list[RawHeader]]]:
    """Return the messages without the parts that belong in headers, and the headers of their records with these parts.

    Args:
        converter: converter that wrote the messages.
        data: the messages; None for a record without one.
        headers: headers of each record; None if no record has any.
    """
    left: list[bytes | None] = []
    made: list[list[RawHeader]] = [[] for _ in data] if headers is None else list(headers)
    for row, message in enumerate(data):
        if message is not None:
            message, added = converter.split_headers(message)
            last = dict(made[row])  # the last header of a name is the one that is read
            made[row] = [*made[row], *((name, part) for name, part in added if name not in last or last[name] != part)]
        left.append(message)
    return left, made
