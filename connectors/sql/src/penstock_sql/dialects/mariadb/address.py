"""URLs of MariaDB and MySQL, as written for MariaDB Connector/J, with their TLS settings."""

import re
import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock import ConfigError, Problem
from penstock.config import nearest
from penstock_sql.dialects.base import Url
from penstock_sql.dialects.mariadb.url_parameters import AS_ALWAYS, FASTER, IGNORED, REFUSED

__all__ = ["read_mariadb"]

_URL: Final = "connection.url"
_PORT: Final = 3306
_MODES: Final[Mapping[str, str]] = {
    "disable": "disable",
    "disabled": "disable",
    "preferred": "prefer",
    "trust": "trust",
    "required": "trust",
    "verify-ca": "verify-ca",
    "verify_ca": "verify-ca",
    "verify-full": "verify-full",
    "verify_identity": "verify-full",
}
"""Values of `sslMode` in MariaDB's and MySQL's Connector/J."""
_TRUE: Final = ("true", "1", "")
_OWN: Final = ("connectTimeout", "serverSslCert", "sslMode", "trustServerCertificate", "useSSL")
"""Parameters that are parsed here, for suggestions."""


def read_mariadb(rest: str, user: str | None, password: str | None) -> Url:
    """Parse the rest of a URL after `jdbc:mariadb:` or `jdbc:mysql:`.

    Returns:
        The URL with the parameters hosts, database, user, password, connect_timeout, ssl, plain.

    Raises:
        ConfigError: the URL cannot be parsed, or has unsupported parameters. Lists all problems.
    """
    try:
        parts = urlsplit(f"mariadb:{rest}")
        hosts = _hosts(parts.netloc.rpartition("@")[2])
    except ValueError:
        raise _wrong("cannot be read: write jdbc:mariadb://HOST:PORT/DATABASE") from None
    problems: list[Problem] = []
    database = unquote(parts.path.removeprefix("/"))
    if not hosts or not database or "/" in database or parts.fragment:
        problems += _wrong("must name a host and a database: jdbc:mariadb://HOST:PORT/DATABASE").problems
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    mode, context = "prefer", None
    try:
        mode, authority = _safety(given)
        context = _context(mode, authority)
    except ConfigError as e:
        problems += e.problems
    timeout = given.pop("connectTimeout", "10000")
    if not re.fullmatch(r"[0-9]{1,9}", timeout) or int(timeout) == 0:
        problems.append(Problem(_URL, "connectTimeout must be a positive number of milliseconds"))
        timeout = "10000"
    named = {name: given.pop(name, None) for name in ("user", "password")}
    problems += _refused(given)
    if problems:
        raise ConfigError(problems)
    found = {
        "hosts": hosts,
        "database": database,
        "user": _first(user, named["user"], parts.username and unquote(parts.username)),
        "password": _first(password, named["password"], unquote(parts.password or "")),
        "connect_timeout": max(1, int(timeout) // 1000),
        "ssl": context,
        "plain": mode == "disable",
    }
    return Url(f"{','.join(f'{host}:{port}' for host, port in hosts)}/{database}", found, tuple(_ignored(given)))


def _first(*values: str | None) -> str | None:
    return next((value for value in values if value is not None), None)


def _wrong(what: str) -> ConfigError:
    return ConfigError(Problem(_URL, what))


def _hosts(text: str) -> list[tuple[str, int]]:
    """Return each host with its port, in the order in which they are tried."""
    found = []
    for each in filter(None, text.split(",")):
        if any(mark in each for mark in "()=&"):  # Connector/J's other notation, which may contain a password
            raise ValueError(each)
        parts = urlsplit(f"//{each}")
        if not parts.hostname:
            raise ValueError(each)
        found.append((parts.hostname, parts.port or _PORT))
    return found


def _safety(given: dict[str, str]) -> tuple[str, str | None]:
    """Return the TLS mode and the file of trusted certificates, and remove their parameters from `given`."""
    named = given.pop("sslMode", given.pop("ssl-mode", None))
    mode = None if named is None else _MODES.get(named.lower())
    if named is not None and mode is None:
        raise _wrong("sslMode must be disable, trust, verify-ca or verify-full")
    use = [given.pop(name) for name in ("useSsl", "useSSL", "requireSSL") if name in given]
    trusts = given.pop("trustServerCertificate", "false").lower() in _TRUE
    unverified = given.pop("verifyServerCertificate", "true").lower() not in _TRUE
    authority = given.pop("serverSslCert", None)
    if mode is None and use:
        mode = ("trust" if trusts or unverified else "verify-full") if use[-1].lower() in _TRUE else "disable"
    elif mode is None:
        mode = "verify-full" if authority and not trusts else "trust" if trusts else "prefer"
    elif trusts and mode.startswith("verify"):
        raise _wrong(
            f"sslMode={named} verifies the server, but trustServerCertificate=true does not; remove one of them"
        )
    if authority is not None and mode not in ("verify-ca", "verify-full"):
        raise _wrong("serverSslCert is used only with sslMode=verify-ca or verify-full")
    return mode, authority


def _context(mode: str, authority: str | None) -> ssl.SSLContext | None:
    """Return the TLS context; None if TLS is disabled, or is used only if the server offers it."""
    if mode in ("disable", "prefer"):
        return None
    file = None if authority is None else authority.removeprefix("file:")
    if file is not None and not Path(file).is_file():
        raise _wrong(f"serverSslCert: there is no file {file}; name a file with certificates in PEM")
    try:
        context = ssl.create_default_context(cafile=file)
    except ssl.SSLError:
        raise _wrong(f"serverSslCert: {file} contains no certificates in PEM") from None
    context.check_hostname = mode == "verify-full"
    context.verify_mode = ssl.CERT_NONE if mode == "trust" else ssl.CERT_REQUIRED
    return context


def _is_fixed_value(name: str, value: str) -> bool:
    return value.lower() in AS_ALWAYS.get(name, ())


def _ignored(given: Mapping[str, str]) -> Iterable[str]:
    for name, value in given.items():
        if name in IGNORED and not _is_fixed_value(name, value):
            yield f"the parameter {name} has no effect: {IGNORED[name]}"


def _refused(given: Mapping[str, str]) -> Iterable[Problem]:
    for name, value in given.items():
        if name in IGNORED or _is_fixed_value(name, value):
            continue
        if name in REFUSED or name in AS_ALWAYS:
            yield Problem(_URL, f"cannot use the parameter {name}: {REFUSED.get(name, FASTER)}; remove the parameter")
            continue
        near = nearest(name, {*AS_ALWAYS, *IGNORED, *_OWN})
        hint = f"did you mean {near}?" if near else "remove it"
        yield Problem(
            _URL, f"cannot use the parameter {name}: neither MariaDB's nor MySQL's Connector/J has it; {hint}"
        )
