"""Causes that lie in a release's own settings: a second release, of one namespace, whose values are wrong."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from .cluster import Cluster
from .kafka import Kafka
from .place import Place, condition
from .release import Release


@dataclass(frozen=True)
class Other:
    """A release that watches one namespace, while the operator of all namespaces is away."""

    release: Release
    place: Place


@pytest.fixture(scope="module")
def other(kubernetes: Cluster, kafka: Kafka, installed: Release, namespaces: Callable[[str], str]) -> Iterator[Other]:
    installed.scale(0)
    place = Place(kubernetes, kafka, namespaces(f"watched-{secrets.token_hex(2)}"))
    made = Other(Release(kubernetes, namespaces("second"), "second"), place)
    yield made
    kubernetes.delete_namespaces(place.namespace, wait=True)
    made.release.uninstall()
    installed.scale(1)


def install(other: Other, worker: Mapping[str, Any], **values: Any) -> None:
    own = {"group.id": "second", "offset.storage.topic": "second-offsets", "status.storage.topic": "second-status"}
    other.release.install({**own, **worker}, crds={"install": False}, watchNamespaces=[other.place.namespace], **values)


@pytest.mark.slow
def test_kafka_at_a_wrong_address_is_named_with_the_address(other: Other) -> None:
    nowhere = f"nowhere.{other.place.kafka.namespace}.svc:9092"
    install(other, {"bootstrap.servers": nowhere})
    source = other.place.datagen("orders")
    message = source.says("KafkaUnavailable", nowhere)
    print(message)
    source.delete()


@pytest.mark.slow
def test_an_image_that_cannot_be_pulled_is_named(other: Other) -> None:
    missing = {"runtime": {"repository": "registry.invalid/penstock-runtime", "tag": "9"}}
    install(other, {"bootstrap.servers": other.place.kafka.servers}, images=missing)
    source = other.place.datagen("orders")

    def pulls(found: dict[str, Any]) -> str | None:
        own = condition(found)
        return str(own["message"]) if own.get("reason") in ("ErrImagePull", "ImagePullBackOff") else None

    message = source.until(pulls, "the image is the cause")
    assert "registry.invalid/penstock-runtime:9" in message
    source.delete()


JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}";'


@pytest.mark.slow
def test_a_missing_worker_secret_a_wrong_password_and_missing_rights_are_told_apart(other: Other) -> None:
    place, password = other.place, "wrong-" + secrets.token_hex(8)
    system = Place(place.cluster, place.kafka, other.release.namespace)
    system.secret("kafka-client", jaas=JAAS.format("admin", "admin-secret"))
    worker = {
        "bootstrap.servers": place.kafka.with_passwords,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": "${secret:kafka-client:jaas}",
    }
    install(other, worker, workerSecretName="kafka-client")
    source = place.datagen("orders")
    source.says("WorkerSecretMissing", "Secret kafka-client is missing")

    place.secret("kafka-client", jaas=JAAS.format("admin", password))
    message = source.says("Unavailable", "uthentication")
    assert password not in message

    place.secret("kafka-client", jaas=JAAS.format("penstock", "penstock-secret"))
    denied = source.until(
        lambda c: next((str(d["message"]) for d in c["status"]["conditions"] if "uthoriz" in str(d["message"])), None),
        "missing rights are told",
        60,
    )
    print(denied)

    place.secret("kafka-client", jaas=JAAS.format("admin", "admin-secret"))
    source.reaches("Running", limit=120)
    assert len(place.kafka.records(source.topic, least=10)) >= 10
    source.delete()
