"""Database URLs, as written for JDBC or for the database's own tools."""

import re
from collections.abc import Iterable
from typing import Final

from penstock import ConfigError, Password, Problem
from penstock_sql.dialects.base import Address, Dialect
from penstock_sql.dialects.registry import DIALECTS

__all__ = ["address", "dialect_of_url", "url_problems", "url_warnings"]

_URL: Final = "connection.url"
_MISPLACED: Final = re.compile(r"[;&]\s*\w+\s*=")
"""A parameter before the question mark or after a semicolon, as in URLs of SQL Server and others."""
_SEMICOLON: Final = re.compile(r";\s*\w+\s*=")
_SCHEME: Final = re.compile(r"(?:jdbc:[A-Za-z][\w+.-]*(?=:)|[A-Za-z][\w+.-]*(?=://))", re.ASCII)


def address(url: str, user: str | None, password: Password | None) -> Address:
    """Parse `connection.url`, with the user and password from their own properties.

    Raises:
        ConfigError: the database is not supported, or the URL cannot be parsed. Lists all problems of the URL.
    """
    dialect, rest = dialect_of_url(url), url.removeprefix("jdbc:").partition(":")[2]
    if dialect is None:
        examples = [each.example for each in DIALECTS]
        write = f"write {', '.join(examples[:-1])} or {examples[-1]}"
        raise ConfigError(Problem(_URL, f"{_unknown(url)}; {write}"))
    before, _, parameters = rest.partition("?")
    if _MISPLACED.search(before.rpartition("@")[2]) or _SEMICOLON.search(parameters):
        # Otherwise messages would show the parameter as part of the host or of the user name.
        raise ConfigError(
            Problem(
                _URL, "cannot be read: parameters follow a question mark, not semicolons; write ?NAME=VALUE&NAME=VALUE"
            )
        )
    read = dialect.read_url(rest, user, None if password is None else password.reveal())
    return Address(dialect, read.place, read.parameters, read.warnings)


def dialect_of_url(url: str) -> Dialect | None:
    """Return the dialect of `connection.url`, or None if the database is not supported."""
    scheme = url.removeprefix("jdbc:").partition(":")[0]
    return next((each for each in DIALECTS if scheme in each.schemes), None)


def url_problems(url: str) -> Iterable[Problem]:
    """Return the problems of `connection.url`."""
    try:
        address(url, None, None)
    except ConfigError as e:
        return e.problems
    return ()


def url_warnings(url: str) -> Iterable[Problem]:
    """Return a warning for each parameter of a URL that has no effect."""
    try:
        parsed = address(url, None, None)
    except ConfigError:
        return []
    return [Problem(_URL, warning) for warning in parsed.warnings]


def _unknown(url: str) -> str:
    """Return why a URL is refused, naming only its scheme, since a password may be in any other part."""
    found = _SCHEME.match(url)
    return (
        f"cannot connect to {found[0]}: the database is not supported"
        if found
        else "cannot be read: it does not name a database"
    )
