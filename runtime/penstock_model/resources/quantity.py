"""Quantities of Kubernetes in resource requests and limits: `500m`, `2`, `1Gi`. Pure."""

import re
from decimal import Decimal
from typing import Final

__all__ = ["MALFORMED", "is_quantity", "quantity"]

MALFORMED: Final = "is not a quantity: write a number with or without a unit, such as 500m, 2 or 1Gi"
_PATTERN: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = "KMGTPE"


def is_quantity(text: str) -> bool:
    """Return whether a text is a quantity that is not negative."""
    return _PATTERN.fullmatch(text) is not None


def quantity(text: str) -> Decimal:
    """Return the number of a quantity: cores of CPU, bytes of memory.

    Raises:
        ValueError: the text is not a quantity, or negative.
    """
    if (found := _PATTERN.fullmatch(text)) is None:
        raise ValueError(MALFORMED)
    number, unit = Decimal(found[1]), found[2] or ""
    if unit.endswith("i"):
        return number * Decimal(1024) ** (_BINARY.index(unit[0]) + 1)
    if unit in _DECIMAL:
        return number.scaleb(_DECIMAL[unit])
    return number.scaleb(int(unit[1:]))
