"""Every parameter that the documentation of pgjdbc lists."""

from typing import Any

import pytest

from penstock import ConfigError, ConnectError, Record, RetriableError
from penstock.testing import run_writer
from penstock.testing._making import make, parsed
from penstock_sql.address import address
from penstock_sql.sink import SqlSink

OF_PGJDBC = (
    "adaptiveFetch adaptiveFetchMaximum adaptiveFetchMinimum allowEncodingChanges ApplicationName assumeMinServerVersion "
    "authenticationPluginClassName autosave binaryTransfer binaryTransferDisable binaryTransferEnable cancelSignalTimeout "
    "channelBinding cleanupSavepoints connectTimeout currentSchema databaseMetadataCacheFields "
    "databaseMetadataCacheFieldsMiB defaultRowFetchSize disableColumnSanitiser escapeSyntaxCallMode "
    "flushCacheOnDeallocate groupStartupParameters gssEncMode gsslib gssResponseTimeout gssUseDefaultCreds "
    "hideUnprivilegedObjects hostRecheckSeconds jaasApplicationName jaasLogin kerberosServerName loadBalanceHosts "
    "localSocketAddress loggerFile loggerLevel loginTimeout logServerErrorDetail logUnclosedConnections maxResultBuffer "
    "maxSendBufferSize options password pemKeyAlgorithm PGDBNAME PGHOST PGPORT preferQueryMode "
    "preparedStatementCacheQueries preparedStatementCacheSizeMiB prepareThreshold protocolVersion "
    "quoteReturningIdentifiers readOnly readOnlyMode receiveBufferSize replication requireAuth reWriteBatchedInserts "
    "sendBufferSize service socketFactory socketFactoryArg socketTimeout ssl sslcert sslfactory sslfactoryarg "
    "sslhostnameverifier sslkey sslmode sslNegotiation sslpassword sslpasswordcallback sslResponseTimeout sslrootcert "
    "sspiServiceClass stringtype targetServerType tcpKeepAlive tcpNoDelay unknownLength user useSpnego xmlFactoryFactory"
)  # fmt: skip


@pytest.mark.parametrize("name", OF_PGJDBC.split())
def test_every_parameter_of_pgjdbc_is_known(name: str) -> None:
    try:
        address(f"jdbc:postgresql://db/shop?{name}=hidden", None, None)
    except ConfigError as e:
        for problem in e.problems:
            assert "neither pgjdbc nor libpq" not in problem.message
            assert name in problem.message
            assert "hidden" not in problem.message.replace("hideUnprivilegedObjects", "")


@pytest.mark.parametrize(
    "query",
    [
        "channelBinding=hidden", "channel_binding=hidden", "gssEncMode=hidden", "gssencmode=hidden", "sslNegotiation=hidden",
        "sslcertmode=hidden", "ssl_min_protocol_version=hidden", "target_session_attrs=hidden", "load_balance_hosts=hidden",
    ],
)  # fmt: skip
def test_error_for_an_invalid_parameter_value_lists_the_valid_ones(query: str) -> None:
    with pytest.raises(ConfigError) as raised:
        address(f"jdbc:postgresql://db/shop?{query}", None, None)
    (problem,) = raised.value.problems
    assert problem.message.startswith(f"cannot use the parameter {query.partition('=')[0]}: it must be one of ")
    assert "hidden" not in problem.message


@pytest.mark.parametrize(
    ("query", "name", "value"),
    [
        ("channelBinding=Require", "channel_binding", "require"),
        ("gssEncMode=PREFER", "gssencmode", "prefer"),
        ("gssEncMode=allow", "gssencmode", "prefer"),
        ("sslNegotiation=Direct", "sslnegotiation", "direct"),
    ],
)
def test_words_may_be_in_any_case_as_pgjdbc_takes_them(query: str, name: str, value: str) -> None:
    assert address(f"jdbc:postgresql://db/shop?{query}", None, None).parameters[name] == value


@pytest.mark.parametrize(
    "query",
    [
        "requireAuth=hidden",
        "requireAuth=none",
        "require_auth=md5,md5",
        "sslmode=disable&channelBinding=require",
        "sslmode=prefer&sslNegotiation=direct",
        "sslmode=require&sslrootcert=system",
        "ssl_min_protocol_version=TLSv1.3&ssl_max_protocol_version=TLSv1.2",
        "service=hidden",
    ],
)
def test_invalid_connection_parameters_are_refused_and_not_retried(server: Any, query: str) -> None:
    properties = {"connection.url": f"{server.url()}?{query}", "connection.user": "postgres"}
    properties["connection.password"] = "secret"
    assert len(list(make(SqlSink).validate(parsed(SqlSink, properties)))) == 1
    with pytest.raises(ConnectError) as raised:
        run_writer(SqlSink, properties, [[Record(topic="t", value={"id": 1})]])
    assert not isinstance(raised.value, RetriableError)
