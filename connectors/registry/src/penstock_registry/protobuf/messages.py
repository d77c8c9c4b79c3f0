"""Messages of a compiled file, and their indexes in Confluent's wire format."""

from collections.abc import Sequence
from typing import Final

from google.protobuf.descriptor import Descriptor, FileDescriptor

from penstock import DataError

__all__ = ["find_message", "indexes_of", "message_at", "read_indexes", "write_indexes"]

_FIRST: Final = b"\0"
"""Short form of the indexes `[0]`."""
_DAMAGED: Final = "cannot read a message as Protobuf: its message indexes are damaged"


def indexes_of(message: Descriptor) -> list[int]:
    """Return the indexes of the messages that contain a message, outermost first, and its own index."""
    parent = message.containing_type
    if parent is None:
        return [list(message.file.message_types_by_name.values()).index(message)]
    return [*indexes_of(parent), _nested(parent).index(message)]


def message_at(file: FileDescriptor, indexes: Sequence[int]) -> Descriptor:
    """Return the message with these indexes.

    Raises:
        DataError: there is no such message.
    """
    messages = list(file.message_types_by_name.values())
    found: Descriptor | None = None
    for index in indexes:
        if not 0 <= index < len(messages):
            raise DataError(
                f"cannot read a message as Protobuf: its schema has no message at {list(indexes)}; the message is damaged, "
                "or its schema id belongs to another registry"
            )
        found = messages[index]
        messages = _nested(found)
    if found is None:
        raise DataError(_DAMAGED)
    return found


def find_message(file: FileDescriptor, name: str) -> Descriptor | None:
    """Return the message with this full name; None if the file has none."""
    try:
        found: Descriptor = file.pool.FindMessageTypeByName(name)
    except KeyError:
        return None
    return found if found.file.name == file.name else None


def _nested(message: Descriptor) -> list[Descriptor]:
    """Return the messages inside a message, without map entries, which are not in the text."""
    return [each for each in message.nested_types if not each.GetOptions().map_entry]


def write_indexes(indexes: Sequence[int]) -> bytes:
    """Return the encoded indexes that precede data: their count and each index as a zig-zag varint."""
    if list(indexes) == [0]:
        return _FIRST
    return b"".join(map(_varint, (len(indexes), *indexes)))


def read_indexes(data: bytes) -> tuple[tuple[int, ...], int]:
    """Return the indexes at the beginning of data, and their length in bytes.

    Raises:
        DataError: the data does not begin with indexes.
    """
    if data[:1] == _FIRST:
        return (0,), 1
    number, position = _read_varint(data, 0)
    if not 0 < number <= len(data):
        raise DataError(_DAMAGED)
    indexes = []
    for _ in range(number):
        index, position = _read_varint(data, position)
        indexes.append(index)
    return tuple(indexes), position


def _varint(number: int) -> bytes:
    rest, made = number << 1, bytearray()
    while rest > 0x7F:
        made.append(rest & 0x7F | 0x80)
        rest >>= 7
    made.append(rest)
    return bytes(made)


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 35, 7):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), position
    raise DataError(_DAMAGED)
