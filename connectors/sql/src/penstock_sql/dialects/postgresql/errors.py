"""Classification of PostgreSQL's errors, and their messages about refused rows without values of the rows."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import psycopg
from sqlalchemy import Connection

from penstock_sql.dialects.error_meaning import QUOTED, Meaning
from penstock_sql.dialects.statements import driver

__all__ = ["column_named", "may_be_of_a_row", "meaning", "raised_text", "words", "words_of_row"]

_NO_RIGHT: Final = "42501"
_STATES: Final = (
    (Meaning.DATA, ("21", "22", "23", "428C9", "54", "P0", "44", "38", "39")),
    (Meaning.SCHEMA, ("42P01", "42703", "42P07", "42701", "42710", "3F000")),
    (Meaning.PASSING, ("08", "25006", "25P03", "25P04", "3D000", "40", "53", "55", "57", "58")),
    (Meaning.ACCESS, ("28", _NO_RIGHT)),
)
"""Classes by prefixes of SQLSTATE. 25006: a server that is no longer primary, or whose disk is full, rejects writes. 3D000:
a missing database may be created later."""
_NO_DATABASE: Final = re.compile(r'database ".*?" does not exist')
_NO_ACCESS: Final = (
    "authentication failed",
    "no password supplied",
    "pg_hba.conf",
    "does not exist",
    "permission denied",
    "is not permitted",
    "invalid port number",
    "invalid integer value",
    "invalid value for parameter",
    "unrecognized configuration parameter",
    "invalid SSL protocol version range",
    "invalid SCRAM",
    "may not be used with",
    "require_auth method",
    "authentication method requirement",
    "channel binding",
    "could not match",
    "definition of service",
)
_WRONG_WORD: Final = re.compile(r'invalid "?\w+"? value: ')
"""Messages of libpq about an invalid parameter, before it connects."""
_CHECKS_OF_ROWS: Final = "ExecWithCheckOptions"
"""Distinguishes a row refused by a policy from a missing right on the table, since both have the same SQLSTATE."""
_OF_CONSTRAINTS: Final = ("21", "23", "428C9", "44", "54")
"""SQLSTATEs whose messages name columns and constraints, and contain no values."""
_OF_FUNCTIONS: Final = ("P0", "38", "39")
_OF_DAMAGE: Final = ("XX001", "XX002")
_BYTES: Final = re.compile(r"(?:0x[0-9a-f]{2} ?)+")
_IN_COPY: Final = r"^COPY .*?, line \d+, column ({})(?:: \"|: null input|$)"
_IN_FUNCTION: Final = re.compile(r"PL/\w+ function (.+?)(?: line \d+ at .+)?")
_SOURCE: Final = "SELECT prosrc FROM pg_proc WHERE oid = to_regprocedure(%s)"
_RAISED: Final = re.compile(r"\bRAISE\s+(?:EXCEPTION\s+)?'((?:[^']|'')*)'", re.IGNORECASE)
_MESSAGE: Final = re.compile(r"\bMESSAGE\s*=\s*'((?:[^']|'')*)'", re.IGNORECASE)


def meaning(error: psycopg.Error) -> Meaning:
    """Classify an error."""
    if error.sqlstate == _NO_RIGHT and error.diag.source_function == _CHECKS_OF_ROWS:
        return Meaning.DATA
    if error.sqlstate is not None:
        return next((m for m, states in _STATES if error.sqlstate.startswith(states)), Meaning.FINAL)
    if isinstance(error, (psycopg.DataError, psycopg.ProgrammingError)):  # the driver cannot write the value
        return Meaning.DATA
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        said = _NO_DATABASE.sub("", str(error))  # a missing database may be created later
        refused = _WRONG_WORD.search(said) is not None or any(text in said for text in _NO_ACCESS)
        return Meaning.ACCESS if refused else Meaning.PASSING
    return Meaning.FINAL


def words(error: psycopg.Error) -> str:
    """Return the server's message, without its detail and context, which may contain values of the record."""
    primary = error.diag.message_primary
    if not primary:
        text = " ".join(str(error).split()) or type(error).__name__
        return QUOTED.sub("...", text) if isinstance(error, psycopg.DataError) else text
    if is_raised(error):
        return "a trigger or function of the database refuses it"
    return _with_hint(
        QUOTED.sub("...", primary) if str(error.sqlstate).startswith("22") else primary, error.diag.message_hint
    )


