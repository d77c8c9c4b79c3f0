"""The worker configuration: Connect's names, from Connect's own file or from YAML."""

from pathlib import Path

import pytest

from penstock import ConfigError
from penstock_cli.manifests.worker_file import read_worker
from penstock_model.connect.config_providers import own_providers
from penstock_model.connect.variables import resolve
from penstock_runtime.plan.worker_check import worker_from

QUICKSTART = r"""
# What ships with Kafka
bootstrap.servers=localhost:9092
group.id=connect-cluster
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
key.converter.schemas.enable=true
value.converter.schemas.enable=false
offset.storage.topic=connect-offsets
offset.storage.replication.factor=1
config.storage.topic=connect-configs
config.storage.replication.factor=1
status.storage.topic=connect-status
status.storage.replication.factor=1
offset.flush.interval.ms=10000
plugin.path=/usr/local/share/java,\
            /opt/connectors
rest.port=8083
producer.compression.type=lz4
producer.interceptor.classes=x.Y
consumer.heartbeat.interval.ms=1
"""


@pytest.fixture
def quickstart(tmp_path: Path) -> Path:
    file = tmp_path / "worker.properties"
    file.write_text(QUICKSTART)
    return file


def test_connects_own_file_is_read(quickstart: Path) -> None:
    config, _ = read_worker(quickstart)
    assert config.bootstrap_servers == "localhost:9092"
    assert config.group_id == "connect-cluster"
    assert config.offset_storage_replication_factor == 1
    assert config.offset_flush_interval_ms == 10_000
    assert config.converters["value.converter.schemas.enable"] == "false"
    assert config.converters["header.converter"] == "SimpleHeaderConverter"


def test_what_has_no_meaning_here_is_a_warning_each(quickstart: Path) -> None:
    _, warnings = read_worker(quickstart)
    assert [w.property for w in warnings] == [
        "config.storage.topic",
        "config.storage.replication.factor",
        "plugin.path",
        "rest.port",
        "producer.interceptor.classes",
        "consumer.heartbeat.interval.ms",
    ]


def test_yaml_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "worker.yaml"
    file.write_text("bootstrap.servers: a:1\ntopic.tracking.enable: no\noffset.storage.partitions: 3\n")
    config, warnings = read_worker(file)
    assert (config.bootstrap_servers, config.topic_tracking_enable, config.offset_storage_partitions) == (
        "a:1",
        False,
        3,
    )
    assert warnings == ()


def test_the_defaults_are_connects_or_say_why_not() -> None:
    config, _ = worker_from({})
    assert config.bootstrap_servers is None
    assert (config.offset_storage_topic, config.offset_storage_partitions) == ("connect-offsets", 25)
    assert (config.status_storage_topic, config.status_storage_partitions) == ("connect-status", 5)
    assert config.offset_storage_replication_factor == config.status_storage_replication_factor == 3
    assert config.offset_flush_interval_ms == 60_000
    assert config.exactly_once
    assert config.override_policy == "all"


@pytest.mark.parametrize(
    ("properties", "warned", "hint"),
    [
        ({"ofset.storage.topic": "x"}, "ofset.storage.topic", "did you mean offset.storage.topic?"),
        ({"nonsense": "x"}, "nonsense", "is unknown and is ignored"),
        ({"rest.advertised.host.name": "x"}, "rest.advertised.host.name", "there is no REST interface"),
        ({"offset.storage.file.filename": "x"}, "offset.storage.file.filename", "offsets are stored in Kafka"),
    ],
)
def test_a_warning_says_why_or_what_was_meant(properties: dict[str, str], warned: str, hint: str) -> None:
    (warning,) = worker_from(properties).warnings
    assert warning.property == warned
    assert hint in warning.message


@pytest.mark.parametrize(
    "name",
    [
        "offset.storage.cleanup.policy",
        "status.storage.min.insync.replicas",
        "errors.tolerance",
        "key.converter.plugin.version",
        "sasl.mechanism",
        "reconnect.backoff.ms",
    ],
)
def test_what_belongs_to_a_worker_is_no_warning(name: str) -> None:
    values = {"errors.tolerance": "all", "sasl.mechanism": "PLAIN", "reconnect.backoff.ms": "50"}
    assert worker_from({name: values.get(name, "1")}).warnings == ()


