"""Classification of SQLite's errors. Pure."""

import sqlite3
from typing import Final

from penstock_sql.dialects.error_meaning import Meaning

__all__ = ["may_be_of_a_row", "meaning"]

_NO_NUMBER: Final = -1


def meaning(error: sqlite3.Error) -> Meaning:
    """Classify an error."""
    text = str(error)
    if isinstance(error, (sqlite3.IntegrityError, sqlite3.DataError)) or ("type" in text and "not supported" in text):
        return Meaning.DATA
    if isinstance(error, sqlite3.OperationalError):
        code = getattr(error, "sqlite_errorcode", _NO_NUMBER)
        if "no such" in text or "has no column" in text or "already exists" in text or "duplicate column" in text:
            return Meaning.SCHEMA
        if code == sqlite3.SQLITE_ERROR:  # for example, malformed JSON in a constraint
            return Meaning.FINAL
        return Meaning.ACCESS if "unable to open" in text else Meaning.PASSING
    return Meaning.DATA if isinstance(error, sqlite3.InterfaceError) else Meaning.FINAL


def may_be_of_a_row(error: sqlite3.Error) -> bool:
    """Return whether a row may have caused an error."""
    return meaning(error) in (Meaning.DATA, Meaning.SCHEMA, Meaning.FINAL)
