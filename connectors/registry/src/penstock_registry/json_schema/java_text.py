"""Java's text forms on which the text of a schema depends: the order of hash maps, numbers, and escapes."""

import re
import struct
from collections.abc import Iterable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from json.encoder import encode_basestring
from typing import Any, Final

__all__ = ["default_number", "hash_order", "java_json", "single_text", "sized_order"]

_EXACT: Final = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-f]{4})|.)")


def hash_order(names: Iterable[str | None]) -> list[str | None]:
    """Return names in the order of a `HashMap` to which they were added one by one."""
    return _ordered(names, 16)


def sized_order(names: Iterable[str]) -> list[str]:
    """Return names in the order of a `HashMap` that was created with their count as capacity, as for a `JSONObject`."""
    found = list(names)
    return _ordered(found, _power(len(found)))


def java_json(tree: Any) -> str:
    """Return the text of a JSON value as Jackson writes it. A `Decimal` is a number with exactly these digits."""
    match tree:
        case None:
            return "null"
        case bool():
            return "true" if tree else "false"
        case str():
            text = encode_basestring(tree)
            return _ESCAPE.sub(_upper, text) if "\\u" in text else text
        case dict():
            return "{" + ",".join(f"{java_json(name)}:{java_json(value)}" for name, value in tree.items()) + "}"
        case list():
            return "[" + ",".join(map(java_json, tree)) + "]"
        case _:
            return str(tree)


def single_text(value: float) -> str:
    """Return the shortest text of a 32-bit float."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if struct.unpack("f", struct.pack("f", float(text))) == (value,):
            break
    else:
        text = repr(value)
    return f"{text}.0" if text.lstrip("-").isdigit() else text


def default_number(number: Decimal, *, is_float: bool) -> Decimal:
    """Return the number that Java writes in a schema for a default.

    Args:
        number: the default, with the fewest digits that identify it if it is a float.
        is_float: whether it is a float, which Java writes as 1.0E10 if it is very large or small.
    """
    if is_float and number and not Decimal("1e-3") <= abs(number) < Decimal("1e7"):
        digits = number.normalize(_EXACT)
        if len(digits.as_tuple().digits) == 1:
            digits = digits.quantize(Decimal((0, (1,), int(digits.as_tuple().exponent) - 1)), context=_EXACT)
        return digits
    text = str(number)
    return Decimal(text.rstrip("0").removesuffix(".")) if "." in text and "E" not in text else number


def _ordered(names: Iterable[Any], capacity: int) -> list[Any]:
    found = list(dict.fromkeys(names))
    while len(found) > 0.75 * capacity:
        capacity *= 2
    return sorted(found, key=lambda name: _spread(name) & (capacity - 1))


def _spread(name: str | None) -> int:
    if name is None:
        return 0
    code = 0
    data = name.encode("utf-16-be", "surrogatepass")
    for high, low in zip(data[::2], data[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code ^ code >> 16


def _power(least: float) -> int:
    """Return the smallest power of two that is not less than the integer part of a number."""
    return 1 << max(int(least) - 1, 0).bit_length()


def _upper(escape: re.Match[str]) -> str:
    return escape[0] if escape[1] is None else f"\\u{escape[1].upper()}"
