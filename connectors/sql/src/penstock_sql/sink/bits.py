"""Bits: numbers and texts of 0 and 1 from Debezium's Bits, booleans, numbers and bytes. Pure."""

import re
from typing import Any, Final

from penstock import DataError, Schema

__all__ = ["bits_number", "bits_text", "debezium_bits", "debezium_bits_text"]

_DIGITS: Final = re.compile("[01]+")


def debezium_bits(value: Any) -> int:
    """The number that Debezium's Bits hold: bytes, the lowest first."""
    return int.from_bytes(value, "little")


def debezium_bits_text(value: Any, schema: Schema) -> str:
    """The digits of Debezium's Bits, the highest first, as many as the schema says.

    The length is at most that of the bytes: that of a column without a length is 2147483647.
    """
    length = (schema.parameters or {}).get("length", "")
    most = 8 * len(value)
    width = min(int(length), most) if length.isascii() and length.isdecimal() else most
    return format(debezium_bits(value), f"0{max(1, width)}b")


def bits_number(value: Any) -> int:
    """The number of a value that names no type of Debezium's.

    Raises:
        DataError: it is negative, or of a type that holds no bits. Base64 is not taken, since nothing tells whether the
            lowest byte comes first.
    """
    if isinstance(value, int) and value >= 0:
        return int(value)
    if isinstance(value, bytes):
        return int.from_bytes(value, "big")
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value, 2)
    raise DataError(
        f"cannot write a value of type {type(value).__name__} into a column of bits: it takes booleans, numbers that are "
        "not negative, texts of 0 and 1, bytes, and Debezium's Bits with a schema"
    )


def bits_text(value: Any, length: int | None) -> str:
    """The digits of the same for a column of that length; a text stays as it is, since its zeros count.

    Raises:
        DataError: as `bits_number`.
    """
    number = bits_number(value)
    if isinstance(value, str):
        return value
    width = length if length is not None else 8 * len(value) if isinstance(value, bytes) else 1
    return format(number, f"0{max(1, width)}b")
