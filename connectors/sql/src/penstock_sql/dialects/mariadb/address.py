"""Where a MariaDB or MySQL is: a URL as MariaDB Connector/J writes it, and how safe the way there must be."""

import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock import ConfigError, Problem

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
"""`sslMode`, as Connector/J of MariaDB and of MySQL write it."""
_TRUE: Final = ("true", "1", "")
_AS_ALWAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "useUnicode": ("true",),
    "characterEncoding": ("utf8", "utf-8", "utf8mb4"),
    "tcpKeepAlive": ("true",),
    "rewriteBatchedStatements": ("true",),
    "useCursorFetch": ("true",),
    "allowMultiQueries": ("false",),
    "allowLoadLocalInfile": ("false",),
    "allowLocalInfile": ("false",),
    "autoReconnect": ("false",),
    "createDatabaseIfNotExist": ("false",),
    "tinyInt1isBit": ("true", "1"),
    "useAffectedRows": ("false",),
    "yearIsDateType": ("false",),
    "zeroDateTimeBehavior": ("converttonull", "convert_to_null"),
}
"""What holds anyway."""
_PACE: Final = "a failure that may pass is tried again with growing pauses"
_SENT: Final = "rows are written in large statements, and read as they come"
_POOL: Final = "each task has connections of its own"
_LOGS: Final = "the log is that of the task"
_OF_JDBC: Final = "it is of methods of JDBC, which are not used"
_SYSTEM: Final = "the system and the driver choose it"
_SILENCE: Final = "a connection that is silent for a minute is given up"
_CLOCK: Final = "times are read and written in UTC; db.timezone is that of columns without a zone"
_IGNORED: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("autoReconnect", "autoReconnectForPools", "failOverReadOnly", "initialTimeout", "maxReconnects",
         "retriesAllDown", "transactionReplay", "transactionReplaySize"), _PACE),
    **dict.fromkeys(
        ("cacheCallableStmts", "cachePrepStmts", "callableStmtCacheSize", "defaultFetchSize", "disablePipeline",
         "maxAllowedPacket", "prepStmtCacheSize", "prepStmtCacheSqlLimit", "rewriteBatchedStatements", "useBatchMultiSend",
         "useBulkStmts", "useBulkStmtsForInserts", "useCompression", "useCursorFetch", "useReadAheadInput",
         "useServerPrepStmts"), _SENT),
    **dict.fromkeys(
        ("maxIdleTime", "maxPoolSize", "minPoolSize", "pool", "poolName", "poolValidMinDelay", "registerJmxPool",
         "staticGlobal", "useResetConnection", "validConnectionTimeout"), _POOL),
    **dict.fromkeys(
        ("dumpQueriesOnException", "gatherPerfMetrics", "includeInnodbStatusInDeadlockExceptions",
         "includeThreadDumpInDeadlockExceptions", "log", "logger", "logSlowQueries", "maintainTimeStats",
         "maxQuerySizeToLog", "profileSQL"), _LOGS),
    **dict.fromkeys(
        ("assureReadOnly", "blankTableNameMeta", "cacheServerConfiguration", "databaseTerm", "dontTrackOpenResources",
         "elideSetAutoCommits", "generateSimpleParameterMetadata", "geometryDefaultType", "jdbcCompliantTruncation",
         "noAccessToProcedureBodies", "nullCatalogMeansCurrent", "nullDatabaseMeansCurrent", "nullNamePatternMatchesAll",
         "permitMysqlScheme", "pinGlobalTxToPhysicalConnection", "returnMultiValuesGeneratedIds", "useCatalogTerm",
         "useInformationSchema", "useLocalSessionState", "useMysqlMetadata", "useOldAliasMetadataBehavior",
         "uuidAsString"), _OF_JDBC),
    **dict.fromkeys(
        ("connectionAttributes", "interactiveClient", "tcpAbortiveClose", "tcpKeepAlive", "tcpKeepCount", "tcpKeepIdle",
         "tcpKeepInterval", "tcpNoDelay", "tcpRcvBuf", "tcpSndBuf"), _SYSTEM),
    **dict.fromkeys(("netTimeoutForStreamingResults", "queryTimeout", "socketTimeout"), _SILENCE),
    **dict.fromkeys(
        ("forceConnectionTimeZoneToSession", "preserveInstants", "useJDBCCompliantTimezoneShift", "useLegacyDatetimeCode",
         "useTimezone"), _CLOCK),
    **dict.fromkeys(
        ("characterEncoding", "characterSetResults", "connectionCollation", "useUnicode"), "texts are utf8mb4"),
    "allowPublicKeyRetrieval": "the driver asks for the server's key where the login needs it",
    "autocommit": "each batch is one transaction",
    "transactionIsolation": "each batch reads what is committed",
}  # fmt: skip
"""Parameters that change neither rows nor what is safe, with the reason."""
_STORES: Final = "name a file in PEM by serverSslCert: Java's stores of keys are not read"
_REFUSED: Final[Mapping[str, str]] = {
    "trustStore": _STORES,
    "trustCertificateKeyStoreUrl": _STORES,
    "keyStore": "a certificate of the client is not supported",
    "clientCertificateKeyStoreUrl": "a certificate of the client is not supported",
    "serverTimezone": "times are read and written in UTC; db.timezone is that of columns without a zone",
    "connectionTimeZone": "times are read and written in UTC; db.timezone is that of columns without a zone",
    "timezone": "times are read and written in UTC; db.timezone is that of columns without a zone",
    "initSql": "the session must be strict and in UTC, so that nothing is cut or moved",
    "sessionVariables": "the session must be strict and in UTC, so that nothing is cut or moved",
    "zeroDateTimeBehavior": "dates of zeros become null where the column may be null",
    "tinyInt1isBit": "TINYINT(1) is always a boolean",
}