def may_be_of_a_row(error: psycopg.Error) -> bool:
    """Return whether a row may have caused an error, even if its SQLSTATE usually indicates an error in the statement.

    A value of a `regclass` column is looked up as a name, and a missing, forbidden or invalid name has the same SQLSTATE as
    such a name in the statement.
    """
    state = error.sqlstate or ""
    match meaning(error):
        case Meaning.DATA:
            return True
        case Meaning.ACCESS:
            return state == _NO_RIGHT and _function(error) is None
        case Meaning.SCHEMA | Meaning.FINAL:
            return not state.startswith(_OF_DAMAGE)
        case _:
            return False


def is_raised(error: psycopg.Error) -> bool:
    """Return whether a function raised the error explicitly, with a message of the function's author."""
    return str(error.sqlstate).startswith(_OF_FUNCTIONS) or error.diag.source_function == "exec_stmt_raise"


def words_of_row(error: psycopg.Error) -> str:
    """Return the server's message about a row, without values of the row."""
    diag, state = error.diag, str(error.sqlstate)
    primary = diag.message_primary or ""
    if is_raised(error):
        return "a trigger or function of the database refuses it"
    if state.startswith(_OF_CONSTRAINTS) or diag.source_function == _CHECKS_OF_ROWS:
        return _with_hint(primary, diag.message_hint)
    text = _BYTES.sub("... ", QUOTED.sub("...", primary))
    if (function := _function(error)) is not None:
        return f"{text.partition(': ')[0]} (in function {function} of the database)"
    if state.startswith("22"):
        return _with_hint(text, diag.message_hint)
    if state == _NO_RIGHT:  # the message has the forbidden name without quotation marks
        return "it names an object that the user of the connection has no right to access"
    return text.partition(": ")[0]


def _with_hint(text: str, hint: str | None) -> str:
    return f"{text} ({hint})" if hint else text


def column_named(error: psycopg.Error, columns: Sequence[str]) -> str | None:
    """Return which of the columns has the refused value, or None if the server does not name it."""
    if error.diag.column_name in columns:
        return error.diag.column_name
    names = "|".join(re.escape(name) for name in sorted(columns, key=len, reverse=True))
    found = re.search(_IN_COPY.format(names), error.diag.context or "", re.MULTILINE)
    return found[1] if found else None


def _function(error: psycopg.Error) -> str | None:
    """Return the function in which an error occurred, with its parameter types.

    If a function raised the error explicitly, this is the innermost function. Otherwise it is the outermost one, since lines
    before it may be statements with values, which could look like names.
    """
    lines = (error.diag.context or "").split("\n")
    if is_raised(error):
        lines = lines[:1]
    return next((found[1] for line in reversed(lines) if (found := _IN_FUNCTION.fullmatch(line))), None)


def raised_text(connection: Connection, raised: BaseException) -> str | None:
    """Return which function raised an error, and its message without the values of parameters.

    Only text from the function's source is returned, since any other part may be a value of the row.
    """
    error = getattr(raised, "orig", None) or raised
    if not isinstance(error, psycopg.Error) or not is_raised(error) or (function := _function(error)) is None:
        return None
    row = driver(connection).execute(_SOURCE, (function,)).fetchone()
    primary = error.diag.message_primary or ""
    text = next(
        (text for text, known in _texts(row[0] if row else "") if re.fullmatch(known, primary, re.DOTALL)), None
    )
    return f"function {function} of the database refuses it" + (f": {text}" if text else "")


def _texts(source: str) -> Iterator[tuple[str, str]]:
    """Yield the messages in the source of a function, each with a pattern that matches the message when raised."""
    for literal in _MESSAGE.findall(source):
        text = literal.replace("''", "'")
        yield text, re.escape(text)
    for literal in _RAISED.findall(source):
        parts = re.split(r"(%%|%)", literal.replace("''", "'"))
        shown = "".join({"%%": "%", "%": "..."}.get(part, part) for part in parts)
        yield shown, "".join({"%%": "%", "%": ".*"}.get(part) or re.escape(part) for part in parts)
