"""Parameters of pgjdbc's URLs: with another name in libpq, without effect, or unsupported."""

from collections.abc import Mapping
from typing import Final

__all__ = ["FACTORIES", "IGNORED", "REFUSED", "SAME", "SERVERS", "WORDS"]

SAME: Final[Mapping[str, str]] = {
    "ApplicationName": "application_name",
    "PGDBNAME": "dbname",
    "PGHOST": "host",
    "PGPORT": "port",
    "channelBinding": "channel_binding",
    "kerberosServerName": "krbsrvname",
    "requireAuth": "require_auth",
    "sslNegotiation": "sslnegotiation",
}
"""Parameters of pgjdbc by their name in libpq."""
_TLS: Final = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")
WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "channel_binding": ("disable", "prefer", "require"),
    "gssencmode": ("disable", "prefer", "require"),
    "load_balance_hosts": ("disable", "random"),
    "ssl_max_protocol_version": _TLS,
    "ssl_min_protocol_version": _TLS,
    "sslcertmode": ("disable", "allow", "require"),
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "sslnegotiation": ("postgres", "direct"),
    "target_session_attrs": ("any", "read-write", "read-only", "primary", "standby", "prefer-standby"),
}
"""Enumerated parameters of libpq, which libpq itself checks only when it connects."""
SERVERS: Final[Mapping[str, str]] = {
    "any": "any",
    "primary": "read-write",
    "master": "read-write",
    "secondary": "standby",
    "slave": "standby",
    "preferSecondary": "prefer-standby",
    "preferSlave": "prefer-standby",
}
_TRUSTING: Final = "org.postgresql.ssl.NonValidatingFactory"
FACTORIES: Final[Mapping[str, str | None]] = {
    "org.postgresql.ssl.LibPQFactory": None,
    "org.postgresql.ssl.jdbc4.LibPQFactory": None,
    _TRUSTING: "require",
}
"""Classes for `sslfactory`, with the equivalent `sslmode`."""

_FASTER: Final = "it only changes how the Java driver works"
_TEXTS: Final = "the database parses each string by the type of its column"
_SILENT: Final = "a connection without a response for a minute is closed"
IGNORED: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        [
            "adaptiveFetch",
            "adaptiveFetchMaximum",
            "adaptiveFetchMinimum",
            "allowEncodingChanges",
            "assumeMinServerVersion",
            "autosave",
            "binaryTransfer",
            "binaryTransferDisable",
            "binaryTransferEnable",
            "cancelSignalTimeout",
            "charSet",
            "cleanupSavepoints",
            "compatible",
            "convertBooleanToNumeric",
            "databaseMetadataCacheFields",
            "databaseMetadataCacheFieldsMiB",
            "defaultRowFetchSize",
            "disableColumnSanitiser",
            "escapeSyntaxCallMode",
            "flushCacheOnDeallocate",
            "groupStartupParameters",
            "gssResponseTimeout",
            "hideUnprivilegedObjects",
            "hostRecheckSeconds",
            "logServerErrorDetail",
            "logLevel",
            "logUnclosedConnections",
            "loggerFile",
            "loggerLevel",
            "loglevel",
            "maxResultBuffer",
            "maxSendBufferSize",
            "pemKeyAlgorithm",
            "preferQueryMode",
            "preparedStatementCacheQueries",
            "preparedStatementCacheSizeMiB",
            "prepareThreshold",
            "protocolVersion",
            "quoteReturningIdentifiers",
            "raiseExceptionOnSilentRollback",
            "reWriteBatchedInserts",
            "receiveBufferSize",
            "sendBufferSize",
            "sslResponseTimeout",
            "tcpNoDelay",
            "unknownLength",
            "xmlFactoryFactory",
        ],
        _FASTER,
    ),
    "readOnly": "the source only reads, and the sink has to write",
    "readOnlyMode": "the source only reads, and the sink has to write",
    "socketTimeout": _SILENT,
    "stringtype": _TEXTS,
}
_CLASS: Final = "a Java class cannot be used; sslmode and sslrootcert determine which server is trusted"
_KERBEROS: Final = "Kerberos is configured for the process: krbsrvname, KRB5_CONFIG, KRB5_CLIENT_KTNAME"
REFUSED: Final[Mapping[str, str]] = {
    "authenticationPluginClassName": "a Java class cannot be used; set connection.user and connection.password",
    "gsslib": _KERBEROS,
    "gssUseDefaultCreds": _KERBEROS,
    "jaasApplicationName": _KERBEROS,
    "jaasLogin": _KERBEROS,
    "localSocketAddress": "the system chooses the address to connect from",
    "replication": "the connector runs statements, which a replication connection does not accept",
    "socketFactory": "a Java class cannot be used; connect to the host itself, or to a proxy next to the task",
    "socketFactoryArg": "a Java class cannot be used; connect to the host itself, or to a proxy next to the task",
    "sslfactoryarg": _CLASS,
    "sslhostnameverifier": _CLASS,
    "sslpasswordcallback": "a Java class cannot be used; write the password of the key as sslpassword",
    "sspiServiceClass": _KERBEROS,
    "useSpnego": _KERBEROS,
}
