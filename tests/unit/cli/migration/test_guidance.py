"""What to build and what to do, in order, of Strimzi's KafkaConnect and of a running Kafka Connect."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from penstock_cli.migration.documents import found_in
from penstock_cli.migration.guidance import Brought, Moved, Step, bring, steps
from penstock_cli.migration.inventory import Inventory
from penstock_cli.migration.manifest import imported
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.resources.plugin_version import PluginVersionSpec

POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"
MAVEN = "https://repo1.maven.org/maven2/io/debezium/debezium-connector-postgres/3.6.1.Final"
ARCHIVE = f"{MAVEN}/debezium-connector-postgres-3.6.1.Final-plugin.tar.gz"
DIGEST = f"sha256:{'3a237b00' * 8}"
TAGGED = "registry.example/my-connect:1.4"
DEBEZIUM = {"name": "debezium", "artifacts": [{"type": "tgz", "url": ARCHIVE, "sha512sum": "abc"}]}
BUILD = {"output": {"type": "docker", "image": TAGGED}, "plugins": [DEBEZIUM]}


def kafka_connect(version: str = "v1beta2", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"kafka.strimzi.io/{version}",
        "kind": "KafkaConnect",
        "metadata": {"name": "my-connect", "namespace": "kafka"},
        "spec": {"bootstrapServers": "kafka:9092", **spec},
    }


def kafka_connector(name: str = "orders", class_name: str = POSTGRES, **config: Any) -> dict[str, Any]:
    labels = {"strimzi.io/cluster": "my-connect"}
    return {
        "apiVersion": "kafka.strimzi.io/v1beta2",
        "kind": "KafkaConnector",
        "metadata": {"name": name, "namespace": "kafka", "labels": labels},
        "spec": {"class": class_name, "config": config},
    }


def pod(image: str, name: str = "my-connect-connect") -> dict[str, Any]:
    labels = {"strimzi.io/cluster": "my-connect", "strimzi.io/kind": "KafkaConnect"}
    status = {"containerStatuses": [{"name": name, "imageID": image}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": labels, "namespace": "kafka"}, "status": status}


def moved(*documents: Any, digests: Mapping[str, str] | None = None) -> tuple[list[Moved], Brought]:
    inventory = Inventory(f for d in documents for f in found_in("f", copy.deepcopy(d)))
    assert inventory.problems == []
    worker = WorkerConfig.parse({"bootstrap.servers": "k:1"})
    connectors = []
    for found in inventory.connectors:
        cluster = inventory.cluster_of(found)
        properties = {} if cluster is None else cluster.properties
        made = imported(found, worker, properties, None, known=inventory.plugins(cluster))
        connectors.append(Moved(found, made, cluster, properties))
    return connectors, bring(connectors, inventory, digests or {})


def guidance(*documents: Any, **more: Any) -> Sequence[Step]:
    return steps(*moved(*documents), **{"url": None, "secrets_to": None, "are_recorded": True, "again": again, **more})


def again(*more: str) -> str:
    return " ".join(("penstock import f.yaml", *more))


def text(found: Sequence[Step]) -> str:
    return "\n".join(line for step in found for line in (step.what, *step.lines))


@pytest.mark.parametrize("version", ["v1beta2", "v1"])
@pytest.mark.parametrize(
    "spec",
    [
        {"image": f"registry.example/my-connect@{DIGEST}"},
        {"image": f"registry.example/my-connect:1.4@{DIGEST}"},
        {"build": {**BUILD, "output": {"type": "docker", "image": f"registry.example/my-connect@{DIGEST}"}}},
    ],
)
def test_an_image_by_digest_becomes_a_plugin_version_at_the_plugin_path_of_strimzi(
    version: str, spec: Mapping[str, Any]
) -> None:
    _, brought = moved(kafka_connect(version, **spec), kafka_connector())
    (manifest,) = brought.versions
    assert (manifest["kind"], manifest["metadata"]["name"], manifest["metadata"]["namespace"]) == (
        "PluginVersion",
        "my-connect-3a237b00",
        "kafka",
    )
    checked = PluginVersionSpec.model_validate(manifest["spec"])
    assert (checked.runtime, checked.path) == ("Java", "/opt/kafka/plugins")
    assert checked.image == spec.get("image", f"registry.example/my-connect@{DIGEST}")
    assert (brought.by_tag, brought.archives) == ((), ())


def test_an_image_by_tag_becomes_none_and_the_report_says_how_to_find_its_digest() -> None:
    _, brought = moved(kafka_connect(build=BUILD), kafka_connector())
    assert brought.versions == ()
    report = text(guidance(kafka_connect(build=BUILD), kafka_connector()))
    assert f"penstock import f.yaml --image {TAGGED}@$(crane digest {TAGGED})" in report
    assert f"skopeo inspect --format '{{{{.Digest}}}}' docker://{TAGGED}" in report
    assert "plugin build" not in report


def test_the_digest_of_a_tag_is_taken_from_the_option_or_from_the_pods_that_run_it() -> None:
    given = {TAGGED: f"{TAGGED}@{DIGEST}"}
    _, brought = moved(kafka_connect(build=BUILD), kafka_connector(), digests=given)
    assert [v["spec"]["image"] for v in brought.versions] == [f"{TAGGED}@{DIGEST}"]
    runs = f"registry.example/my-connect@{DIGEST}"
    builder = pod(f"strimzi/maven@sha256:{'0' * 64}", "my-connect-connect-build")
    _, brought = moved(kafka_connect(build=BUILD), kafka_connector(), builder, pod(f"docker-pullable://{runs}"))
    assert [v["spec"]["image"] for v in brought.versions] == [runs]


def test_pods_that_run_two_images_or_one_of_no_registry_decide_nothing() -> None:
    two = (pod(f"a/b@{DIGEST}"), pod(f"a/b@sha256:{'1' * 64}"))
    for pods in (two, (pod(DIGEST),)):
        _, brought = moved(kafka_connect(build=BUILD), kafka_connector(), *pods)
        assert (brought.versions, [i.reference for i in brought.by_tag]) == ((), [TAGGED])
    report = text(guidance(kafka_connect(build=BUILD), kafka_connector(), *two))
    assert f"its pods run 2 images, as during a rollout: a/b@{DIGEST}, a/b@sha256:{'1' * 64}" in report


def test_an_image_that_strimzi_mounts_is_a_plugin_version_of_its_own() -> None:
    artifacts = [{"type": "image", "reference": f"ghcr.io/acme/debezium@{DIGEST}"}]
    plugins = [{"name": "debezium", "artifacts": artifacts}]
    _, brought = moved(kafka_connect("v1", plugins=plugins), kafka_connector())
    (manifest,) = brought.versions
    assert (manifest["metadata"]["name"], manifest["spec"]["path"]) == ("debezium-3a237b00", "/")
    PluginVersionSpec.model_validate(manifest["spec"])


def test_without_an_image_the_archives_of_the_build_are_fetched_checked_and_made_one() -> None:
    maven = {"type": "maven", "group": "io.apicurio", "artifact": "converter", "version": "2.6.13"}
    jar = {"type": "jar", "url": "https://repo.example/x.jar"}
    plugins = [{"name": "debezium", "artifacts": [*DEBEZIUM["artifacts"], jar, maven]}]
    stream = {"output": {"type": "imagestream", "image": "my-connect:latest"}, "plugins": plugins}
    found = guidance(kafka_connect(build=stream), kafka_connector())
    (build,) = [s for s in found if s.what.startswith("Build an image")]
    assert build.lines == (
        f"curl -fLO {ARCHIVE}",
        "echo 'abc  debezium-connector-postgres-3.6.1.Final-plugin.tar.gz' | sha512sum --check",
        "curl -fLO https://repo.example/x.jar",
        "get io.apicurio:converter:2.6.13 with all dependencies too",
        "penstock plugin build debezium-connector-postgres-3.6.1.Final-plugin.tar.gz x.jar --image REGISTRY/debezium "
        "--out debezium",
        "skopeo copy --preserve-digests oci-archive:debezium/debezium.tar docker://REGISTRY/debezium",
    )


def test_what_penstock_has_itself_needs_no_plugin_version() -> None:
    file = kafka_connector(class_name="org.apache.kafka.connect.file.FileStreamSourceConnector", file="/x", topic="t")
    assert moved(kafka_connect(build=BUILD), file)[1] == Brought()


def test_the_configuration_of_a_kafka_connect_is_its_workers_with_the_defaults_of_strimzi() -> None:
    config = {"group.id": "mine", "value.converter": "X", "value.converter.schemas.enable": False}
    ((m,), _) = moved(kafka_connect(config=config), kafka_connector())
    assert (m.worker["group.id"], m.worker["offset.storage.topic"]) == ("mine", "connect-cluster-offsets")
    assert {n: t for n, t in m.made.manifest["spec"]["config"].items() if "converter" in n} == {
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "X",
        "value.converter.schemas.enable": "false",
    }
    ((m,), _) = moved(kafka_connect("v1", groupId="g", offsetStorageTopic="o"), kafka_connector())
    assert (m.worker["group.id"], m.worker["offset.storage.topic"]) == ("g", "o")


def test_how_its_clients_connect_belongs_to_the_release_and_is_said_without_a_secret() -> None:
    scram = {"type": "scram-sha-512", "username": "u", "passwordSecret": {"secretName": "s", "password": "p"}}
    tls = {"trustedCertificates": [{"secretName": "ca", "certificate": "ca.crt"}]}
    config = {"producer.compression.type": "zstd"}
    (first, *_) = guidance(kafka_connect(tls=tls, authentication=scram, config=config), kafka_connector())
    assert first.lines == (
        "bootstrap.servers: kafka:9092",
        "security.protocol: SASL_SSL",
        "sasl.mechanism: SCRAM-SHA-512",
        "sasl.jaas.config: user u, whose password is in Secret s, key p",
        "ssl.truststore.*: trusted certificates are in Secret ca, key ca.crt",
        "offset.storage.topic: connect-cluster-offsets, which has the positions",
        "producer.compression.type: set for all its connectors",
    )
    pair = {"type": "tls", "certificateAndKey": {"secretName": "s", "certificate": "c", "key": "k"}}
    lines = text(guidance(kafka_connect(tls={}, authentication=pair), kafka_connector()))
    assert "security.protocol: SSL\nssl.keystore.*: certificate and key are in Secret s, keys c and k" in lines


def test_the_list_is_in_the_order_in_which_things_are_done() -> None:
    found = guidance(
        kafka_connect(image=f"r/c@{DIGEST}"), kafka_connector(**{"db.password": "hunter22"}), are_recorded=False
    )
    assert [s.what.split(",")[0].partition(":")[0] for s in found] == [
        "Set in the release's worker configuration",
        "Create the Secrets",
        "Apply the PluginVersions",
        "Stop the connectors in Kafka Connect",
        "Repeat the import of sources while they are stopped",
        "Apply the Connectors; those whose spec.state is Running start",
        "When the connectors run here",
    ]
    lines = text(found)
    assert "kubectl apply -f connectors.yaml --selector app.kubernetes.io/part-of=my-connect" in lines
    assert "kubectl wait --for=condition=Ready pluginversion/my-connect-3a237b00 --namespace kafka" in lines
    stop = """kubectl patch kafkaconnector orders --namespace kafka --type merge -p '{"spec":{"state":"stopped"}}'"""
    assert stop in lines
    assert "hunter22" not in lines


def running(name: str, class_name: str, **config: str) -> dict[str, Any]:
    info = {"name": name, "config": {"connector.class": class_name, **config}, "type": "source", "tasks": []}
    return {name: {"info": info, "status": {"connector": {"state": "RUNNING"}, "tasks": []}}}


def test_a_plugin_of_a_running_kafka_connect_is_brought_once_in_the_version_that_runs_there() -> None:
    unwrap = {"transforms": "a", "transforms.a.type": "io.debezium.transforms.outbox.EventRouter"}
    listed = [
        {"class": POSTGRES, "type": "source", "version": "3.6.1.Final"},
        {"class": unwrap["transforms.a.type"], "type": "transformation", "version": "3.6.1.Final"},
        {"class": "com.acme.Sink", "type": "sink", "version": "1.2"},
    ]
    documents = (running("a", POSTGRES, **unwrap), running("b", "Postgres"), running("c", "com.acme.Sink"), listed)
    found = guidance(*documents, url="http://connect:8083")
    (build,) = [s for s in found if s.what.startswith("Build an image")]
    assert build.lines == (
        f"for {POSTGRES}, {unwrap['transforms.a.type']} version 3.6.1.Final",
        f"curl -fLO {ARCHIVE}",
        "penstock plugin build debezium-connector-postgres-3.6.1.Final-plugin.tar.gz --image "
        "REGISTRY/debezium-connector-postgres --out debezium-connector-postgres",
        "skopeo copy --preserve-digests oci-archive:debezium-connector-postgres/debezium-connector-postgres.tar "
        "docker://REGISTRY/debezium-connector-postgres:3.6.1.Final",
        "for com.acme.Sink version 1.2",
        "get the archive or image with com.acme.Sink version 1.2",
        "penstock plugin build ARCHIVE --image REGISTRY/com-acme --out com-acme",
        "skopeo copy --preserve-digests oci-archive:com-acme/com-acme.tar docker://REGISTRY/com-acme:1.2",
    )
    (stop,) = [s for s in found if s.what.startswith("Stop the connectors")]
    assert stop.lines[0] == "curl -X PUT http://connect:8083/connectors/a/stop"


def test_of_a_class_whose_version_is_not_known_the_report_says_so() -> None:
    lines = text(guidance(running("c", "com.acme.Sink")))
    assert "get the archive or image with com.acme.Sink, in the version that Kafka Connect runs" in lines


def test_transforms_of_debezium_come_with_the_archive_of_the_connector() -> None:
    unwrap = {"transforms": "a", "transforms.a.type": "io.debezium.transforms.outbox.EventRouter"}
    _, brought = moved(running("a", POSTGRES, **unwrap))
    (archive,) = brought.archives
    assert (archive.name, archive.classes) == ("debezium-connector-postgres", (POSTGRES, unwrap["transforms.a.type"]))
    scripted = {"transforms": "a", "transforms.a.type": "io.debezium.transforms.Filter"}
    _, brought = moved(running("a", POSTGRES, **scripted))
    assert [a.classes for a in brought.archives] == [(POSTGRES,), ("io.debezium.transforms.Filter",)]


def test_each_archive_has_a_name_of_its_own_and_is_applied_where_it_is_needed() -> None:
    glue = "com.amazonaws.services.schemaregistry.kafkaconnect.AWSKafkaAvroConverter"
    s3 = "io.confluent.connect.s3.S3SinkConnector"
    first = kafka_connector("a", s3)
    second = kafka_connector("b", POSTGRES, **{"value.converter": glue})
    second["metadata"]["namespace"] = "shop"
    found = guidance(first, second)
    (step,) = [s for s in found if s.what.startswith("Apply the PluginVersions")]
    assert step.lines[:3] == (
        "kubectl apply -f kafka-connect-s3/pluginversion.yaml --namespace kafka",
        "kubectl apply -f debezium-connector-postgres/pluginversion.yaml --namespace shop",
        "kubectl apply -f schema-registry-kafkaconnect-converter/pluginversion.yaml --namespace shop",
    )
