"""Every parameter that the documentation of pgjdbc lists."""

import pytest

from penstock import ConfigError
from penstock_sql.address import address

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
            assert "there is no parameter" not in problem.message
            assert name in problem.message
            assert "hidden" not in problem.message.replace("hideUnprivilegedObjects", "")
