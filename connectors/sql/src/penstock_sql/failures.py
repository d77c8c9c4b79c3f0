"""What the errors of databases mean: for the record, for the connection, for the user."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any, Final

import psycopg
import pymysql
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from penstock import ConnectError, RetriableError
from penstock_sql.dialects.mariadb.errors import kind_of_error, words_of_mariadb
from penstock_sql.dialects.postgresql.errors import column_named, is_raised
from penstock_sql.dialects.postgresql.errors import may_be_of_a_row as _may_be_of_a_row
from penstock_sql.dialects.postgresql.errors import words_of_row as _words_of_row

__all__ = ["FOREIGN", "Meaning", "as_connect_errors", "may_be_of_a_row", "meaning", "words", "words_of_row"]

FOREIGN: Final = (SQLAlchemyError, psycopg.Error, pymysql.Error, sqlite3.Error, UnicodeError)
"""What the libraries raise."""


class Meaning(Enum):
    """What follows from an error.

    DATA: a row is refused, and others may be taken. SCHEMA: a table or column is not as it was thought to be. PASSING: the
    same may succeed later. ACCESS: who or where is wrong. FINAL: anything else.
    """

    DATA = auto()
    SCHEMA = auto()
    PASSING = auto()
    ACCESS = auto()
    FINAL = auto()


_NO_RIGHT: Final = "42501"
_NO_NUMBER: Final = -1
_CHECKS_OF_ROWS: Final = "ExecWithCheckOptions"
"""PostgreSQL has one SQLSTATE for a right on the table that is missing and for a row that a policy refuses."""

_STATES: Final = (
    (Meaning.DATA, ("21", "22", "23", "428C9", "54", "P0", "44", "38", "39")),
    (Meaning.SCHEMA, ("42P01", "42703", "42P07", "42701", "3F000")),
    (Meaning.PASSING, ("08", "25006", "25P03", "25P04", "40", "53", "55", "57", "58")),
    (Meaning.ACCESS, ("28", "3D000", _NO_RIGHT)),
)
"""By the beginnings of PostgreSQL's SQLSTATE. 25006: a server that was the primary one, or is full, takes no writes."""

_NO_ACCESS: Final = (
    "authentication failed",
    "no password supplied",
    "pg_hba.conf",
    "does not exist",
    "permission denied",
    "is not permitted",
)


def meaning(error: BaseException) -> Meaning:
    """What follows from an error of a driver or of SQLAlchemy."""
    found = _driver_error(error)
    if isinstance(found, psycopg.Error):
        return _of_postgresql(found)
    if isinstance(found, pymysql.Error):
        return Meaning[kind_of_error(found)]
    if isinstance(found, sqlite3.Error):
        return _of_sqlite(found)
    return Meaning.DATA if isinstance(found, UnicodeError) else Meaning.FINAL


def _of_postgresql(error: psycopg.Error) -> Meaning:
    if error.sqlstate == _NO_RIGHT and error.diag.source_function == _CHECKS_OF_ROWS:
        return Meaning.DATA
    if error.sqlstate is not None:
        return next((m for m, states in _STATES if error.sqlstate.startswith(states)), Meaning.FINAL)
    if isinstance(error, (psycopg.DataError, psycopg.ProgrammingError)):  # the driver cannot write the value
        return Meaning.DATA
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return Meaning.ACCESS if any(text in str(error) for text in _NO_ACCESS) else Meaning.PASSING
    return Meaning.FINAL


def _of_sqlite(error: sqlite3.Error) -> Meaning:
    text = str(error)
    if isinstance(error, (sqlite3.IntegrityError, sqlite3.DataError)) or ("type" in text and "not supported" in text):
        return Meaning.DATA
    if isinstance(error, sqlite3.OperationalError):
        code = getattr(error, "sqlite_errorcode", _NO_NUMBER)
        if "no such" in text or "has no column" in text or "already exists" in text or "duplicate column" in text:
            return Meaning.SCHEMA
        if code == sqlite3.SQLITE_ERROR:  # as of JSON that a constraint does not understand
            return Meaning.FINAL
        return Meaning.ACCESS if "unable to open" in text else Meaning.PASSING
    return Meaning.DATA if isinstance(error, sqlite3.InterfaceError) else Meaning.FINAL


