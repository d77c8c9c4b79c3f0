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
        """Prepend one step to the path of the value, and return this error.

        Args:
            part: `.name` for a field, `[0]` for an index, `{}` for a map.
        """
        self._path.append(part)
        return self

    def as_error(self, doing: str) -> DataError:
        """Return this error as a `DataError`; its message consists of `doing`, the path and the cause."""
        return DataError(f"{doing}: at ${''.join(reversed(self._path))}: {self.cause}")
