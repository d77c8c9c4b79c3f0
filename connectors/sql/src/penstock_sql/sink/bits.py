"""Conversion of Debezium's Bits, booleans, numbers, texts and bytes to values of bit columns. Pure."""

import re
from typing import Any, Final

from penstock import DataError, Schema

__all__ = ["bits_number", "bits_text", "debezium_bits", "debezium_bits_text"]

_DIGITS: Final = re.compile("[01]+")


def debezium_bits(value: Any) -> int:
    """Return the number in Debezium's Bits, which are bytes in little-endian order."""
    return int.from_bytes(value, "little")


def debezium_bits_text(value: Any, schema: Schema) -> str:
    """Return the digits of Debezium's Bits, the highest first, in the length that the schema specifies.

    It is limited to the length of the bytes, since the schema of a column without a length specifies 2147483647.
    """
    length = (schema.parameters or {}).get("length", "")
    most = 8 * len(value)
    width = min(int(length), most) if length.isascii() and length.isdecimal() else most
    return format(debezium_bits(value), f"0{max(1, width)}b")


def bits_number(value: Any) -> int:
    """Return the number of a value whose schema does not name a Debezium type.

    Raises:
        DataError: the value is negative, or of a type without bits. Base64 is refused, since its byte order is unknown.
    """
    if isinstance(value, int) and value >= 0:
        return int(value)
    if isinstance(value, bytes):
        return int.from_bytes(value, "big")
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value, 2)
    raise DataError(
        f"cannot write a value of type {type(value).__name__} into a bit column: it accepts booleans, non-negative numbers, "
        "strings of 0 and 1, bytes, and Debezium's Bits with a schema"
    )


def bits_text(value: Any, length: int | None) -> str:
    """Return the digits of a value as in `bits_number`, in the column's length (None: it varies). A text remains unchanged.

    Raises:
        DataError: as `bits_number`.
    """
    number = bits_number(value)
    if isinstance(value, str):
        return value
    width = length if length is not None else 8 * len(value) if isinstance(value, bytes) else 1
    return format(number, f"0{max(1, width)}b")