def read_mariadb(rest: str, user: str | None, password: str | None) -> tuple[str, dict[str, Any], Mapping[str, str]]:
    """Read what stands behind `jdbc:mariadb:` or `jdbc:mysql:`.

    Returns:
        The place, for messages, and the parameters: hosts, database, user, password, connect_timeout, ssl.
        Then the parameters that have no effect, with the reasons.

    Raises:
        ConfigError: it is none that can be connected to, or has parameters that would have no effect.
    """
    try:
        parts = urlsplit(f"mariadb:{rest}")
        hosts = _hosts(parts.netloc.rpartition("@")[2])
    except ValueError:
        raise _wrong("cannot be read: write jdbc:mariadb://HOST:PORT/DATABASE") from None
    database = unquote(parts.path.removeprefix("/"))
    if not hosts or not database or "/" in database or parts.fragment:
        raise _wrong("must name a host and a database: jdbc:mariadb://HOST:PORT/DATABASE")
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    problems: list[Problem] = []
    mode, authority, context = "prefer", None, None
    try:
        mode, authority = _safety(given)
        context = _context(mode, authority)
    except ConfigError as e:  # the others are told as well
        problems += e.problems
    timeout = given.pop("connectTimeout", "10000")
    if not timeout.isascii() or not timeout.isdecimal() or int(timeout) == 0:
        problems.append(Problem(_URL, "connectTimeout must be milliseconds"))
        timeout = "10000"
    found = {
        "hosts": hosts,
        "database": database,
        "user": user if user is not None else given.pop("user", parts.username and unquote(parts.username)),
        "password": password if password is not None else given.pop("password", unquote(parts.password or "")),
        "connect_timeout": max(1, int(timeout) // 1000),
        "ssl": context,
        "plain": mode == "disable",
    }
    given.pop("user", None)
    given.pop("password", None)
    if problems := [*problems, *_unknown(given)]:
        raise ConfigError(problems)
    without_effect = {name: _IGNORED[name] for name, value in given.items() if not _holds(name, value)}
    return f"{','.join(f'{host}:{port}' for host, port in hosts)}/{database}", found, without_effect


def _holds(name: str, value: str) -> bool:
    """Whether it says what holds anyway."""
    return value.lower() in _AS_ALWAYS.get(name, ())


def _wrong(what: str) -> ConfigError:
    return ConfigError(Problem(_URL, what))


def _hosts(text: str) -> list[tuple[str, int]]:
    """Each host with its port; they are tried in this order."""
    found = []
    for each in filter(None, text.split(",")):
        parts = urlsplit(f"//{each}")
        if not parts.hostname:
            raise ValueError(each)
        found.append((parts.hostname, parts.port or _PORT))
    return found


def _safety(given: dict[str, str]) -> tuple[str, str | None]:
    """The mode of TLS, and the file with the certificates that count; the parameters that say so are taken out."""
    named = given.pop("sslMode", given.pop("ssl-mode", None))
    mode = None if named is None else _MODES.get(named.lower())
    if named is not None and mode is None:
        raise _wrong("sslMode must be disable, trust, verify-ca or verify-full")
    use = [given.pop(name) for name in ("useSsl", "useSSL", "requireSSL") if name in given]
    trusts = given.pop("trustServerCertificate", "false").lower() in _TRUE
    unverified = given.pop("verifyServerCertificate", "true").lower() not in _TRUE
    authority = given.pop("serverSslCert", None)
    any_host = given.pop("disableSslHostnameVerification", "false").lower() in _TRUE
    if mode is None and use:
        mode = ("trust" if trusts or unverified else "verify-full") if use[-1].lower() in _TRUE else "disable"
    elif mode is None:
        mode = "verify-full" if authority and not trusts else "trust" if trusts else "prefer"
    elif trusts and mode.startswith("verify"):
        raise _wrong(f"sslMode={named} verifies the server, and trustServerCertificate=true does not: take one out")
    mode = "verify-ca" if any_host and mode == "verify-full" else mode
    if authority is not None and mode not in ("verify-ca", "verify-full"):
        raise _wrong("serverSslCert counts only with sslMode=verify-ca or verify-full")
    return mode, authority


def _context(mode: str, authority: str | None) -> ssl.SSLContext | None:
    """How TLS is spoken; None: not, or only if the server offers it."""
    if mode in ("disable", "prefer"):
        return None
    file = None if authority is None else authority.removeprefix("file:")
    if file is not None and not Path(file).is_file():
        raise _wrong(f"serverSslCert: there is no file {file} with certificates in PEM")
    try:
        context = ssl.create_default_context(cafile=file)
    except ssl.SSLError:
        raise _wrong(f"serverSslCert: {file} has no certificates in PEM") from None
    context.check_hostname = mode == "verify-full"
    context.verify_mode = ssl.CERT_NONE if mode == "trust" else ssl.CERT_REQUIRED
    return context


def _unknown(given: Mapping[str, str]) -> Iterable[Problem]:
    for name, value in given.items():
        if _holds(name, value) or name in _IGNORED:
            continue
        reason = _REFUSED.get(name, "this driver does not know it")
        yield Problem(_URL, f"the parameter {name} has no effect here: {reason}. Take it out.")
