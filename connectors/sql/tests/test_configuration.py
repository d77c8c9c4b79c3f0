"""What a user is told of a configuration, before a task starts and while it runs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock import ConfigError, ConnectError, Password, Record, RetriableError
from penstock.schema import INT32, struct
from penstock.testing import run_writer
from penstock.testing._making import make, parsed
from penstock_cli.run import plans
from penstock_runtime.plan.worker_check import worker_from
from penstock_sql.address import address
from penstock_sql.names import TableName, table_name
from penstock_sql.sink import SqlSink
from penstock_sql.sink.debezium.connector import DebeziumSqlSink
from penstock_sql.source import SqlSource

URL = {"connection.url": "jdbc:postgresql://db.example/shop"}
ROW = Record(topic="orders", value={"id": 1}, value_schema=struct({"id": INT32}))


def problems(properties: dict[str, str]) -> list[str]:
    """What parsing and `validate` say."""
    try:
        config = parsed(SqlSink, properties)
    except ConfigError as e:
        return [str(p) for p in e.problems]
    return [str(p) for p in make(SqlSink).validate(config)]


def test_all_rules_that_are_broken_are_reported_together() -> None:
    found = problems({**URL, "insert.mode": "upsert", "delete.enabled": "true", "db.timezone": "Mars"})
    assert [text.partition(": ")[2] for text in found] == [
        "Invalid value Mars for configuration db.timezone: Unknown time zone; use an IANA name, such as Europe/Berlin",
        "insert.mode: upsert needs a primary key: set pk.mode to record_key, record_value or kafka",
        "deletes rows by the record's key: set pk.mode: record_key",
    ]
    assert problems({**URL, "insert.mode": "upsert", "delete.enabled": "true"}) == [
        "pk.mode: insert.mode: upsert needs a primary key: set pk.mode to record_key, record_value or kafka",
        "delete.enabled: deletes rows by the record's key: set pk.mode: record_key",
    ]


def test_one_bad_value_hides_no_other_problem() -> None:
    bad = {"connection.url": "jdbc:oracle:thin:hidden", "db.timezone": "Mars", "pk.fields": "a,a"}
    assert [text.partition(":")[0] for text in problems(bad)] == ["db.timezone", "pk.fields", "connection.url"]
    assert "hidden" not in str(problems(bad))
    del bad["db.timezone"]
    assert [text.partition(":")[0] for text in problems(bad)] == ["pk.fields", "connection.url"]
    bad["db.timezone"] = "Mars"
    with pytest.raises(ConfigError) as raised:
        parsed(SqlSource, {**bad, **SOURCE, "poll.interval.ms": "-1", "table.whitelist": "a", "table.blacklist": "b"})
    assert {p.property for p in raised.value.problems} == {
        "db.timezone", "poll.interval.ms", "table.blacklist", "connection.url"
    }  # fmt: skip
    with pytest.raises(ConfigError) as raised:
        parsed(DebeziumSqlSink, {**bad, "use.time.zone": "Mars", "truncate.enabled": "true"})
    assert {p.property for p in raised.value.problems} == {"use.time.zone", "truncate.enabled", "connection.url"}


UNREAD = [
    ({"poll.interval.ms": "x"}, {"poll.interval.ms"}),
    ({"poll.interval.ms": "x", "db.timezone": "Mars"}, {"poll.interval.ms", "db.timezone"}),
    ({"topic.prefix": None}, {"topic.prefix"}),
    ({"mode": "often"}, {"mode"}),
    ({"mode": None, "validate.non.null": "x"}, {"mode", "validate.non.null"}),
    ({"connection.url": None}, {"connection.url"}),
]


@pytest.mark.parametrize(("wrong", "names"), UNREAD)
def test_an_invalid_value_does_not_hide_broken_rules_over_other_properties(
    wrong: Mapping[str, str | None], names: set[str]
) -> None:
    given = {**URL, **SOURCE, "table.whitelist": "a", "table.blacklist": "b", "query.suffix": "x", **wrong}
    with pytest.raises(ConfigError) as raised:
        parsed(SqlSource, {name: text for name, text in given.items() if text is not None})
    assert {p.property for p in raised.value.problems} == {*names, "table.blacklist", "query.suffix"}


def test_a_rule_that_needs_an_invalid_value_is_not_checked() -> None:
    with pytest.raises(ConfigError) as raised:
        parsed(SqlSink, {**URL, "delete.enabled": "maybe", "insert.mode": "upsert"})
    assert {p.property for p in raised.value.problems} == {"delete.enabled", "pk.mode"}
    with pytest.raises(ConfigError) as raised:
        parsed(SqlSource, {**URL, **SOURCE, "mode": "bulk", "backlog.ranges": "x", "table.blacklist": "a"})
    assert {p.property for p in raised.value.problems} == {"backlog.ranges"}


SOURCE = {"mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": "t."}
OF_BOTH = {
    "connection.attempts": "5", "connection.backoff.ms": "1000", "dialect.name": "PostgreSqlDatabaseDialect",
    "max.retries": "10", "retry.backoff.ms": "100", "table.types": "TABLE,VIEW",
}  # fmt: skip
OF_SINK = {**OF_BOTH, "batch.size": "3000", "mssql.use.merge.holdlock": "true", "trim.sensitive.log": "false"}
OF_SOURCE = {
    **OF_BOTH, "batch.max.rows": "10000", "catalog.pattern": "shop", "query.retry.attempts": "2",
    "table.monitoring.startup.polling.limit.ms": "100", "transaction.isolation.mode": "SERIALIZABLE",
}  # fmt: skip
OF_DEBEZIUM = {
    "batch.size": "500", "connection.pool.max_size": "32", "connection.provider": "x", "flush.max.retries": "5",
    "flush.retry.delay.ms": "1000", "use.reduction.buffer": "false",
}  # fmt: skip


def warnings(plugin: Any, properties: dict[str, str]) -> dict[str, str]:
    return {p.property: p.message for p in make(plugin).warnings(parsed(plugin, properties))}


@pytest.mark.parametrize(
    ("plugin", "more", "ineffective"),
    [(SqlSink, {}, OF_SINK), (SqlSource, SOURCE, OF_SOURCE), (DebeziumSqlSink, {}, OF_DEBEZIUM)],
)
def test_properties_without_effect_are_warnings(
    server: Any, plugin: Any, more: dict[str, str], ineffective: dict[str, str]
) -> None:
    user = "connection.username" if plugin is DebeziumSqlSink else "connection.user"
    properties = {"connection.url": server.url(), user: "postgres", "connection.password": "secret", **more}
    assert list(make(plugin).validate(parsed(plugin, {**properties, **ineffective}))) == []
    found = warnings(plugin, {**properties, **ineffective})
    assert found.keys() == ineffective.keys()
    assert all(message.startswith("has no effect: ") for message in found.values())
    assert warnings(plugin, properties) == {}


def test_planning_shows_the_warnings(tmp_path: Path) -> None:
    config = {
        "topics": "orders", "connection.url": f"jdbc:sqlite:{tmp_path}/shop.db", "batch.size": "100", "insert.mod": "upsert",
    }  # fmt: skip
    resource = {
        "apiVersion": "penstock.dev/v1alpha1", "kind": "Connector", "metadata": {"name": "a"},
        "spec": {"class": "SqlSink", "config": config},
    }  # fmt: skip
    file = tmp_path / "a.yaml"
    file.write_text(json.dumps(resource))
    _, found = plans([str(file)], worker_from({}).config, None)
    told = [text.rpartition("Connector a: ")[2] for text in found]
    assert told == [
        "batch.size: has no effect: a batch is written as a whole, in one transaction; max.poll.records limits it",
        "insert.mod: is not known to SqlSink; did you mean insert.mode?",
    ]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("incrementing.column.mapping", "orders:id", "for each name"),
        ("numeric.precision.mapping", "true", "numeric.mapping"),
        ("query.masked", "SELECT 1", "write it as query"),
        ("quote.sql.identifiers", "never", "names are always quoted"),
        ("table.include.list", "orders", "table.whitelist"),
        ("table.types", "VIEW", "name the views in table.whitelist"),
        ("table.types", "TABLE,SYNONYM", "cannot read SYNONYM"),
        ("timestamp.columns.mapping", "orders:at", "for each"),
        ("timestamp.granularity", "nanos_string", "milliseconds"),
        ("timestamp.initial", "-1", "set the initial offset"),
    ],
)
def test_a_property_that_cannot_be_ignored_safely_is_refused(server: Any, name: str, value: str, words: str) -> None:
    properties = {"connection.url": server.url(), "connection.user": "postgres", "connection.password": "secret"}
    (found,) = make(SqlSource).validate(parsed(SqlSource, {**properties, **SOURCE, name: value}))
    assert found.property == name
    assert words in found.message


def test_views_are_read_only_where_table_whitelist_names_them(server: Any) -> None:
    properties = {"connection.url": server.url(), "connection.user": "postgres", "connection.password": "secret"}
    given = {**properties, **SOURCE, "table.types": "VIEW", "table.whitelist": "open_orders"}
    assert list(make(SqlSource).validate(parsed(SqlSource, given))) == []
    assert "table.types" in warnings(SqlSource, given)


def test_catalog_pattern_may_only_repeat_the_database_of_mariadb(maria: Any) -> None:
    given = {**maria.properties, **SOURCE, "mode": "bulk"}
    assert list(make(SqlSource).validate(parsed(SqlSource, {**given, "catalog.pattern": maria.name}))) == []
    (found,) = make(SqlSource).validate(parsed(SqlSource, {**given, "catalog.pattern": "other"}))
    assert str(found).startswith("catalog.pattern: names a different database")


def test_a_sink_refuses_names_without_quotation_marks(server: Any) -> None:
    properties = {"connection.url": server.url(), "connection.user": "postgres", "connection.password": "secret"}
    (found,) = problems({**properties, "quote.sql.identifiers": "never"})
    assert "names are always quoted" in found


BOUNDED = [
    ("SELECT * FROM orders LIMIT 10", "LIMIT"),
    ("(SELECT * FROM orders limit (10))", "LIMIT"),
    ("SELECT * FROM orders ORDER BY id OFFSET 5 -- all others", "OFFSET"),
    ("SELECT * FROM orders FETCH FIRST 5 ROWS ONLY", "FETCH"),
]


@pytest.mark.parametrize(("query", "word"), BOUNDED)
def test_a_query_that_bounds_its_rows_is_refused_but_for_bulk(query: str, word: str) -> None:
    with pytest.raises(ConfigError, match=f"query: cannot end with {word} in mode: incrementing: rows beyond it"):
        parsed(SqlSource, {**URL, **SOURCE, "query": query})
    parsed(SqlSource, {**URL, **SOURCE, "mode": "bulk", "query": query})


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM (SELECT * FROM orders LIMIT 10) o",
        "WITH o AS (SELECT * FROM orders LIMIT 10) SELECT * FROM o",
        "SELECT *, ' LIMIT 10' AS \"LIMIT 5\" FROM orders -- LIMIT 5",
        "SELECT * FROM orders LIMIT ALL",
    ],
)
def test_a_query_may_bound_the_rows_of_a_subquery(query: str) -> None:
    parsed(SqlSource, {**URL, **SOURCE, "query": query})


@pytest.mark.parametrize(
    ("suffix", "advice"), [("LIMIT 100", "remove it"), ("WHERE status <> 'x'", "write the condition into query")]
)
def test_query_suffix_is_refused_with_advice_that_loses_no_rows(server: Any, suffix: str, advice: str) -> None:
    properties = {"connection.url": server.url(), "connection.user": "postgres", "connection.password": "secret"}
    (found,) = make(SqlSource).validate(parsed(SqlSource, {**properties, **SOURCE, "query.suffix": suffix}))
    assert found.property == "query.suffix"
    assert advice in found.message


def test_a_property_that_says_what_holds_anyway_passes(server: Any) -> None:
    properties = {"connection.url": server.url(), "connection.user": "postgres", "connection.password": "secret"}
    assert problems({**properties, "quote.sql.identifiers": "always"}) == []


def test_a_wrong_password_is_reported_immediately(server: Any) -> None:
    (found,) = problems({"connection.url": server.url(), "connection.user": "postgres", "connection.password": "wrong"})
    assert found.startswith("connection.password: cannot connect to 127.0.0.1:")
    assert "password authentication failed" in found
    assert "wrong" not in found.replace("password authentication failed", "")


def test_a_database_that_does_not_exist_is_waited_for_and_named(server: Any) -> None:
    given = {"connection.user": "postgres", "connection.password": "secret", "auto.create": "true"}
    given["connection.url"] = server.url("created_later")
    assert problems(given) == []
    with pytest.raises(RetriableError, match='database "created_later" does not exist'):
        run_writer(SqlSink, given, [[ROW]])
    server.create_database("created_later")
    run_writer(SqlSink, given, [[ROW]])
    source = {**given, **SOURCE, "connection.url": server.url("nowhere")}
    del source["auto.create"]
    assert list(make(SqlSource).validate(parsed(SqlSource, source))) == []


def test_a_server_that_is_unavailable_is_no_fault_of_the_configuration() -> None:
    away = {
        "connection.url": "jdbc:postgresql://127.0.0.1:1/shop",
        "connection.user": "u",
        "connection.password": "secret",
    }
    assert problems(away) == []
    with pytest.raises(RetriableError, match=r"cannot create the table of offsets at 127\.0\.0\.1:1/shop: "):
        run_writer(SqlSink, away, [[ROW]])


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("jdbc:oracle:thin:@db:1521/x", "cannot connect to jdbc:oracle: the database is not supported"),
        ("jdbc:oracle:thin:scott/hidden@db:1521/x", "cannot connect to jdbc:oracle: the database is not supported"),
        (
            "jdbc:sqlserver://db;user=sa;password=hidden",
            "cannot connect to jdbc:sqlserver: the database is not supported",
        ),
        ("jdbc:db2://db:50000/X:user=a;password=hidden;", "cannot connect to jdbc:db2: the database is not supported"),
        ("oracle://u:hidden@db/x", "cannot connect to oracle: the database is not supported"),
        ("host=db password=hidden", "cannot be read: it does not name a database"),
        ("sa:hidden@db/x", "cannot be read: it does not name a database"),
        ("jdbc:postgresql://db/x;user=sa;password=hidden", "parameters follow a question mark, not semicolons"),
        ("jdbc:postgresql://db;user=sa;password=hidden/x", "parameters follow a question mark, not semicolons"),
        ("jdbc:mariadb://db/x;password=hidden", "parameters follow a question mark, not semicolons"),
        ("jdbc:sqlite:x.db;password=hidden", "parameters follow a question mark, not semicolons"),
        ("jdbc:postgresql://h/db&password=hidden", "parameters follow a question mark"),
        ("jdbc:postgresql://h/db?user=a;password=hidden", "parameters follow a question mark"),
        ("jdbc:mysql://address=(host=h)(port=1)(password=hidden)/x", "cannot be read: write jdbc:mariadb:"),
        ("jdbc:mysql://(host=h,password=hidden)/x", "cannot be read: write jdbc:mariadb:"),
        ("jdbc:sqlite:/a.db?password=hidden", "cannot have parameters"),
        ("jdbc:sqlite:file:/a.db?mode=rw", "cannot have parameters"),
        ("jdbc:sqlite::resource:hidden", "must name a file by its path"),
        ("jdbc:postgresql://[hidden/x", "cannot be read; write jdbc:postgresql:"),
        ("jdbc:postgresql:hidden", "cannot be read: missing ... after ..."),
        ("mysql://u:hidden@db/x?frobnicate=1", "cannot use the parameter frobnicate"),
        ("mariadb://u:hidden@db", "must name a host and a database"),
        ("mariadb://u:hidden@db/x?sslMode=hidden", "sslMode must be disable"),
        ("mariadb://u:hidden@db/x?trustStore=file:x.jks", "Java key stores are not supported"),
        ("mariadb://u:hidden@db/x?serverSslCert=/nowhere.pem", "there is no file /nowhere.pem"),
        ("mariadb://u:hidden@db/x?sslMode=verify-full&trustServerCertificate=true", "remove one of them"),
        ("postgresql://db/x?frobnicate=hidden", "cannot use the parameter frobnicate"),
        ("jdbc:sqlite::memory:", "SQLite needs a file"),
    ],
)
def test_a_url_that_cannot_be_read_is_reported_without_its_password(url: str, words: str) -> None:
    (found,) = problems({"connection.url": url})
    assert words in found
    assert "hidden" not in found


def test_a_url_of_jdbc_is_read_as_its_driver_reads_it() -> None:
    url = "jdbc:postgresql://a:5433,b/shop?currentSchema=sales&ssl=true&targetServerType=primary&ApplicationName=x"
    found = address(url, "user", Password("hidden"))
    assert found.place == "a:5433,b:5432/shop"
    assert "hidden" not in repr(found)
    wanted = {
        "host": "a,b", "port": "5433,", "dbname": "shop", "user": "user", "password": "hidden", "sslmode": "verify-full",
        "target_session_attrs": "read-write", "application_name": "x", "options": "-c search_path=sales",
    }  # fmt: skip
    assert {name: found.parameters[name] for name in wanted} == wanted


PGJDBC = {
    "tcpKeepAlive=false": {"keepalives": "0"},
    "tcpKeepAlive=true": {"keepalives": "1"},
    "connectTimeout=7": {"connect_timeout": "7"},
    "loginTimeout=7": {"connect_timeout": "7"},
    "connectTimeout=0": {"connect_timeout": 10},
    "ssl=true": {"sslmode": "verify-full"},
    "ssl=true&sslmode=require": {"sslmode": "require"},
    "sslmode=require&ssl=true": {"sslmode": "require"},
    "sslmode=verify-ca&sslrootcert=/ca.pem": {"sslmode": "verify-ca", "sslrootcert": "/ca.pem"},
    "sslfactory=org.postgresql.ssl.NonValidatingFactory": {"sslmode": "require"},
    "targetServerType=preferSecondary": {"target_session_attrs": "prefer-standby"},
    "loadBalanceHosts=true": {"load_balance_hosts": "random"},
    "ApplicationName=shop": {"application_name": "shop"},
    "options=-c%20statement_timeout=5s&currentSchema=sales": {
        "options": "-c statement_timeout=5s -c search_path=sales"
    },
    "channelBinding=require": {"channel_binding": "require"},
}


@pytest.mark.parametrize(("query", "wanted"), PGJDBC.items())
def test_a_parameter_of_pgjdbc_does_what_it_does_there(query: str, wanted: Mapping[str, Any]) -> None:
    found = address(f"jdbc:postgresql://db/shop?{query}", None, None)
    assert {name: found.parameters[name] for name in wanted} == wanted
    assert found.warnings == ()


URL_ALONE = ("connection.url",)
TAKEN: Mapping[Any, tuple[str, ...]] = {
    SqlSink: URL_ALONE, DebeziumSqlSink: URL_ALONE, SqlSource: (*URL_ALONE, "mode", "topic.prefix"),
}  # fmt: skip


@pytest.mark.parametrize("connector", [SqlSink, SqlSource, DebeziumSqlSink])
@pytest.mark.parametrize(
    ("url", "names"),
    [
        (
            "jdbc:postgresql://db/shop?stringtype=unspecified&reWriteBatchedInserts=true&socketTimeout=30"
            "&prepareThreshold=0&defaultRowFetchSize=100&binaryTransfer=true",
            "stringtype reWriteBatchedInserts socketTimeout prepareThreshold defaultRowFetchSize binaryTransfer",
        ),
        (
            "jdbc:mysql://db/shop?rewriteBatchedStatements=true&useServerPrepStmts=true&cachePrepStmts=true"
            "&serverTimezone=UTC&useSSL=false&allowPublicKeyRetrieval=true",
            "rewriteBatchedStatements useServerPrepStmts cachePrepStmts allowPublicKeyRetrieval",
        ),
    ],
)
def test_parameters_of_java_drivers_without_an_effect_are_warnings(connector: Any, url: str, names: str) -> None:
    properties = {"connection.url": url, "mode": "bulk", "topic.prefix": "t."}
    taken = {name: properties[name] for name in TAKEN[connector]}
    warnings = [str(each) for each in make(connector).warnings(parsed(connector, taken))]
    for name in names.split():
        assert any(f"connection.url: the parameter {name} has no effect: " in each for each in warnings), name
    assert len(warnings) == len(names.split())


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (
            "jdbc:postgresql://db/shop?socketFactory=com.google.cloud.sql.postgres.SocketFactory&sslfactory=org.shop.F"
            "&connectTimeot=5&connectTimeout=soon&targetServerType=preferPrimary&replication=database",
            [
                "cannot use the parameter socketFactory: a Java class cannot be used",
                "cannot use the parameter sslfactory: a Java class cannot be used",
                "cannot use the parameter connectTimeot: neither pgjdbc nor libpq has it; did you mean connectTimeout?",
                "cannot use the parameter connectTimeout: it must be a whole number of seconds",
                "cannot use the parameter targetServerType",
                "cannot use the parameter replication",
            ],
        ),
        (
            "jdbc:mariadb://db/shop?sslMode=maybe&connectTimeout=soon&keyStore=x&serverTimezone=CET&zeroDateTimeBehavior=round"
            "&sslmode=trust",
            [
                "sslMode must be disable",
                "connectTimeout must be a positive number of milliseconds",
                "cannot use the parameter keyStore",
                "cannot use the parameter serverTimezone",
                "cannot use the parameter zeroDateTimeBehavior",
                "cannot use the parameter sslmode: neither MariaDB's nor MySQL's Connector/J has it; did you mean sslMode?",
            ],
        ),
    ],
)
def test_all_parameters_that_cannot_be_obeyed_are_named_together(url: str, words: list[str]) -> None:
    found = problems({"connection.url": url})
    for each in words:
        assert any(each in problem for problem in found), each
    assert len(found) == len(words)


def test_parameters_of_the_jdbc_driver_are_mapped_to_libpq() -> None:
    url = (
        "jdbc:postgresql://a/shop?connectTimeout=7&tcpKeepAlive=false&sslMode=verify-ca&sslrootcert=/x.pem&gssEncMode=disable"
        "&targetServerType=preferSecondary&loadBalanceHosts=true&channelBinding=require&ApplicationName=my%20app"
    )
    wanted = {
        "connect_timeout": "7", "keepalives": "0", "sslmode": "verify-ca", "sslrootcert": "/x.pem",
        "gssencmode": "disable", "target_session_attrs": "prefer-standby", "load_balance_hosts": "random",
        "channel_binding": "require", "application_name": "my app",
    }  # fmt: skip
    found = address(url, None, None).parameters
    assert {name: found.get(name) for name in wanted} == wanted
    for text, mode in [
        ("ssl=true&sslfactory=org.postgresql.ssl.NonValidatingFactory", "require"),
        ("ssl=true", "verify-full"),
        ("ssl=true&sslmode=require", "require"),
        ("sslfactory=org.postgresql.ssl.NonValidatingFactory", "require"),
    ]:
        assert address(f"jdbc:postgresql://a/shop?{text}", None, None).parameters["sslmode"] == mode
    assert address("jdbc:postgresql://a/shop?loginTimeout=3", None, None).parameters["connect_timeout"] == "3"


@pytest.mark.parametrize("plugin", [SqlSink, SqlSource, DebeziumSqlSink])
def test_parameters_of_the_java_driver_without_effect_are_warnings(server: Any, maria: Any, plugin: Any) -> None:
    user = "connection.username" if plugin is DebeziumSqlSink else "connection.user"
    more = {**SOURCE, "mode": "bulk"} if plugin is SqlSource else {}
    for url, name, names in [
        (server.url(), "postgres", ("stringtype=unspecified", "reWriteBatchedInserts=true", "socketTimeout=30",
                                    "prepareThreshold=0", "defaultRowFetchSize=100", "binaryTransfer=false")),
        (maria.properties["connection.url"], "penstock",
         ("socketTimeout=30000", "useServerPrepStmts=true", "cachePrepStmts=true", "autoReconnect=true")),
    ]:  # fmt: skip
        properties = {
            "connection.url": f"{url}{'&' if '?' in url else '?'}{'&'.join(names)}",
            user: name,
            "connection.password": "secret",
            **more,
        }
        config = parsed(plugin, properties)
        assert list(make(plugin).validate(config)) == []
        found = [p.message for p in make(plugin).warnings(config)]
        assert [text.split()[2] for text in found] == [each.partition("=")[0] for each in names]


def test_all_parameters_that_cannot_be_used_are_reported_together() -> None:
    url = (
        "jdbc:postgresql://a/shop?socketFactory=com.example.F&sslfactory=com.example.G&connectTimeout=hidden&sslmode=hidden"
        "&targetServerType=preferPrimary&frobnicate=hidden&sslkey=/x.pk8"
    )
    found = problems({"connection.url": url})
    names = "socketFactory frobnicate targetServerType sslfactory sslmode sslkey connectTimeout"
    assert {text.partition("parameter ")[2].partition(":")[0] for text in found} == set(names.split())
    assert "hidden" not in str(found)
    found = problems(
        {"connection.url": "jdbc:mariadb://a/shop?sslMode=maybe&connectTimeout=x&trustStore=x&frobnicate=hidden"}
    )
    assert len(found) == 4
    assert "hidden" not in str(found)


@pytest.mark.parametrize(
    ("form", "topic", "table"),
    [
        ("${topic}", "orders", TableName(None, "orders")),
        ("${topic}", "shop.orders", TableName("shop", "orders")),
        ("shop.${topic}", "orders", TableName("shop", "orders")),
        ('"${topic}"', "a.b.c", TableName(None, "a.b.c")),
        ('"a""b"."${topic}"', 'c"d', TableName('a"b', 'c"d')),
        ("all", "orders", TableName(None, "all")),
    ],
)
def test_the_name_of_a_table_is_made_of_the_topic(form: str, topic: str, table: TableName) -> None:
    assert table_name(form, topic) == table


@pytest.mark.parametrize("create", ["false", "true"])
@pytest.mark.parametrize("kind", ["postgresql", "mariadb", "sqlite"])
def test_error_for_a_dotted_topic_without_schema_explains_how_to_keep_the_dot(
    request: Any, tmp_path: Path, kind: str, create: str
) -> None:
    fixture = {"postgresql": "database", "mariadb": "maria"}.get(kind)
    given = {"connection.url": f"jdbc:sqlite:{tmp_path}/shop.db"}
    if fixture:
        given = request.getfixturevalue(fixture).properties
    record = Record(topic="absent.orders", value={"id": 1}, value_schema=struct({"id": INT32}))
    with pytest.raises(ConnectError, match=r"if it belongs to the table's name, write table.name.format: '") as raised:
        run_writer(SqlSink, {**given, "auto.create": create}, [[record]])
    assert not isinstance(raised.value, RetriableError)
    quoted = {"auto.create": "true", "table.name.format": '"${topic}"'}
    assert run_writer(SqlSink, {**given, **quoted}, [[record]]) == []


def test_error_for_a_user_without_create_right_has_the_statement_to_run(database: Any) -> None:
    database.run("DROP ROLE IF EXISTS writer")
    database.run("CREATE ROLE writer LOGIN PASSWORD 'secret'")
    database.run("CREATE TABLE orders (id INT)")
    database.run("GRANT INSERT ON orders TO writer")
    given = {**database.properties, "connection.user": "writer"}
    with pytest.raises(ConnectError, match="cannot create table penstock_offsets") as raised:
        run_writer(SqlSink, given, [[ROW]])
    statement = str(raised.value).partition("run: ")[2].partition("; GRANT")[0]
    database.run(statement)
    database.run("GRANT SELECT, INSERT, UPDATE, DELETE ON penstock_offsets TO writer")
    assert run_writer(SqlSink, given, [[ROW]]) == []
    assert database.rows("SELECT id FROM orders") == [(1,)]
    database.run("DROP OWNED BY writer")
    database.run("DROP ROLE writer")


def test_planning_makes_no_file(tmp_path: Path) -> None:
    url = {"connection.url": f"jdbc:sqlite:{tmp_path}/a b%?.db"}
    assert problems(url) == []
    source = {**url, "mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": "t."}
    (found,) = make(SqlSource).validate(parsed(SqlSource, source))
    assert "unable to open database file" in str(found)
    assert list(tmp_path.iterdir()) == []
    run_writer(SqlSink, {**url, "auto.create": "true"}, [[ROW]])
    assert [file.name for file in tmp_path.iterdir()] == ["a b%?.db"]


@pytest.mark.parametrize("schema", ["sales,%20public", "%22a%20b%22,public"])
def test_a_schema_with_blanks_may_be_the_current_one(server: Any, schema: str) -> None:
    properties = {"connection.user": "postgres", "connection.password": "secret"}
    assert problems({"connection.url": f"{server.url()}?currentSchema={schema}", **properties}) == []


@pytest.mark.parametrize("query", ["keepalives=hidden", "options=-c%20hidden=1", "options=-c%20statement_timeout=soon"])
def test_a_parameter_that_never_works_is_refused_when_planning(server: Any, query: str) -> None:
    properties = {"connection.user": "postgres", "connection.password": "secret"}
    assert len(problems({"connection.url": f"{server.url()}?{query}", **properties})) == 1