@pytest.mark.parametrize(
    ("properties", "named", "message"),
    [
        ({"exactly.once.source.support": "preparing"}, "exactly.once.source.support", "write enabled or disabled"),
        ({"offset.storage.partitions": "0"}, "offset.storage.partitions", "-1 for the broker's default"),
        ({"offset.flush.interval.ms": "x"}, "offset.flush.interval.ms", "Not a number of type INT"),
        ({"errors.tolerance": "ALL"}, "errors.tolerance", "String must be one of: none, all"),
        ({"bootstrap.servers": " "}, "bootstrap.servers", "String must be non-empty"),
        ({"producer.linger.ms": "x"}, "producer.linger.ms", "Not a number of type INT"),
        ({"connector.client.config.override.policy": "x.Y"}, "connector.client.config.override.policy", "one of"),
        ({"config.providers": "vault"}, "config.providers.vault.class", "is missing; set it to the class"),
        (
            {"config.providers": "vault", "config.providers.vault.class": "x.Vault"},
            "config.providers.vault.class",
            "cannot use the config provider vault: class x.Vault is not on the plugin path",
        ),
        (
            {"config.providers": "env", "config.providers.env.class": "x.Y"},
            "config.providers.env.class",
            "class x.Y is not on the plugin path",
        ),
        (
            {"config.providers": "secret", "config.providers.secret.class": "x.Y"},
            "config.providers",
            "the name secret is reserved for Penstock's provider",
        ),
        (
            {"config.providers": "file", "config.providers.file.param.allowed.paths": "/a"},
            "config.providers.file.param.allowed.paths",
            "has no effect in Penstock",
        ),
        ({"bootstrap.servers": "${env:NO_SUCH_VARIABLE_HERE}"}, "bootstrap.servers", "is not set"),
    ],
)
def test_what_cannot_be_is_refused(properties: dict[str, str], named: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        worker_from(properties)
    (problem,) = caught.value.problems
    assert problem.property == named
    assert message in problem.message


def test_kafkas_own_config_providers_are_accepted() -> None:
    package = "org.apache.kafka.common.config.provider."
    worker_from(
        {
            "config.providers": "file, dir,env",
            "config.providers.file.class": package + "FileConfigProvider",
            "config.providers.dir.class": package + "DirectoryConfigProvider",
            "config.providers.env.class": package + "EnvVarConfigProvider",
        }
    )


def test_kafkas_own_config_providers_may_have_other_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.properties").write_text("servers=a:1\n")
    (tmp_path / "linger").write_text("7")
    monkeypatch.setenv("GROUP", "g")
    classes = {"f": "FileConfigProvider", "d": "DirectoryConfigProvider", "file": "EnvVarConfigProvider"}
    named = {f"config.providers.{n}.class": f"org.apache.kafka.common.config.provider.{c}" for n, c in classes.items()}
    variables = {
        "bootstrap.servers": f"${{f:{tmp_path}/a.properties:servers}}",
        "offset.flush.interval.ms": f"${{d:{tmp_path}:linger}}",
        "group.id": "${file:GROUP}",
    }
    config, _ = worker_from({"config.providers": "f,d,file", **named, **variables})
    assert config.raw["group.id"] == "${file:GROUP}"
    resolved = resolve(config.raw, None, providers=own_providers(config.raw))
    assert [resolved.values[name] for name in variables] == ["a:1", "7", "g"]


def test_every_problem_of_a_file_is_reported_with_its_name(tmp_path: Path) -> None:
    file = tmp_path / "w.properties"
    file.write_text("offset.flush.interval.ms=x\nerrors.tolerance=some\n")
    with pytest.raises(ConfigError) as caught:
        read_worker(file)
    named = {p.property for p in caught.value.problems}
    assert named == {f"{file}: errors.tolerance", f"{file}: offset.flush.interval.ms"}


@pytest.mark.parametrize("name", ["worker.yaml", "worker.properties"])
def test_a_file_that_is_not_there_is_reported(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_worker(tmp_path / name)


def test_variables_are_resolved_for_checking_and_kept_as_written(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "port").write_text("9092\n")
    config, _ = worker_from({"bootstrap.servers": "h:${secret:kafka:port}"}, tmp_path)
    assert config.bootstrap_servers == "h:9092"
    assert config.raw == {"bootstrap.servers": "h:${secret:kafka:port}"}


def test_further_settings_of_an_internal_topic_are_its_own() -> None:
    config, _ = worker_from({"offset.storage.partitions": "3", "offset.storage.segment.bytes": "1000"})
    assert config.topic_settings("offset.storage.") == {"segment.bytes": "1000"}
    assert config.topic_settings("status.storage.") == {}


def test_servers_and_security_reach_every_client_and_prefixed_ones_go_over_them() -> None:
    config, _ = worker_from(
        {
            "bootstrap.servers": "a:1",
            "security.protocol": "SSL",
            "producer.security.protocol": "PLAINTEXT",
            "topic.x": "1",
        }
    )
    assert config.clients(None) == [("", {"bootstrap.servers": "a:1", "security.protocol": "SSL"})]
    assert config.clients("producer")[1] == ("producer.", {"security.protocol": "PLAINTEXT"})
