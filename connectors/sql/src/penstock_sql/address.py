"""Where a database is: a URL as JDBC or libpq writes it."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict

from penstock import ConfigError, Password, Problem
from penstock_sql.dialects.base import Address
from penstock_sql.dialects.mariadb.address import read_mariadb
from penstock_sql.dialects.postgresql.parameters import read_parameters
from penstock_sql.dialects.registry import MARIADB, POSTGRESQL, SQLITE

__all__ = ["address", "address_problems", "address_warnings"]

_URL: Final = "connection.url"
_WRITE: Final = "write jdbc:postgresql://HOST:PORT/DATABASE?NAME=VALUE"
_SEMICOLON: Final = re.compile(r";\s*\w+\s*=")
"""A parameter as SQL Server and others have them."""
_SCHEME: Final = re.compile(r"(?:jdbc:[A-Za-z][\w+.-]*(?=:)|[A-Za-z][\w+.-]*(?=://))", re.ASCII)


def address(url: str, user: str | None, password: Password | None) -> Address:
    """Read `connection.url`, with the user and password that are given beside it.

    Raises:
        ConfigError: it is none that this connector knows.
    """
    text = url.removeprefix("jdbc:")
    kind, _, rest = text.partition(":")
    read = _KINDS.get(kind)
    if read is None:
        raise ConfigError(
            Problem(
                _URL,
                f"{_unknown(url)}; write jdbc:postgresql://HOST:PORT/DATABASE, jdbc:mariadb://HOST:PORT/DATABASE or "
                "jdbc:sqlite:FILE",
            )
        )
    if _SEMICOLON.search(
        rest.partition("?")[0].rpartition("@")[2]
    ):  # else messages would show it as a part of the place
        raise ConfigError(
            Problem(_URL, "cannot be read: parameters do not follow semicolons; write ?NAME=VALUE&NAME=VALUE")
        )
    return read(rest, user, None if password is None else password.reveal())


def address_problems(url: str) -> Iterable[Problem]:
    """Return what is wrong with `connection.url`."""
    try:
        address(url, None, None)
    except ConfigError as e:
        return e.problems
    return ()


def address_warnings(url: str, user: str | None, password: Password | None) -> Iterable[Problem]:
    """Return the parameters of `connection.url` that have no effect, each with the reason."""
    try:
        return address(url, user, password).warnings
    except ConfigError:  # told by `validate`
        return ()


def _postgresql(rest: str, user: str | None, password: str | None) -> Address:
    try:
        parts = urlsplit(f"postgresql:{rest}")
    except ValueError:
        raise ConfigError(Problem(_URL, f"cannot be read; {_WRITE}")) from None
    texts = dict(parse_qsl(parts.query, keep_blank_values=True))
    given, without_effect, wrong = read_parameters(texts, _of_libpq())
    if wrong:
        raise ConfigError(Problem(_URL, f"cannot use the parameter {name}: {why}") for name, why in wrong.items())
    schema = given.pop("currentSchema", None)
    try:
        read = conninfo_to_dict(urlunsplit(parts._replace(query=urlencode(given, quote_via=quote))))
    except psycopg.Error as e:
        raise ConfigError(Problem(_URL, f"cannot be read: {_cleared(str(e))}; {_WRITE}")) from None
    found: dict[str, Any] = {name: value for name, value in read.items() if value is not None}
    found |= {name: value for name, value in (("user", user), ("password", password)) if value is not None}
    if schema is not None:
        found["options"] = f"{found.get('options', '')} -c search_path={schema}".strip()
    hosts, ports = str(found.get("host", "localhost")).split(","), str(found.get("port", "")).split(",")
    ports = ports if len(ports) == len(hosts) else ports[:1] * len(hosts)
    place = ",".join(f"{host}:{port or 5432}" for host, port in zip(hosts, ports, strict=True))
    defaults = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "tcp_user_timeout": 60_000}
    place = f"{place}/{found.get('dbname', found.get('user', ''))}"
    return Address(POSTGRESQL, place, defaults | found, _warnings(without_effect))


def _of_libpq() -> list[str]:
    return [option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults()]


def _warnings(without_effect: Mapping[str, str]) -> tuple[Problem, ...]:
    return tuple(Problem(_URL, f"the parameter {n} has no effect: {why}") for n, why in without_effect.items())


def _sqlite(rest: str, user: str | None, password: str | None) -> Address:
    file = unquote(rest.removeprefix("///")) if rest.startswith("///") else rest
    if not file or file.startswith(":memory:") or "mode=memory" in file:
        raise ConfigError(Problem(_URL, "SQLite needs a file, since several processes write to it: jdbc:sqlite:FILE"))
    return Address(SQLITE, file, {"dbname": file})


def _mariadb(rest: str, user: str | None, password: str | None) -> Address:
    place, parameters, without_effect = read_mariadb(rest, user, password)
    return Address(MARIADB, place, parameters, _warnings(without_effect))


_KINDS: Final[Mapping[str, Callable[[str, str | None, str | None], Address]]] = {
    "postgresql": _postgresql,
    "postgres": _postgresql,
    "mariadb": _mariadb,
    "mysql": _mariadb,
    "sqlite": _sqlite,
}


def _unknown(url: str) -> str:
    """Which database a URL names, and nothing else of it: passwords may stand anywhere."""
    found = _SCHEME.match(url)
    return (
        f"cannot connect to {found[0]}: it is no supported database"
        if found
        else "cannot be read: it names no database"
    )


_NAME: Final = re.compile(r'(URI query parameter: )"(\w+)"')


def _cleared(text: str) -> str:
    """The words of libpq, without what they repeat of the URL, but for the name of a parameter."""
    lines = text.strip().splitlines() or ["no reason given"]
    return re.sub(r'"[^"]*("|$)', "...", _NAME.sub(r"\1\2", lines[0]))
