"""The manifest of a connector that was found, and the report beside it."""

from collections.abc import Mapping
from typing import Any

import pytest

from penstock.errors import ConfigError
from penstock_cli.migration.found import Found
from penstock_cli.migration.known_plugins import KnownPlugin, KnownPlugins
from penstock_cli.migration.manifest import Imported, imported
from penstock_model.connect.worker_config import WorkerConfig

STRING = "org.apache.kafka.connect.storage.StringConverter"
SOURCE = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
    "file": "/data/in",
    "topic": "t",
    "key.converter": STRING,
    "value.converter": STRING,
}


def made(config: Mapping[str, Any], name: str = "in", namespace: str | None = None, **more: Any) -> Imported:
    worker = WorkerConfig.parse({"bootstrap.servers": "k:1"})
    of_worker = more.pop("of_worker", {})
    return imported(
        Found("f", {"name": name, "config": config, "initial_state": "STOPPED"}, **more), worker, of_worker, namespace
    )


def report(one: Imported) -> str:
    return "\n".join(map(str, one.notes))


def test_a_connector_keeps_its_name_in_kafka_its_state_its_version_and_its_properties() -> None:
    one = made({**SOURCE, "connector.plugin.version": "[1,2)", "tasks.max": "1", "name": "in"}, namespace="shop")
    assert one.manifest == {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "Connector",
        "metadata": {"name": "in", "namespace": "shop"},
        "spec": {
            "class": SOURCE["connector.class"],
            "version": "[1,2)",
            "connectName": "in",
            "tasksMax": 1,
            "state": "Stopped",
            "config": {n: t for n, t in SOURCE.items() if n != "connector.class"},
        },
    }


def test_what_is_as_it_was_has_nothing_to_report() -> None:
    one = made(SOURCE)
    assert (one.notes, one.kind, one.tasks) == ((), "source", 1)


def test_a_name_that_kubernetes_does_not_take_stays_the_name_in_kafka() -> None:
    one = made(SOURCE, name="Orders_In")
    assert (one.manifest["metadata"]["name"], one.manifest["spec"]["connectName"]) == ("orders-in", "Orders_In")


@pytest.mark.parametrize(("namespace", "is_told"), [("shop", False), ("other", True), (None, True)])
def test_a_name_that_is_for_another_namespace_is_reported(namespace: str | None, is_told: bool) -> None:
    assert ("allowedConnectNames" in report(made(SOURCE, name="shop.in", namespace=namespace))) is is_told


PLAIN = {n: t for n, t in SOURCE.items() if "converter" not in n}
OF_WORKER = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false", "x": "y"}


def test_the_default_converters_of_the_worker_come_into_the_manifest_or_are_asked_for() -> None:
    assert "value.converter: are not set, so the connector uses those of Kafka Connect's worker" in report(made(PLAIN))
    config = made({**PLAIN, "key.converter": STRING}, of_worker=OF_WORKER).manifest["spec"]["config"]
    assert {n: t for n, t in config.items() if "converter" in n} == {
        "key.converter": STRING,
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
    }


def test_a_converter_has_class_and_properties_of_one_place_as_in_kafka_connect() -> None:
    """Mixed, they would write other bytes to the same topic."""
    config = made({**PLAIN, "value.converter": "JsonConverter"}, of_worker=OF_WORKER).manifest["spec"]["config"]
    assert "value.converter.schemas.enable" not in config
    one = made({**PLAIN, "value.converter.schemas.enable": "true"}, of_worker=OF_WORKER)
    assert one.manifest["spec"]["config"]["value.converter.schemas.enable"] == "false"
    assert "value.converter.schemas.enable: has no effect without value.converter, and is omitted" in report(one)


@pytest.mark.parametrize("place", ["key.converter", "value.converter", "header.converter"])
def test_schemas_enable_of_a_converter_without_schemas_is_silent(place: str) -> None:
    one = made({**SOURCE, place: STRING, f"{place}.schemas.enable": "false"})
    assert one.manifest["spec"]["config"][f"{place}.schemas.enable"] == "false"
    assert report(one) == ""
    of_worker = {place: STRING, f"{place}.schemas.enable": "false"}
    assert report(made({n: t for n, t in SOURCE.items() if n != place}, of_worker=of_worker)) == ""


def test_what_penstock_does_not_have_is_needed_and_the_manifest_is_made_nevertheless() -> None:
    one = made({"connector.class": "io.debezium.X", "transforms": "a", "transforms.a.type": "io.debezium.Y"})
    assert [n.class_name for n in one.needs] == ["io.debezium.X", "io.debezium.Y"]
    assert one.manifest["spec"]["class"] == "io.debezium.X"
    assert made(SOURCE).needs == ()


