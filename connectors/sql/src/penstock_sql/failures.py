"""Classification of database errors, and their conversion to errors of the plugin API."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from penstock import ConnectError, RetriableError
from penstock_sql.dialects.base import Dialect
from penstock_sql.dialects.error_meaning import Meaning
from penstock_sql.dialects.registry import DIALECTS

__all__ = ["FOREIGN", "Meaning", "as_connect_errors", "may_be_of_a_row", "meaning", "words", "words_of_row"]

FOREIGN: Final[tuple[type[Exception], ...]] = (
    SQLAlchemyError,
    UnicodeError,
    *(error for dialect in DIALECTS for error in dialect.errors),
)
"""Exceptions that the libraries raise."""


def meaning(error: BaseException) -> Meaning:
    """Classify an error of a driver or of SQLAlchemy."""
    found = _driver_error(error)
    dialect = _dialect(found)
    if dialect is not None:
        return dialect.meaning(found)
    return Meaning.DATA if isinstance(found, UnicodeError) else Meaning.FINAL


def words(error: BaseException) -> str:
    """Return the database's own message, without the statement and the values that libraries add."""
    found = _driver_error(error)
    dialect = _dialect(found)
    if dialect is not None:
        return dialect.words(found)
    if isinstance(found, UnicodeError):
        return "a string is not valid Unicode: it contains an unpaired surrogate"
    return " ".join(str(found).split()) or type(found).__name__


def may_be_of_a_row(error: BaseException) -> bool:
    """Return whether a row may have caused an error of writing rows; if so, rows are retried one by one."""
    found = _driver_error(error)
    dialect = _dialect(found)
    return dialect is None or dialect.may_be_of_a_row(found)


def words_of_row(error: BaseException, columns: Sequence[str], row: Sequence[Any]) -> str:
    """Return the database's own message about a refused row, without its values, with the column if known."""
    found = _driver_error(error)
    dialect = _dialect(found)
    text, column = (words(error), None) if dialect is None else dialect.words_of_row(found, columns, row)
    if column is None and meaning(error) is Meaning.DATA:
        column = next((name for name, value in zip(columns, row, strict=True) if _is_no_text(value)), None)
    return text if column is None or f'"{column}"' in text else f"column {column}: {text}"


def _is_no_text(value: Any) -> bool:
    """Return whether a value is a string with a NUL or an unpaired surrogate, which no database can store as text."""
    return isinstance(value, str) and any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in value)


def _driver_error(error: BaseException) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


def _dialect(error: BaseException) -> Dialect | None:
    """Return the dialect whose driver raised an error."""
    return next((dialect for dialect in DIALECTS if isinstance(error, dialect.errors)), None)


@contextmanager
def as_connect_errors(place: str, action: str) -> Iterator[None]:
    """Convert errors of the libraries to errors of the plugin API.

    Args:
        place: the location of the database, for messages.
        action: the failed action, as a verb with its object ("read table a").

    Raises:
        RetriableError: the error may be transient.
        ConnectError: the error is permanent.
    """
    try:
        yield
    except FOREIGN as e:
        text = f"cannot {action} at {place}: {words(e)}"
        match meaning(e):
            case Meaning.PASSING:
                raise RetriableError(text) from None  # the cause may hold values of records
            case Meaning.ACCESS:
                raise ConnectError(
                    f"{text}; check connection.user, connection.password and the rights of that user"
                ) from None
            case _:
                raise ConnectError(text) from None
