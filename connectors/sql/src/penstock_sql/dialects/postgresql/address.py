"""URLs of PostgreSQL, as written for pgjdbc or libpq. Pure.

Parameters of pgjdbc are mapped to those of libpq. Parameters that only affect the speed of pgjdbc are ignored with a
warning. Parameters that cannot be ignored, since another server would be trusted or other data written, are refused.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from penstock import ConfigError, Problem
from penstock.config import nearest
from penstock_sql.dialects.base import Url
from penstock_sql.dialects.postgresql.url_parameters import FACTORIES, IGNORED, REFUSED, SAME, SERVERS, WORDS

__all__ = ["read_postgresql"]

_URL: Final = "connection.url"
_WRITE: Final = "write jdbc:postgresql://HOST:PORT/DATABASE?NAME=VALUE"
_CONVERSIONS: Final = {
    (".pk8", ".der"): "pkcs8 -inform DER -in KEY.pk8",
    (".p12", ".pfx"): "pkcs12 -nocerts -noenc -in KEY.p12",
}
"""Commands of openssl that read private keys, by the endings of their files."""
_DEFAULTS: Final[Mapping[str, Any]] = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "tcp_user_timeout": 60_000,
}


def read_postgresql(rest: str, user: str | None, password: str | None) -> Url:
    """Parse the rest of a URL after `jdbc:postgresql:`.

    Raises:
        ConfigError: the URL cannot be parsed, or has unsupported parameters. Lists all problems.
    """
    try:
        parts = urlsplit(f"postgresql:{rest}")
    except ValueError:
        raise ConfigError(Problem(_URL, f"cannot be read; {_WRITE}")) from None
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    names = {_PGJDBC.get(name.lower(), name) for name in given}
    problems: list[Problem] = []
    warnings: list[str] = []
    mapped: dict[str, str] = {}
    for written, value in given.items():
        name = _PGJDBC.get(written.lower(), written)  # users of JDBC also write sslMode
        if name in IGNORED:
            warnings.append(f"the parameter {written} has no effect: {IGNORED[name]}")
            continue
        try:
            found = _mapped(name, value)
        except ValueError as e:
            problems.append(Problem(_URL, f"cannot use the parameter {written}: {e}"))
        else:
            # libpq's own name takes precedence: sslmode=require over ssl=true.
            mapped |= {each: text for each, text in found.items() if each == name or each not in names}
    if problems:
        raise ConfigError(problems)
    try:
        read = conninfo_to_dict(urlunsplit(parts._replace(query=urlencode(mapped, quote_via=quote))))
    except psycopg.Error as e:
        raise ConfigError(Problem(_URL, f"cannot be read: {_cleared(str(e))}; {_WRITE}")) from None
    parameters: dict[str, Any] = {name: value for name, value in read.items() if value is not None}
    parameters |= {name: value for name, value in (("user", user), ("password", password)) if value is not None}
    if schema := next((value for name, value in given.items() if name.lower() == "currentschema"), None):
        escaped = schema.replace("\\", "\\\\").replace(" ", "\\ ")
        parameters["options"] = f"{parameters.get('options', '')} -c search_path={escaped}".strip()
    hosts, ports = str(parameters.get("host", "localhost")).split(","), str(parameters.get("port", "")).split(",")
    ports = ports if len(ports) == len(hosts) else ports[:1] * len(hosts)
    place = ",".join(f"{host}:{port or 5432}" for host, port in zip(hosts, ports, strict=True))
    database = parameters.get("dbname", parameters.get("user", ""))
    return Url(f"{place}/{database}", {**_DEFAULTS, **parameters}, tuple(warnings))


def _mapped(name: str, value: str) -> Mapping[str, str]:
    """Convert a parameter to libpq's name and value.

    Raises:
        ValueError: the parameter is not supported. The message does not contain its value.
    """
    if name in _READ:
        return _READ[name](value)
    if name in SAME:
        return _word(SAME[name], value)
    if name in REFUSED:
        raise ValueError(f"{REFUSED[name]}; remove the parameter")
    known = _keywords()
    if name in known:
        return _word(name, value)
    near = nearest(name, {*known, *_PGJDBC.values()})
    raise ValueError(f"neither pgjdbc nor libpq has it; {f'did you mean {near}?' if near else 'remove it'}")


def _word(name: str, value: str) -> Mapping[str, str]:
    """Return a parameter of libpq; the value of an enumerated parameter in libpq's case.

    Raises:
        ValueError: the value is not one of the enumerated ones.
    """
    if name not in WORDS:
        return {name: value}
    found = next((word for word in WORDS[name] if word.lower() == value.lower()), None)
    if found is None:
        raise ValueError(f"it must be one of {', '.join(WORDS[name])}")
    return {name: found}


def _encryption(value: str) -> Mapping[str, str]:
    return _word(
        "gssencmode", "prefer" if value.lower() == "allow" else value
    )  # libpq has no "allow": it either tries encryption first or does not use it


def _keywords() -> frozenset[str]:
    """Return the names of libpq's parameters."""
    return frozenset(option.keyword.decode() for option in Conninfo.get_defaults())


