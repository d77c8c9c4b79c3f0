"""Parameters of a URL as PostgreSQL's JDBC driver has them, in the words of libpq. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

__all__ = ["read_parameters"]

_RENAMED: Final[Mapping[str, str]] = {
    "applicationname": "application_name",
    "channelbinding": "channel_binding",
    "connecttimeout": "connect_timeout",
    "currentschema": "currentSchema",
    "gssencmode": "gssencmode",
    "kerberosservername": "krbsrvname",
    "pgdbname": "dbname",
    "pghost": "host",
    "pgport": "port",
    "requireauth": "require_auth",
    "sslmode": "sslmode",
    "sslnegotiation": "sslnegotiation",
}
"""By the names of the JDBC driver, in lower case. `currentSchema` is for the caller."""
_SERVERS: Final[Mapping[str, str]] = {
    "any": "any",
    "master": "read-write",
    "primary": "read-write",
    "secondary": "standby",
    "slave": "standby",
    "prefersecondary": "prefer-standby",
    "preferslave": "prefer-standby",
}
_MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_SWITCHES: Final[Mapping[str, tuple[str, str, str]]] = {
    "loadbalancehosts": ("load_balance_hosts", "random", "disable"),
    "tcpkeepalive": ("keepalives", "1", "0"),
}
"""The parameter of libpq, its value for true, and for false."""
_TIMEOUTS: Final = "a connection that is silent for a minute is given up"
_FETCH: Final = "rows come as they are read, in pieces that fit into memory"
_STATEMENTS: Final = "statements are not prepared by name, so that a pool between may share its connections"
_BATCHES: Final = "rows are written by COPY"
_TEXTS: Final = "the database reads a text as the type of its column"
_METADATA: Final = "tables and columns are read from PostgreSQL's catalog"
_LOGS: Final = "the log is that of the task"
_FORM: Final = "values come as texts, or in the form that the driver knows"
_SOCKETS: Final = "the system chooses the sizes of buffers"
_PIECES: Final = "each batch is one transaction, in which refused rows are found by savepoints"
_KERBEROS: Final = "libpq has its own library of Kerberos"
_IGNORED: Final[Mapping[str, str]] = {
    "adaptivefetch": _FETCH,
    "adaptivefetchmaximum": _FETCH,
    "adaptivefetchminimum": _FETCH,
    "allowencodingchanges": "texts are UTF-8",
    "assumeminserverversion": "the server tells its version",
    "autosave": _PIECES,
    "binarytransfer": _FORM,
    "binarytransferdisable": _FORM,
    "binarytransferenable": _FORM,
    "cancelsignaltimeout": _TIMEOUTS,
    "classloaderfirst": "no classes of Java are loaded",
    "cleanupsavepoints": _PIECES,
    "compatible": "the driver has one behaviour",
    "convertbooleantonumeric": "a boolean stays a boolean",
    "databasemetadatacachefields": _METADATA,
    "databasemetadatacachefieldsmib": _METADATA,
    "defaultrowfetchsize": _FETCH,
    "disablecolumnsanitiser": "names are always quoted",
    "escapesyntaxcallmode": "no procedures are called",
    "groupstartupparameters": "the server gets all parameters at once",
    "gsslib": _KERBEROS,
    "gssresponsetimeout": _TIMEOUTS,
    "gssusedefaultcreds": _KERBEROS,
    "hideunprivilegedobjects": _METADATA,
    "hostrecheckseconds": "hosts are tried in their order at each connection",
    "jaasapplicationname": _KERBEROS,
    "jaaslogin": _KERBEROS,
    "loggerfile": _LOGS,
    "loggerlevel": _LOGS,
    "loglevel": _LOGS,
    "logservererrordetail": "values of records are never logged",
    "logunclosedconnections": _LOGS,
    "maxresultbuffer": _FETCH,
    "maxsendbuffersize": _SOCKETS,
    "pemkeyalgorithm": "libpq finds the algorithm in the file",
    "preferquerymode": _STATEMENTS,
    "preparedstatementcachequeries": _STATEMENTS,
    "preparedstatementcachesizemib": _STATEMENTS,
    "preparethreshold": _STATEMENTS,
    "protocolversion": "libpq agrees on it with the server",
    "querytimeout": _TIMEOUTS,
    "quotereturningidentifiers": "names are always quoted",
    "readonlymode": "sources read only, and sinks write",
    "receivebuffersize": _SOCKETS,
    "rewritebatchedinserts": _BATCHES,
    "sendbuffersize": _SOCKETS,
    "sockettimeout": _TIMEOUTS,
    "sslresponsetimeout": _TIMEOUTS,
    "sspiserviceclass": _KERBEROS,
    "stringtype": _TEXTS,
    "tcpnodelay": "libpq sends at once",
    "unknownlength": _METADATA,
    "usespnego": _KERBEROS,
    "xmlfactoryfactory": "XML is read as a text",
}
"""Parameters that change neither rows nor what is safe, with the reason."""
_JAVA: Final = "it names a class of Java, and none can run here; take it out"
_EXPLAINED: Final[Mapping[str, str]] = {
    "authenticationpluginclassname": _JAVA,
    "localsocketaddress": "libpq lets the system choose the address; take it out",
    "replication": "rows are read by SELECT; take it out",
    "socketfactory": _JAVA,
    "socketfactoryarg": _JAVA,
    "sslfactoryarg": "name the file of certificates by sslrootcert",
    "sslhostnameverifier": f"{_JAVA}; sslmode=verify-ca does not compare the name of the host",
    "sslpasswordcallback": f"{_JAVA}, and give the password by sslpassword",
}
_FACTORIES: Final[Mapping[str, str]] = {"nonvalidatingfactory": "require", "libpqfactory": "", "jdbc4.libpqfactory": ""}
"""Classes of `sslfactory`, and the `sslmode` that is the same."""
_TRUE: Final = ("true", "1", "")


def read_parameters(
    given: Mapping[str, str], known: Iterable[str]
) -> tuple[dict[str, str], Mapping[str, str], Mapping[str, str]]:
    """Return the parameters of libpq, those without effect with the reason, and those that cannot be, likewise.

    Args:
        given: of the URL. Names of the JDBC driver count in any case.
        known: the parameters of libpq.
    """
    found: dict[str, str] = {}
    ignored: dict[str, str] = {}
    wrong: dict[str, str] = {}
    theirs = frozenset(known)
    for name, value in given.items():
        low = name.lower()
        if low in _RENAMED:
            found[_RENAMED[low]] = value
        elif low in _SWITCHES:
            of, on, off = _SWITCHES[low]
            found[of] = on if value.lower() in _TRUE else off
        elif low in _IGNORED:
            ignored[name] = _IGNORED[low]
        elif low in _EXPLAINED:
            wrong[name] = _EXPLAINED[low]
        elif name in theirs:
            found[name] = value
        elif low not in _READ_BELOW:
            wrong[name] = "neither libpq nor PostgreSQL's JDBC driver knows it; take it out"
    lows = {name.lower(): value for name, value in given.items()}
    if "logintimeout" in lows:
        found.setdefault("connect_timeout", lows["logintimeout"])
    if (server := lows.get("targetservertype")) is not None:
        if server.lower() in _SERVERS:
            found["target_session_attrs"] = _SERVERS[server.lower()]
        else:
            wrong["targetServerType"] = (
                "it must be any, primary, secondary or preferSecondary; libpq prefers no primary"
            )
    if lows.get("readonly", "false").lower() in _TRUE:
        ignored["readOnly"] = _IGNORED["readonlymode"]
    _read_safety(lows, found, wrong)
    timeout = found.get("connect_timeout", "10")
    if not timeout.isascii() or not timeout.isdecimal():
        wrong["connectTimeout"] = "it must be a whole number of seconds"
    return found, ignored, wrong


_READ_BELOW: Final = frozenset({"logintimeout", "readonly", "ssl", "sslfactory", "targetservertype"})


def _read_safety(lows: Mapping[str, str], found: dict[str, str], wrong: dict[str, str]) -> None:
    factory = lows.get("sslfactory", "LibPQFactory").removeprefix("org.postgresql.ssl.").lower()
    same = _FACTORIES.get(factory)
    if same is None:
        wrong["sslfactory"] = f"{_JAVA}, and set sslmode=verify-full with a file of certificates in PEM as sslrootcert"
    elif same and found.get("sslmode", "require").startswith("verify"):
        wrong["sslfactory"] = "it does not verify the server, and sslmode does; take one of the two out"
    elif same and lows.get("ssl", "true").lower() != "false":
        found.setdefault("sslmode", same)
    if lows.get("ssl", "false").lower() != "false":
        found.setdefault("sslmode", "verify-full")  # as PostgreSQL's JDBC driver has it
    if found.get("sslmode", "require") not in _MODES:
        wrong["sslmode"] = f"it must be one of {', '.join(_MODES)}"
    if found.get("sslkey", "").lower().endswith((".pk8", ".der", ".p12", ".pfx")):
        wrong["sslkey"] = "libpq reads keys in PEM: openssl pkcs8 -inform DER -in KEY.pk8 -out KEY.pem"
