"""Classification of MariaDB's and MySQL's errors, and their messages without values of records. Pure."""

import re
from collections.abc import Callable, Mapping
from typing import Final

import pymysql

from penstock_sql.dialects.error_meaning import Meaning

__all__ = ["may_be_of_a_row", "meaning", "words"]

_KINDS: Final[Mapping[Meaning, frozenset[int]]] = {
    kind: frozenset(map(int, numbers.split()))
    for kind, numbers in {
        Meaning.DATA: "1022 1048 1062 1136 1138 1169 1171 1216 1217 1261 1262 1263 1264 1265 1291 1292 1300 1301 1364 "
        "1365 1366 1367 1369 1406 1411 1416 1441 1451 1452 1525 1526 1557 1586 1644 1690 1748 1761 1762 "
        "1859 1906 1977 3105 3140 3156 3819 3854 3903 4025 4078",
        Meaning.SCHEMA: "1050 1051 1054 1060 1072 1091 1146 1412 1684 1932",
        Meaning.PASSING: "1015 1020 1021 1023 1026 1030 1037 1038 1040 1041 1049 1053 1077 1079 1080 1129 1135 1152 1158 "
        "1159 1160 1161 1180 1181 1184 1192 1194 1195 1203 1205 1206 1213 1223 1226 1290 1297 1305 1317 1397 "
        "1399 1402 1613 1614 1615 1637 1638 1689 1836 1927 1969 2002 2003 2005 2006 2013 2014 2055 3024 "
        "3058 3100 3159 3572 4031",
        Meaning.ACCESS: "1044 1045 1046 1130 1141 1142 1143 1211 1227 1251 1275 1370 1410 1419 1449 1524 1698 1820 "
        "1862 2026 2049 2054 2059 2061 3118 3955 4151",
    }.items()
}
"""Error numbers of each class. 1049: a missing database may be created later. 1305: the savepoint no longer exists, since
a deadlock has rolled back the whole transaction."""
_NEVER_VERIFIED: Final = ("CERTIFICATE_VERIFY_FAILED", "certificate verify failed", "Hostname mismatch")
_LOST: Final = pymysql.InterfaceError
_SIGNAL: Final = "45"
"""Class of the SQLSTATEs that triggers and functions raise explicitly."""


def meaning(error: pymysql.Error) -> Meaning:
    """Classify an error."""
    number, text = _number_and_text(error)
    if any(known in text for known in _NEVER_VERIFIED):
        return Meaning.ACCESS
    if isinstance(error, _LOST):
        return Meaning.PASSING
    if _is_signal(error):
        return Meaning.DATA
    if number == 0:
        if isinstance(error, pymysql.DataError):
            return Meaning.DATA
        return Meaning.PASSING if isinstance(error, pymysql.OperationalError) else Meaning.FINAL
    return next((kind for kind, numbers in _KINDS.items() if number in numbers), Meaning.FINAL)


def may_be_of_a_row(error: pymysql.Error) -> bool:
    """Return whether a row may have caused an error. A row never causes SCHEMA, since no value is looked up as a name."""
    return meaning(error) in (Meaning.DATA, Meaning.FINAL)


def _is_signal(error: pymysql.Error) -> bool:
    return str(getattr(error, "sqlstate", "")).startswith(_SIGNAL)


def _duplicate(text: str) -> str:
    key = re.search(r" for key '([^']*)'\s*$", text)
    return f"Duplicate entry for key '{key[1]}'" if key else text if "'" not in text else "Duplicate entry"


_COLUMN: Final = re.compile(r" for column ((?:`[^']+`|'[^']+') at row \d+)$")


def _incorrect(text: str) -> str:
    head = text.partition("'")[0].rstrip(": ")
    found = _COLUMN.search(text)
    return f"{head} for column {found[1]}" if found else head


def _at_first(text: str) -> str:
    return text.partition("'")[0].rstrip(": ")


_SHORTENED: Final[Mapping[int, Callable[[str], str]]] = {
    1062: _duplicate,
    1586: _duplicate,
    1366: _incorrect,
    1292: _incorrect,
    1411: _incorrect,
    1525: _incorrect,
    1367: _incorrect,
    1064: lambda _: "the server does not understand the statement",
    1300: _at_first,
    1690: _at_first,
    3140: _at_first,
    3156: _at_first,
    3903: _at_first,
    1526: lambda _: "the table has no partition for the value",
    1557: _at_first,
    1761: lambda _: "a foreign key would lead to a duplicate entry in another table",
    1762: lambda _: "a foreign key would lead to a duplicate entry in another table",
    1644: lambda _: "a trigger or function of the database refuses it",
}
"""Errors whose messages contain values, with functions that remove the values."""


_OF_STAGE: Final = re.compile(r" for `[^`]+`\.`penstock_[0-9a-f]{32}`|(?<=`)penstock_[0-9a-f]{32}\.")
"""Name of the sink's temporary table, whose constraints are those of the target table, in messages about them."""


def words(error: pymysql.Error) -> str:
    """Return the server's message, without values of records."""
    number, text = _number_and_text(error)
    if isinstance(error, _LOST):
        return "the connection was lost"
    if _is_signal(error):
        number = 1644
    change = _SHORTENED.get(number)
    text = _OF_STAGE.sub("", text if change is None else change(text))
    return " ".join(text.split()) or type(error).__name__


def _number_and_text(error: pymysql.Error) -> tuple[int, str]:
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    return number, str(error.args[-1]) if error.args else ""