def test_a_short_name_that_nobody_has_may_be_misspelt() -> None:
    assert "Class Datagn could not be found" in report(made({"connector.class": "Datagn"}))


def test_a_class_has_its_full_name_where_kafka_connect_lists_it() -> None:
    found = Found("f", {"name": "in", "config": {"connector.class": "Postgres"}, "initial_state": "STOPPED"})
    known = KnownPlugins([KnownPlugin("io.debezium.PostgresConnector", "connector", "3.6.1.Final")])
    one = imported(found, WorkerConfig.parse({"bootstrap.servers": "k:1"}), {}, None, known=known)
    assert one.manifest["spec"]["class"] == "io.debezium.PostgresConnector"
    assert "version" not in one.manifest["spec"]
    assert one.needs == (KnownPlugin("io.debezium.PostgresConnector", "connector", "3.6.1.Final"),)


@pytest.mark.parametrize("config", [{"topic": "t"}, {"connector.class": " "}])
def test_without_a_class_there_is_no_manifest(config: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"spec\.class"):
        made(config)


JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="hunter22";'
SECRETS = [
    ("database.password", "hunter22"),
    ("aws.secret.access.key", "hunter22"),
    ("api.key", "hunter22"),
    ("oauth.token", "hunter22"),
    ("db.pwd", "hunter22"),
    ("db.pw", "hunter22"),
    ("dbpass", "hunter22"),
    ("signing.key", "hunter22"),
    ("sasKey", "hunter22"),
    ("primaryKey", "hunter22"),
    ("salesforce.consumer.key", "hunter22"),
    ("value.converter.basic.auth.user.info", "bob:hunter22"),
    ("producer.override.ssl.key.password", "hunter22"),
    ("consumer.override.sasl.jaas.config", JAAS.format("u")),
    ("consumer.override.sasl.jaas.config", JAAS.format("${env:U}")),
    ("database.password", "hunter22-${env:X}"),
    ("connection.url", "jdbc:postgresql://bob:hunter22@db/shop"),
    ("connection.url", "jdbc:postgresql://bob:hunter22@${env:HOST}/shop"),
    ("connection.url", "jdbc:postgresql://db/shop?user=bob&password=hunter22"),
    ("connection.url", "jdbc:sqlserver://db;user=bob;password=hunter22"),
    ("connection.url", "jdbc:oracle:thin:bob/hunter22@db:1521/x"),
    ("url", "redis://:hunter22@cache"),
    ("url", "https://x/y?sv=1&sig=hunter22"),
    ("url", "https://x/y?access_token=hunter22"),
    ("connection", "Endpoint=sb://x;SharedAccessKey=hunter22"),
    ("headers", "Bearer hunter22"),
    ("keyfile", '{"private_key": "hunter22"}'),
    ("database.ssl.key", "-----BEGIN PRIVATE KEY-----hunter22"),
    ("transforms.mask.token.value", "hunter22"),
]


@pytest.mark.parametrize(("name", "text"), SECRETS)
def test_a_secret_is_taken_out_and_is_in_no_manifest_and_no_report(name: str, text: str) -> None:
    one = made({"connector.class": "io.debezium.X", name: text})
    assert one.manifest["spec"]["config"][name] == f"${{secret:in-imported:{name}}}"
    assert one.secrets["in-imported"][name] == text
    assert f"{name}: may be a secret, and was extracted" in report(one)
    assert "hunter22" not in report(one)


def test_a_password_that_was_extracted_is_not_reported_as_plaintext() -> None:
    one = made({**SOURCE, "producer.override.sasl.jaas.config": JAAS.format("u")})
    assert "may be a secret, and was extracted" in report(one)
    assert "plaintext password" not in report(one)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("primary.key.mode", "record_key"),
        ("primary.key.fields", "id"),
        ("token.refresh.interval.ms", "1000"),
        ("database.password", "${file:/etc/pw:pw}"),
        ("database.password", "${secret:db:pw}"),
        ("connection.url", "jdbc:postgresql://${env:U}:${env:P}@db/shop"),
        ("connection.url", "jdbc:postgresql://db:5432/shop?user=bob"),
        ("include.token", "true"),
        ("passthrough.headers", "a"),
        ("compass.direction", "n"),
        ("key.converter", STRING),
        ("topics", "secrets,tokens"),
        ("transforms", "maskPassword"),
        ("transforms.maskPassword.type", "org.apache.kafka.connect.transforms.MaskField$Value"),
        ("transforms.maskPassword.fields", "pin"),
        ("predicates.isToken.pattern", "t.*"),
    ],
)
def test_what_is_no_secret_stays(name: str, text: str) -> None:
    one = made({"connector.class": "io.debezium.X", name: text})
    assert one.manifest["spec"]["config"][name] == text
    assert one.secrets == {}


