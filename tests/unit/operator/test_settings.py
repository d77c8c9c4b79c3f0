"""The configuration file: everything that is wrong at once, and no secret in any of it."""

from pathlib import Path
from typing import Any

import pytest

from penstock.errors import ConfigError
from penstock_operator.settings import Release, Settings


def document(**more: Any) -> dict[str, Any]:
    return {
        "release": {"name": "penstock", "namespace": "penstock-system"},
        "worker": {"bootstrap.servers": "kafka:9092", "group.id": "penstock"},
        "images": {"runtime": "penstock-runtime:0.1.0"},
        **more,
    }


def problems_of(found: Any, secrets: Path | str = "/nowhere") -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        Settings.of(found, secrets)
    return {p.property: p.message for p in caught.value.problems}


def test_defaults_are_the_contract_s() -> None:
    settings = Settings.of(document())
    assert settings.watch_namespaces == ()
    assert settings.images.pull_policy == "IfNotPresent"
    assert settings.secrets.watch
    assert (settings.limits.job_pods, settings.limits.reconciles) == (10, 8)
    assert (settings.job.deadline_seconds, settings.task.termination_grace_period_seconds) == (120, 30)
    assert settings.task.resources.limits == {"memory": "2Gi"}
    assert (settings.metrics.port, settings.probes.port) == (8080, 8081)
    assert settings.log_level == "INFO"


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "operator.yaml"
    path.write_text(
        """
release: {name: p, namespace: n}
watchNamespaces: [shop, stock]
worker: {bootstrap.servers: "kafka:9092", group.id: p, offset.storage.partitions: 5, topic.creation.enable: false}
images: {runtime: "r:1", pullPolicy: Always, pullSecrets: [registry]}
plugins: {mount: ImageVolume, sharedNamespaces: []}
secrets: {watch: false}
limits: {jobPods: 3, reconciles: 2}
job: {deadlineSeconds: 60, resources: {requests: {cpu: 1}}}
task: {terminationGracePeriodSeconds: 5, nodeLostSeconds: 9}
metrics: {port: 1}
probes: {port: 2}
logLevel: DEBUG
"""
    )
    settings = Settings.read(path)
    assert settings.worker["offset.storage.partitions"] == "5"
    assert settings.worker_config.offset_storage_partitions == 5
    assert settings.worker_config.topic_creation_enable is False
    assert settings.job.resources.requests == {"cpu": "1"}
    assert settings.task.node_lost_seconds == 9


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings.of(document()).log_level = "DEBUG"  # type: ignore[misc]


def test_everything_that_is_wrong_is_reported_together() -> None:
    found = problems_of(
        document(
            logLevel="LOUD",
            limits={"jobPods": 0, "reconcile": 3},
            watchNamespaces=["shop", "shop"],
            worker={"group.id": "p", "offset.storage.partitions": "many"},
        )
    )
    assert set(found) == {
        "logLevel",
        "limits.jobPods",
        "limits.reconcile",
        "watchNamespaces",
        "worker.bootstrap.servers",
        "worker.offset.storage.partitions",
    }
    assert "names shop twice" in found["watchNamespaces"]
    assert "reconciles" in found["limits.reconcile"]


@pytest.mark.parametrize("given", ["0%", "101%", "5", "1.5%", "all", 0, -1, True])
def test_a_share_of_connectors_that_is_none_is_refused(given: Any) -> None:
    assert "rollout.maxUnavailable" in problems_of(document(rollout={"maxUnavailable": given}))


@pytest.mark.parametrize("given", ["1%", "100%", 1, 500])
def test_a_share_of_connectors_is_a_number_or_so_many_of_a_hundred(given: Any) -> None:
    assert Settings.of(document(rollout={"maxUnavailable": given})).rollout.max_unavailable == given


def test_an_unknown_field_is_refused_with_the_one_that_was_meant() -> None:
    assert "watchNamespaces" in problems_of(document(watchNamespace=[]))["watchNamespace"]


@pytest.mark.parametrize("given", [None, [], "text", {}])
def test_a_file_that_holds_something_else_is_refused(given: Any) -> None:
    assert problems_of(given)


def test_a_duplicate_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "operator.yaml"
    path.write_text("release: {name: p, namespace: n}\nlogLevel: INFO\nlogLevel: DEBUG\n")
    with pytest.raises(ConfigError, match=r"logLevel: is a duplicate key, repeated in line 3"):
        Settings.read(path)


def test_a_file_that_is_no_yaml_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "operator.yaml"
    path.write_text("release: {name: p\nworker: [\n")
    with pytest.raises(ConfigError, match=r"operator.yaml: line \d: is not YAML"):
        Settings.read(path)


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"operator.yaml: cannot be read: No such file"):
        Settings.read(tmp_path / "operator.yaml")


def test_ports_differ() -> None:
    assert "metrics.port" in problems_of(document(metrics={"port": 8081}))["probes.port"]


SECURE = {
    "bootstrap.servers": "kafka:9092",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'o.a.k.PlainLoginModule required username="u" password="${secret:kafka:password}";',
}


def test_variables_of_the_worker_are_resolved_for_the_operator_and_not_for_pods(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "password").write_text("hunter22")
    settings = Settings.of(document(worker=SECURE), tmp_path)
    assert "hunter22" in str(settings.at_start.config.clients(None))
    assert "hunter22" not in str(settings.worker)
    assert "hunter22" not in str(settings.worker_config.raw)
    assert "hunter22" not in repr(settings) + repr(settings.at_start)
    assert settings.at_start.redact("cannot log in as u/hunter22") == "cannot log in as u/${secret:kafka:password}"


def test_a_secret_that_was_changed_since_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "password").write_text("hunter22")
    settings = Settings.of(document(worker=SECURE), tmp_path)
    (tmp_path / "kafka" / "password").write_text("hunter33")
    assert "hunter33" in str(settings.worker_now().config.clients(None))


def test_a_secret_that_is_missing_is_reported_without_a_value(tmp_path: Path) -> None:
    found = problems_of(document(worker={**SECURE, "ssl.key.password": "hunter22"}), tmp_path)
    assert "there is no secret kafka" in found["worker.sasl.jaas.config"]
    assert "hunter22" not in str(found)


def test_client_properties_that_cannot_be_are_reported() -> None:
    found = problems_of(document(worker={"bootstrap.servers": "k:1", "consumer.fetch.max.bytes": "lots"}))
    assert "fetch.max.bytes" in found["worker.consumer.fetch.max.bytes"]


def test_a_release_s_label_fits_into_a_label() -> None:
    assert Release(name="penstock", namespace="penstock-system").label == "penstock-system.penstock"
    long = Release(name="n" * 53, namespace="s" * 63).label
    assert len(long) == 63
    assert long != Release(name="m" * 53, namespace="s" * 63).label


def test_a_java_config_provider_of_the_worker_is_refused() -> None:
    provider = {"config.providers": "vault", "config.providers.vault.class": "com.example.Vault"}
    found = problems_of(document(worker={"bootstrap.servers": "k:1", "group.id": "p", **provider}))
    message = found["worker.config.providers.vault.class"]
    assert "cannot use com.example.Vault: Java config providers do not run on Kubernetes" in message
    assert "use ${secret:<name>:<key>}, or mount the values as files and use ${dir:<path>:<file>}" in message