def _seconds(value: str) -> Mapping[str, str]:
    if not re.fullmatch(r"[0-9]{1,9}", value):
        raise ValueError("it must be a whole number of seconds")
    return {} if int(value) == 0 else {"connect_timeout": value}  # 0 means forever for pgjdbc; use the default instead


def _ssl(value: str) -> Mapping[str, str]:
    return {} if value.lower() == "false" else {"sslmode": "verify-full"}  # as in pgjdbc


def _server(value: str) -> Mapping[str, str]:
    if value == "preferPrimary":
        raise ValueError("libpq has no equivalent of preferPrimary; write primary or any")
    known = {name.lower(): of for name, of in SERVERS.items()}
    if value.lower() not in known:
        raise ValueError(f"it must be one of {', '.join(SERVERS)}")
    return {"target_session_attrs": known[value.lower()]}


def _key(value: str) -> Mapping[str, str]:
    for ends, command in _CONVERSIONS.items():
        if value.lower().endswith(ends):
            raise ValueError(f"libpq reads only keys in PEM; convert it: openssl {command} -out KEY.pem")
    return {"sslkey": value}


def _factory(value: str) -> Mapping[str, str]:
    if value not in FACTORIES:
        raise ValueError("a Java class cannot be used; sslmode and sslrootcert determine which server is trusted")
    mode = FACTORIES[value]
    return {} if mode is None else {"sslmode": mode}


def _keep_alive(value: str) -> Mapping[str, str]:
    return {"keepalives": "0" if value.lower() == "false" else "1"}


def _balanced(value: str) -> Mapping[str, str]:
    return {"load_balance_hosts": "random" if value.lower() == "true" else "disable"}


_READ: Final[Mapping[str, Callable[[str], Mapping[str, str]]]] = {
    "connectTimeout": _seconds,
    "gssEncMode": _encryption,
    "currentSchema": lambda _: {},  # added later, after `options`
    "loadBalanceHosts": _balanced,
    "loginTimeout": _seconds,
    "ssl": _ssl,
    "sslfactory": _factory,
    "sslkey": _key,
    "sslmode": lambda value: _word("sslmode", value),
    "targetServerType": _server,
    "tcpKeepAlive": _keep_alive,
}
"""Parameters of pgjdbc whose values differ in libpq, with the conversion."""

_PGJDBC: Final[Mapping[str, str]] = {name.lower(): name for name in (*_READ, *SAME, *IGNORED, *REFUSED)}
"""Parameters of pgjdbc by their names in lower case."""
_NAME: Final = re.compile(r'(URI query parameter: )"(\w+)"')


def _cleared(text: str) -> str:
    """Return libpq's message without the quoted parts of the URL, except the name of a parameter."""
    lines = text.strip().splitlines() or ["no reason given"]
    return re.sub(r'"[^"]*("|$)', "...", _NAME.sub(r"\1\2", lines[0]))
