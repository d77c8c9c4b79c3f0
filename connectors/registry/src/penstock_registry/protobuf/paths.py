"""Paths of fields in errors."""

from penstock import DataError

__all__ = ["inside"]

_START = "field '"


def inside(name: str, error: DataError) -> DataError:
    """Return the error of a field, or of one inside it, with the path to it."""
    text = str(error)
    if text.startswith(_START):
        return DataError(f"{_START}{name}.{text.removeprefix(_START)}")
    return DataError(f"{_START}{name}': {text}")
