"""Java sinks that are members of their group: who they are, and how their Kafka clients connect."""

from penstock_runtime.java_plugins.group_sinks import GroupMembership, client_prefix, with_worker_clients

ICEBERG = "org.apache.iceberg.connect.IcebergSinkConnector"
PREFIX = "iceberg.kafka."


def test_only_the_sink_of_apache_iceberg_is_a_member_of_its_group() -> None:
    assert client_prefix(f"java:sink:/plugins/iceberg#{ICEBERG}") == PREFIX
    assert client_prefix("java:sink:/plugins/jdbc#io.debezium.connector.jdbc.JdbcSinkConnector") is None
    assert client_prefix(f"{ICEBERG}:Sink") is None
    assert GroupMembership.of("io.debezium.connector.jdbc.JdbcSinkConnector", "orders", 0, {}) is None


def test_each_task_is_a_member_of_its_own_in_the_group_of_the_connector() -> None:
    given = {"topics": "orders", f"{PREFIX}session.timeout.ms": "6000"}
    assert GroupMembership.of(ICEBERG, "orders", 3, given) == GroupMembership(
        "connect-orders", "connect-orders-3", {"session.timeout.ms": "6000"}
    )
    renamed = GroupMembership.of(ICEBERG, "orders", 3, {**given, "consumer.override.group.id": "mine"})
    assert renamed is not None
    assert (renamed.group, renamed.member) == ("mine", "mine-3")


def test_its_clients_connect_as_the_workers_do_unless_the_connector_says_otherwise() -> None:
    layers = [
        ("", {"bootstrap.servers": "kafka:9092", "security.protocol": "SSL", "fetch.max.bytes": "1"}),
        ("consumer.", {"security.protocol": "SASL_SSL", "sasl.jaas.config": "worker"}),
    ]
    config = {"topics": "orders", f"{PREFIX}sasl.jaas.config": "own"}
    assert with_worker_clients(config, PREFIX, layers) == {
        "topics": "orders",
        f"{PREFIX}bootstrap.servers": "kafka:9092",
        f"{PREFIX}security.protocol": "SASL_SSL",
        f"{PREFIX}sasl.jaas.config": "own",
    }
