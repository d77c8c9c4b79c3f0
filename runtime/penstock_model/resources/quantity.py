"""Kubernetes quantities in resource requests and limits: `500m`, `2`, `1Gi`. Pure."""

import re
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import BeforeValidator

from penstock_model.resources.constraints import ONE_VALUE, Mark
from penstock_model.resources.values import text_of

__all__ = ["Quantities", "quantity"]

_MALFORMED: Final = "is not a quantity: write a number with or without a unit, such as 500m, 2 or 1Gi"
_PATTERN: Final = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$"
"""Kubernetes' pattern, without negative quantities, which are invalid as requests and limits."""
_PARTS: Final = re.compile(r"\+?([0-9.]+)(.*)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = "KMGTPE"


def quantity(text: str) -> Decimal:
    """Return the value of a quantity: CPU cores, or bytes of memory.

    Raises:
        ValueError: the string is not a quantity, or is negative.
    """
    found = _PARTS.fullmatch(text) if re.fullmatch(_PATTERN, text) else None
    if found is None:
        raise ValueError(_MALFORMED)
    number, unit = Decimal(found[1]), found[2]
    if unit.endswith("i"):
        return number * Decimal(1024) ** (_BINARY.index(unit[0]) + 1)
    if unit in _DECIMAL:
        return number.scaleb(_DECIMAL[unit])
    return number.scaleb(int(unit[1:]))


def _text(value: Any) -> str:
    """Return a quantity as a string: `0.5` for the number 0.5."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(_MALFORMED)  # noqa: TRY004 (pydantic reports ValueErrors)
    text = text_of(value)
    quantity(text)
    return text


Quantities = Annotated[
    dict[str, Annotated[str, BeforeValidator(_text)]],
    Mark(additionalProperties={**ONE_VALUE, "pattern": _PATTERN, "minimum": 0, "not": {"enum": [True, False]}}),
]
"""Quantities by resource name. Each is a string or a number, `500m`, `1` or `0.5`, as in a pod."""