def test_two_properties_never_share_a_key_of_the_secret() -> None:
    one = made({"connector.class": "io.debezium.X", "db$a.password": "hunter1", "db_a.password": "hunter2"})
    assert one.secrets == {"in-imported": {"db_a.password": "hunter1", "db_a.password_": "hunter2"}}
    references = [t for n, t in one.manifest["spec"]["config"].items() if "password" in n]
    assert references == ["${secret:in-imported:db_a.password}", "${secret:in-imported:db_a.password_}"]


def test_a_text_that_yaml_cannot_hold_is_reported() -> None:
    with pytest.raises(ConfigError, match="half of a surrogate pair"):
        made({**SOURCE, "x": "\ud83d"})


def test_variable_of_a_secret_that_only_pods_have_is_accepted() -> None:
    one = made({**SOURCE, "producer.override.ssl.key.password": "${secret:kafka:pw}"})
    assert "cannot be resolved" not in report(one)
    one = made({**SOURCE, "producer.override.ssl.key.password": "${secret:kafka:pw}${vault:x:y}"})
    assert "add the config provider vault to the release's worker configuration" in report(one)


def test_variables_of_files_and_of_the_environment_are_remarks_and_are_not_looked_up_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOPIC", "\n")
    one = made({**SOURCE, "file": "${file:/mnt/paths.properties:in}", "topic": "${env:TOPIC}", "batch.size": "many"})
    assert [p.property for p in one.problems] == ["batch.size"]
    assert report(one).count("is resolved in the pods of tasks") == 2
    assert "file: ${file:...} is resolved in the pods of tasks: mount the file there (spec.template)" in report(one)
    assert one.manifest["spec"]["config"]["file"] == "${file:/mnt/paths.properties:in}"


def test_a_database_that_cannot_be_reached_hinders_no_import() -> None:
    config = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "connection.url": "jdbc:postgresql://database.invalid:5432/shop",
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "topic.prefix": "shop-",
        "key.converter": STRING,
        "value.converter": STRING,
    }
    found = Found("f", {"name": "in", "config": config, "initial_state": "RUNNING"})
    one = imported(found, WorkerConfig.parse({"bootstrap.servers": "k:1"}), {}, None)
    assert (one.problems, one.manifest["spec"]["state"]) == ((), "Running")


REPLACE = "org.apache.kafka.connect.transforms.ReplaceField$Value"


def test_names_that_kafka_4_ignores_get_those_of_today() -> None:
    """A ReplaceField that keeps `whitelist` lets every field through, `password` among them."""
    old = {"transforms.a.type": REPLACE, "transforms.a.whitelist": "id,email"}
    both = {"transforms.b.type": REPLACE, "transforms.b.blacklist": "x", "transforms.b.exclude": "y"}
    one = made({**SOURCE, "transforms": "a,b", **old, **both})
    assert {n: t for n, t in one.manifest["spec"]["config"].items() if "list" in n or "clude" in n} == {
        "transforms.a.include": "id,email",
        "transforms.b.exclude": "y",
    }
    assert [c.property for c in one.changes] == ["transforms.a.whitelist", "transforms.b.blacklist"]
    assert one.problems == ()
    mirror = made({"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector", "topics.blacklist": "x"})
    assert mirror.manifest["spec"]["config"] == {"topics.exclude": "x"}


def test_a_property_of_another_transform_keeps_its_name() -> None:
    config = {**SOURCE, "transforms": "a", "transforms.a.type": "com.acme.Mask", "transforms.a.whitelist": "id"}
    assert made(config).manifest["spec"]["config"]["transforms.a.whitelist"] == "id"


def test_a_password_that_is_an_ordinary_word_destroys_no_message() -> None:
    one = made({"connector.class": "Postgresql", "database.password": "postgres", "batch.size": "1"})
    assert "Class Postgresql could not be found" in report(one)
    assert one.secrets == {"in-imported": {"database.password": "postgres"}}
    one = made({**SOURCE, "batch.size": "lines", "password": "lines", "user": "lines"})
    assert "Invalid value lines for configuration batch.size" in report(one)


def test_a_placeholder_of_a_script_is_no_secret_and_is_reported() -> None:
    one = made({**SOURCE, "database.password": "${DB_PASSWORD}", "index.name.format": "${topic}"})
    assert one.secrets == {}
    (problem,) = one.problems
    assert str(problem).startswith("database.password: ${DB_PASSWORD} is a placeholder of a script, not a variable")


def test_a_user_who_is_called_as_the_password_is_no_secret() -> None:
    sink = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "connection.url": "jdbc:postgresql://database.invalid/shop",
        "connection.user": "postgres",
        "connection.password": "postgres",
        "topics": "t",
    }
    assert list(made(sink).secrets["in-imported"]) == ["connection.password"]