_QUOTED: Final = re.compile(r"([\"']).*\1", re.DOTALL)
"""What stands in quotation marks where a value is wrong is the value."""


def words(error: BaseException) -> str:
    """The database's own words, without the statement and the values that libraries add.

    PostgreSQL's detail and context may hold values of the record, so they are left out.
    """
    found = _driver_error(error)
    if isinstance(found, UnicodeError):
        return "a text is no valid Unicode (half of a surrogate pair)"
    if isinstance(found, pymysql.Error):
        return words_of_mariadb(found)
    if isinstance(found, psycopg.Error) and (primary := found.diag.message_primary):
        if is_raised(found):
            return "a trigger or function of the database refuses it"
        hint = f" ({found.diag.message_hint})" if found.diag.message_hint else ""
        return f"{_QUOTED.sub('...', primary) if str(found.sqlstate).startswith('22') else primary}{hint}"
    text = " ".join(str(found).split()) or type(found).__name__
    return _QUOTED.sub("...", text) if isinstance(found, psycopg.DataError) else text


def may_be_of_a_row(error: BaseException) -> bool:
    """Whether an error of writing rows may go by one of them: then they are to be tried one by one."""
    found = _driver_error(error)
    match meaning(error):
        case Meaning.DATA:
            return True
        case Meaning.SCHEMA if isinstance(found, pymysql.Error):
            return False  # no value is looked up as a name there, and no statement made of one
        case Meaning.SCHEMA | Meaning.FINAL:
            return not isinstance(found, psycopg.Error) or _may_be_of_a_row(found)
        case Meaning.ACCESS:
            return isinstance(found, psycopg.Error) and found.sqlstate == _NO_RIGHT and _may_be_of_a_row(found)
        case _:
            return False


def words_of_row(error: BaseException, columns: Sequence[str], row: Sequence[Any]) -> str:
    """The database's own words on a row that it refuses, without its values, with the column if it is known."""
    found = _driver_error(error)
    if isinstance(found, psycopg.Error) and found.diag.message_primary:
        text, column = _words_of_row(found), column_named(found, columns)
    elif isinstance(found, (sqlite3.Error, pymysql.Error)):
        told = words(error) if meaning(found) is Meaning.DATA else _QUOTED.sub("...", words(error))
        text, column = "the database refuses a value" if _has_value(told, row) else told, None
    else:
        text, column = words(error), None
        if isinstance(found, (UnicodeError, psycopg.DataError)):
            column = next((name for name, value in zip(columns, row, strict=True) if _is_no_text(value)), None)
    return text if column is None or f'"{column}"' in text else f"column {column}: {text}"


_TELLING: Final = 4
"""Letters of a value that is looked for in the words of an error; shorter ones are in words of the database's own, too."""


def _has_value(text: str, row: Sequence[Any]) -> bool:
    """Whether a text that a trigger may have written holds a value of the row, beside the names that stand in marks."""
    unmarked = re.sub(r"'[^']*'|`[^`]*`", "", text)
    values = [re.escape(value) for value in row if isinstance(value, str) and len(value) >= _TELLING]
    return bool(values) and re.search(rf"(?<!\w)(?:{'|'.join(values)})(?!\w)", unmarked) is not None


def _is_no_text(value: Any) -> bool:
    """Whether a text holds what no text may: a NUL, or half of a surrogate pair."""
    return isinstance(value, str) and any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in value)


def _driver_error(error: BaseException) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


@contextmanager
def as_connect_errors(place: str, doing: str) -> Iterator[None]:
    """Raise errors of the libraries as those of the plugin API.

    Raises:
        RetriableError: it may pass.
        ConnectError: it will not.
    """
    try:
        yield
    except FOREIGN as e:
        text = f"{doing} at {place} failed: {words(e)}"
        match meaning(e):
            case Meaning.PASSING:
                raise RetriableError(text) from None  # the cause may hold values of records
            case Meaning.ACCESS:
                raise ConnectError(
                    f"{text}. Check connection.user, connection.password and the rights of that user"
                ) from None
            case _:
                raise ConnectError(text) from None
