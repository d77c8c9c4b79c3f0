"""Errors of values that do not fit their schema, with the path inside the value."""

from penstock import DataError

__all__ = ["Misfit"]


class Misfit(Exception):
    """Raised when a value does not fit its schema.

    Args:
        cause: the error, without the value.
    """

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause
        self._path: list[str] = []

    def within(self, part: str) -> "Misfit":
        """Prepend the field or index that contains this value to its path: `.name` or `[0]`. Return this error."""
        self._path.append(part)
        return self

    def as_error(self, doing: str) -> DataError:
        """Return the error of the record, whose message begins with `doing`."""
        return DataError(f"{doing}: at ${''.join(reversed(self._path))}: {self.cause}")
