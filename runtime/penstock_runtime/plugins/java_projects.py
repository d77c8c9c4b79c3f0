"""Frequently used Java plugins: the project of each class, and the archive that contains it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["DEBEZIUM", "PROJECTS", "Project", "class_names", "project_of"]


@dataclass(frozen=True, slots=True)
class Project:
    """Plugin with a separate archive.

    Attributes:
        name: common name of the project.
        package: prefix of the names of its classes.
        archive: archive to fetch, and from where.
        classes: most used classes, without the package.
    """

    name: str
    package: str
    archive: str
    classes: tuple[str, ...] = ()

    @property
    def artifact(self) -> str:
        """Name of its archive without version and ending; empty if `archive` contains none."""
        match = _ARTIFACT.search(self.archive)
        return "" if match is None else match[1].lower()


_ARTIFACT: Final = re.compile(r"[/:]([A-Za-z][\w-]*)(?: from (?:Confluent Hub|Maven Central).*)?$")


def _hub(name: str) -> str:
    return f"{name} from Confluent Hub (.zip)"


def _releases(repository: str, kind: str = "archive") -> str:
    return f"the {kind} from the releases of github.com/{repository}"


def _debezium(name: str, package: str, artifact: str, *classes: str) -> Project:
    maven = f"io.debezium:debezium-connector-{artifact} from Maven Central (classifier plugin, tar.gz)"
    return Project(f"Debezium for {name}", f"io.debezium.connector.{package}.", maven, classes)


DEBEZIUM: Final = "Debezium"
"""Project of classes that the archive of each of its connectors contains."""
_KAFKA: Final = "org.apache.kafka.connect."
_CONFLUENT: Final = "io.confluent.connect."
PROJECTS: Final = (
    _debezium("PostgreSQL", "postgresql", "postgres", "PostgresConnector"),
    _debezium("MySQL", "mysql", "mysql", "MySqlConnector"),
    _debezium("MariaDB", "mariadb", "mariadb", "MariaDbConnector"),
    _debezium("SQL Server", "sqlserver", "sqlserver", "SqlServerConnector"),
    _debezium("Oracle", "oracle", "oracle", "OracleConnector"),
    _debezium("MongoDB", "mongodb", "mongodb", "MongoDbConnector"),
    _debezium("Db2", "db2", "db2", "Db2Connector"),
    _debezium("JDBC sinks", "jdbc", "jdbc", "JdbcSinkConnector"),
    Project(
        "Debezium's scripting",
        "io.debezium.transforms.Filter",
        "io.debezium:debezium-scripting from Maven Central (tar.gz), with a script engine such as Groovy",
    ),
    Project(
        "Debezium's scripting",
        "io.debezium.transforms.ContentBasedRouter",
        "io.debezium:debezium-scripting from Maven Central (tar.gz), with a script engine such as Groovy",
    ),
    Project(
        DEBEZIUM,
        "io.debezium.",
        "the archive of any of Debezium's connectors from Maven Central (io.debezium:debezium-connector-<database>, "
        "classifier plugin, tar.gz)",
        (
            "transforms.outbox.EventRouter",
            "transforms.ByLogicalTableRouter",
            "connector.mongodb.transforms.ExtractNewDocumentState",
        ),
    ),
    Project(
        "MongoDB's connector",
        "com.mongodb.kafka.connect.",
        "org.mongodb.kafka:mongo-kafka-connect from Maven Central (classifier all, jar)",
        ("MongoSourceConnector", "MongoSinkConnector"),
    ),
    Project(
        "MirrorMaker 2",
        f"{_KAFKA}mirror.",
        "connect-mirror-*.jar and connect-mirror-client-*.jar from libs/ of Apache Kafka's download",
        ("MirrorSourceConnector", "MirrorCheckpointConnector", "MirrorHeartbeatConnector"),
    ),
    Project("Kafka's file connectors", f"{_KAFKA}file.", "connect-file-*.jar from libs/ of Apache Kafka's download"),
    Project(
        "Confluent's JDBC connector",
        f"{_CONFLUENT}jdbc.",
        _hub("confluentinc/kafka-connect-jdbc"),
        ("JdbcSourceConnector", "JdbcSinkConnector"),
    ),
    Project("Confluent's S3 sink", f"{_CONFLUENT}s3.", _hub("confluentinc/kafka-connect-s3"), ("S3SinkConnector",)),
    Project(
        "Confluent's Elasticsearch sink",
        f"{_CONFLUENT}elasticsearch.",
        _hub("confluentinc/kafka-connect-elasticsearch"),
        ("ElasticsearchSinkConnector",),
    ),
    Project(
        "Confluent's HDFS sink", f"{_CONFLUENT}hdfs.", _hub("confluentinc/kafka-connect-hdfs"), ("HdfsSinkConnector",)
    ),
    Project("Confluent's HDFS 3 sink", f"{_CONFLUENT}hdfs3.", _hub("confluentinc/kafka-connect-hdfs3")),
    Project("Confluent's GCS sink", f"{_CONFLUENT}gcs.", _hub("confluentinc/kafka-connect-gcs"), ("GcsSinkConnector",)),
    Project(
        "Confluent's HTTP sink", f"{_CONFLUENT}http.", _hub("confluentinc/kafka-connect-http"), ("HttpSinkConnector",)
    ),
    Project(
        "Confluent's Avro converter",
        f"{_CONFLUENT}avro.",
        _hub("confluentinc/kafka-connect-avro-converter"),
        ("AvroConverter",),
    ),
    Project(
        "Confluent's Protobuf converter",
        f"{_CONFLUENT}protobuf.",
        _hub("confluentinc/kafka-connect-protobuf-converter"),
        ("ProtobufConverter",),
    ),
    Project(
        "Confluent's JSON Schema converter",
        f"{_CONFLUENT}json.",
        _hub("confluentinc/kafka-connect-json-schema-converter"),
        ("JsonSchemaConverter",),
    ),
    Project("Confluent's transforms", f"{_CONFLUENT}transforms.", _hub("confluentinc/connect-transforms")),
    Project(
        "Confluent's Datagen",
        "io.confluent.kafka.connect.datagen.",
        _hub("confluentinc/kafka-connect-datagen"),
        ("DatagenConnector",),
    ),
    Project("a connector of Confluent", "io.confluent.", "its archive from Confluent Hub (.zip)"),
    Project(
        "Snowflake's connector",
        "com.snowflake.kafka.connector.",
        "com.snowflake:snowflake-kafka-connector from Maven Central (jar)",
        ("SnowflakeSinkConnector",),
    ),
    Project(
        "the BigQuery sink",
        "com.wepay.kafka.connect.bigquery.",
        _hub("wepay/kafka-connect-bigquery"),
        ("BigQuerySinkConnector",),
    ),
    Project(
        "ClickHouse's sink",
        "com.clickhouse.kafka.connect.",
        _releases("ClickHouse/clickhouse-kafka-connect"),
        ("ClickHouseSinkConnector",),
    ),
    Project(
        "Apache Iceberg's sink",
        "org.apache.iceberg.connect.",
        "iceberg-kafka-connect-runtime-*.zip, built from Apache Iceberg's source (distZip)",
        ("IcebergSinkConnector",),
    ),
    Project(
        "Tabular's Iceberg sink, which Apache Iceberg's has replaced",
        "io.tabular.iceberg.connect.",
        _releases("databricks/iceberg-kafka-connect"),
        ("IcebergSinkConnector",),
    ),
    Project(
        "Aiven's S3 sink",
        "io.aiven.kafka.connect.s3.",
        _releases("Aiven-Open/cloud-storage-connectors-for-apache-kafka"),
        ("AivenKafkaConnectS3SinkConnector",),
    ),
    Project(
        "Aiven's JDBC connector", "io.aiven.connect.jdbc.", _releases("Aiven-Open/jdbc-connector-for-apache-kafka")
    ),
    Project(
        "Aiven's HTTP sink", "io.aiven.kafka.connect.http.", _releases("Aiven-Open/http-connector-for-apache-kafka")
    ),
    Project(
        "a connector of Aiven", "io.aiven.", "its archive from the releases of the project on github.com/Aiven-Open"
    ),
    Project(
        "Apache Camel's connectors",
        "org.apache.camel.kafkaconnector.",
        "org.apache.camel.kafkaconnector:camel-<name>-kafka-connector from Maven Central (classifier package, tar.gz)",
    ),
    Project("Lenses' Stream Reactor", "io.lenses.streamreactor.", _releases("lensesio/stream-reactor")),
    Project("Lenses' Stream Reactor", "com.datamountaineer.streamreactor.", _releases("lensesio/stream-reactor")),
    Project(
        "IBM MQ's source",
        "com.ibm.eventstreams.connect.mqsource.",
        _releases("ibm-messaging/kafka-connect-mq-source", "jar with dependencies"),
        ("MQSourceConnector",),
    ),
    Project(
        "IBM MQ's sink",
        "com.ibm.eventstreams.connect.mqsink.",
        _releases("ibm-messaging/kafka-connect-mq-sink", "jar with dependencies"),
        ("MQSinkConnector",),
    ),
    Project(
        "Splunk's sink",
        "com.splunk.kafka.connect.",
        _releases("splunk/kafka-connect-splunk", "jar"),
        ("SplunkSinkConnector",),
    ),
    Project(
        "DataStax's sink for Cassandra",
        "com.datastax.oss.kafka.sink.",
        _releases("datastax/kafka-sink"),
        ("CassandraSinkConnector",),
    ),
    Project(
        "castorm's HTTP source",
        "com.github.castorm.kafka.connect.http.",
        _releases("castorm/kafka-connect-http"),
        ("HttpSourceConnector",),
    ),
    Project("Neo4j's connector", "org.neo4j.connectors.kafka.", _releases("neo4j/neo4j-kafka-connector")),
    Project("Couchbase's connector", "com.couchbase.connect.kafka.", _releases("couchbase/kafka-connect-couchbase")),
    Project("Redis' connector", "com.redis.kafka.connect.", _releases("redis-field-engineering/redis-kafka-connect")),
    Project(
        "Apicurio's converters",
        "io.apicurio.registry.utils.converter.",
        "io.apicurio:apicurio-registry-distro-connect-converter from Maven Central (tar.gz)",
        ("AvroConverter",),
    ),
    Project(
        "AWS Glue's converters",
        "com.amazonaws.services.schemaregistry.kafkaconnect.",
        "software.amazon.glue:schema-registry-kafkaconnect-converter from Maven Central (jar)",
        ("AWSKafkaAvroConverter",),
    ),
    Project("TDengine's connectors", "com.taosdata.kafka.connect.", _releases("taosdata/kafka-connect-tdengine")),
    Project(
        "Apache NiFi's stateless connectors",
        "org.apache.nifi.kafka.connect.",
        "org.apache.nifi:nifi-kafka-connector-assembly from Maven Central (zip)",
    ),
)
"""Projects by package; if several packages match, the longest counts."""


def project_of(class_name: str) -> Project | None:
    """Return the project of a class; None if it is not known."""
    fitting = [p for p in PROJECTS if class_name.startswith(p.package)]
    return max(fitting, key=lambda p: len(p.package), default=None)


def class_names() -> Iterator[str]:
    """Return an iterator over the full names of all known classes."""
    return (f"{p.package}{name}" for p in PROJECTS for name in p.classes)
