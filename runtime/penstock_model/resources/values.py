"""Values in resources: configuration values, in the form of Kubernetes' JSON, and durations."""

import math
import re
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, PlainSerializer

__all__ = ["NULL", "ConfigText", "Duration", "text_of"]

NULL: Final = 'null is not allowed; remove the property, or write "" for an empty string'
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+")
_LEAST_PLAIN: Final = 1e-6
_MOST_PLAIN: Final = 1e21
_EXACT: Final = 2**53
"""Greatest integer up to which floats are exact; some JSON parsers read every number as a float."""


def text_of(value: Any) -> str:
    """Return a configuration value as a string for plugins: `true`, `1`, `0.5`.

    Raises:
        ValueError: the value is null, a list or a mapping; the message states the remedy.
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return _json_number(value)
        case None:
            raise ValueError(NULL)
        case float():
            raise ValueError("must be a finite number; put strings in quotes")
        case _:
            kind = (
                "a list"
                if isinstance(value, list)
                else "a mapping"
                if isinstance(value, dict)
                else type(value).__name__
            )
            raise ValueError(f"must be a string, a number or a boolean, not {kind}; write lists as a,b,c")


def _json_number(value: float) -> str:
    """Return a number as Go's encoding/json prints it, like kubectl: 1 for 1.0, no exponent from 1e-6 to 1e21."""
    if value == 0:
        return "0"
    if _LEAST_PLAIN <= abs(value) < _MOST_PLAIN:
        text = format(Decimal(repr(value)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return re.sub(r"e([-+])0*", r"e\1", repr(value))


def _duration(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        raise ValueError("must be a duration such as 500ms, 10s, 5m, 1h30m")
    parts = re.findall(r"([0-9.]+)(ms|s|m|h)", value)
    return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))


def _duration_text(value: timedelta) -> str:
    milliseconds = round(value.total_seconds() * 1000)
    for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1000)):
        if milliseconds % size == 0 and milliseconds:
            return f"{milliseconds // size}{unit}"
    return f"{milliseconds}ms" if milliseconds else "0s"


def _config_text(value: Any) -> str:
    """Return a configuration value as a string, unless the API server may have changed it (`SCALAR_SCHEMA`)."""
    if isinstance(value, float) and math.isfinite(value):
        raise ValueError(
            "write it in quotes, because the API server changes numbers with a fraction or an exponent (1.10 becomes 1.1)"
        )
    if isinstance(value, int) and not -_EXACT <= value <= _EXACT:
        raise ValueError("write it in quotes, because the API server changes integers beyond 2^53")
    return text_of(value)


ConfigText = Annotated[str, BeforeValidator(_config_text)]
"""A value of `spec.config`."""

Duration = Annotated[timedelta, BeforeValidator(_duration), PlainSerializer(_duration_text)]
"""`10s`, `5m`, `1h30m`."""
