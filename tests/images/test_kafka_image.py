"""The Kafka image, started as its manifest starts it: by variables, with folders that are empty at first."""

import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from .unpacked import Image

MANIFESTS: Final = Path(__file__).parents[2] / "examples" / "kafka"
PATIENCE: Final = 60.0  # seconds
JAAS = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required user_admin="a\\\\b" user_reader="reader-secret";'
)


@dataclass(frozen=True)
class Ports:
    plain: int
    passwords: int
    controller: int


@pytest.fixture
def ports() -> Ports:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    numbers = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return Ports(*numbers)


def variables(ports: Ports) -> dict[str, str]:
    listeners = f"PLAINTEXT://127.0.0.1:{ports.plain},SASL_PLAINTEXT://127.0.0.1:{ports.passwords}"
    return {
        "KAFKA_LISTENERS": f"{listeners},CONTROLLER://127.0.0.1:{ports.controller}",
        "KAFKA_ADVERTISED_LISTENERS": listeners,
        "KAFKA_CONTROLLER_QUORUM_VOTERS": f"1@127.0.0.1:{ports.controller}",
        "KAFKA_SERVICE_HOST": "10.0.0.1",  # what Kubernetes sets for a Service of that name is no setting
        "KAFKA_PORT": "tcp://10.0.0.1:9092",
        "KAFKA_SASL_ENABLED_MECHANISMS": "PLAIN",
        "KAFKA_LISTENER_NAME_SASL__PLAINTEXT_PLAIN_SASL_JAAS_CONFIG": JAAS,
        "KAFKA_AUTHORIZER_CLASS_NAME": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "KAFKA_SUPER_USERS": "User:ANONYMOUS;User:admin",
    }


@contextmanager
def running(image: Image, env: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A broker, from "Kafka Server started" to its orderly end."""
    command = image.command(*image.config["Entrypoint"], env=env, writable=("/tmp", "/var/lib/kafka"))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        lines: list[str] = []
        watch = threading.Timer(PATIENCE, process.kill)
        watch.start()
        for line in process.stdout:
            lines.append(line)
            if "Kafka Server started" in line:
                break
        watch.cancel()
        assert process.poll() is None, "".join(lines)
        rest = threading.Thread(target=lambda: lines.extend(process.stdout or ()))
        rest.start()
        try:
            yield process
        finally:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            for child in children:  # unshare's child is the broker
                subprocess.run(["kill", f"-{signal.SIGTERM.value}", child], check=True)
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()
                rest.join()


def client(port: int, user: str = "", password: str = "") -> dict[str, Any]:
    settings: dict[str, Any] = {"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0}
    if user:
        settings |= {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanisms": "PLAIN",
            "sasl.username": user,
            "sasl.password": password,
        }
    return settings


def produce(settings: Mapping[str, Any], topic: str) -> KafkaError | None:
    outcome: list[KafkaError | None] = []
    producer = Producer({**settings, "message.timeout.ms": 20000})
    producer.produce(topic, b"value", on_delivery=lambda error, _: outcome.append(error))
    producer.flush(PATIENCE)
    return outcome[0]


def test_it_starts_with_passwords_and_rights_only_by_variables(image: Callable[[str], Image], ports: Ports) -> None:
    with running(image("kafka"), variables(ports)):
        anybody = AdminClient(client(ports.plain))
        assert produce(client(ports.plain), "orders") is None
        assert produce(client(ports.passwords, "admin", "a\\b"), "orders") is None

        refused = produce(client(ports.passwords, "reader", "reader-secret"), "orders")
        assert refused is not None
        assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED

        right = AclBinding(
            ResourceType.TOPIC,
            "orders",
            ResourcePatternType.LITERAL,
            "User:reader",
            "*",
            AclOperation.ALL,
            AclPermissionType.ALLOW,
        )
        for future in anybody.create_acls([right]).values():
            future.result(PATIENCE)
        assert produce(client(ports.passwords, "reader", "reader-secret"), "orders") is None


def test_a_wrong_password_is_refused(image: Callable[[str], Image], ports: Ports) -> None:
    seen: list[KafkaError] = []
    with running(image("kafka"), variables(ports)):
        producer = Producer({**client(ports.passwords, "admin", "wrong"), "error_cb": seen.append})
        producer.poll(PATIENCE)  # until it has something to say
        assert KafkaError._AUTHENTICATION in [error.code() for error in seen]


@pytest.mark.parametrize("name", ["kafka.yaml", "kafka-with-passwords.yaml"])
def test_its_manifests_ask_for_nothing_that_a_restricted_namespace_refuses(name: str) -> None:
    for document in yaml.safe_load_all((MANIFESTS / name).read_text()):
        if document["kind"] != "StatefulSet":
            continue
        pod = document["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }
        assert re.fullmatch(r"penstock-demo-kafka:\d+\.\d+\.\d+", container["image"])
        # A Service called kafka would otherwise fill the container with variables that look like settings.
        assert pod["enableServiceLinks"] is False
