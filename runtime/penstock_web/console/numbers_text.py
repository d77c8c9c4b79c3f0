"""Numbers in a short, readable form. Pure."""

from typing import Final

__all__ = ["compact", "rate_text"]

_UNITS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))
_SMALL: Final = 10


def compact(number: float) -> str:
    """Return a number of at most five characters: `950`, `9,500`, `12k`, `1.2M`."""
    for size, unit in _UNITS:
        if number >= size:
            scaled = number / (1e3 if unit == "k" else size)
            return f"{scaled:.0f}{unit}" if scaled >= _SMALL else f"{scaled:.1f}{unit}"
    return f"{number:,.0f}"


def rate_text(rate: float) -> str:
    """Return records per second, with a decimal place if they are few."""
    return f"{rate:.1f}" if 0 < rate < _SMALL else compact(rate)
