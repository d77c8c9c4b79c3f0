"""Faults of Kafka, of the way to it, and of what connectors ask of it."""

import json
import time
from collections.abc import Callable
from typing import Any, Final

from ...cluster import Failed
from ...faulty_plugin import faulty_source
from ...place import Connector
from ..fault import Fault, Refused, Says, Scene, Steps, copies, orders

__all__ = ["FAULTS", "broker_continues", "broker_stops", "cut_off"]

_JAAS: Final = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}";'


def cut_off(scene: Scene, uid: str, *, on: bool) -> None:
    """Drop what a pod sends to Kafka, in its own network namespace, or drop it no more."""
    processes = f"grep -l '{uid}\\|{uid.replace('-', '_')}' /proc/[0-9]*/cgroup | cut -d/ -f3 | head -n 1"
    rule = f"-{'A' if on else 'D'} OUTPUT -p tcp --dport 9092 -j DROP"
    scene.world.cluster.on_node("sh", "-c", f'nsenter -n -t "$({processes})" iptables {rule}')


def _task_is_cut_off(scene: Scene) -> None:
    (pod,) = scene.connector.pods().values()
    scene.notes["uid"] = pod["metadata"]["uid"]
    cut_off(scene, scene.notes["uid"], on=True)


def _task_is_back(scene: Scene) -> None:
    cut_off(scene, scene.notes["uid"], on=False)


def broker_stops(scene: Scene) -> None:
    """Let every process of the broker stand still."""
    broker = scene.world.cluster.api.get("pods", scene.world.kafka.namespace, "kafka-0")
    assert broker is not None
    scene.notes["broker"] = broker["metadata"]["uid"]
    scene.ends.callback(broker_continues, scene)
    scene.world.cluster.kill_pod(scene.notes["broker"], "STOP")


def broker_continues(scene: Scene) -> None:
    """Let the broker continue."""
    scene.world.cluster.kill_pod(scene.notes["broker"], "CONT")


def _configured(**config: Any) -> Steps:
    return lambda scene: scene.connector.configure(**config)


def _with_password(prefix: str, user: str, password: str) -> dict[str, str]:
    return {
        f"{prefix}_security_protocol": "SASL_PLAINTEXT",
        f"{prefix}_sasl_mechanism": "PLAIN",
        f"{prefix}_sasl_jaas_config": _JAAS.format(user, password),
    }


def _with_passwords(made: Callable[..., Callable[[Scene], Connector]], prefix: str, user: str, password: str) -> Any:
    """A connector that reaches Kafka by the port that asks for names and passwords."""

    def found(scene: Scene) -> Connector:
        servers = {f"{prefix}_bootstrap_servers": scene.world.kafka.with_passwords}
        return made(**_with_password(prefix, user, password), **servers)(scene)

    return found


def _plain_again(prefix: str) -> Steps:
    names = ("bootstrap_servers", "security_protocol", "sasl_mechanism", "sasl_jaas_config")
    return _configured(**{f"{prefix}_{name}": None for name in names})


def _missing_topic(scene: Scene) -> Connector:
    config = {"topics": f"{scene.place.namespace}.in", "file": "/tmp/out.txt"}
    return scene.place.unapplied("copies", "FileStreamSink", config)


def _topic_comes(scene: Scene) -> None:
    scene.world.kafka.create(f"{scene.place.namespace}.in")


def _topic_goes(scene: Scene) -> None:
    scene.world.kafka.delete(f"{scene.place.namespace}.in")


def _large(scene: Scene) -> Connector:
    return faulty_source(scene.place, size=2_000_000)


def _status_topic_forgets(scene: Scene) -> None:
    scene.ends.callback(_status_topic_keeps, scene)
    since = len(scene.world.release.log.lines)
    scene.world.kafka.configure("connect-status", {"cleanup.policy": "delete"})
    deadline = time.monotonic() + 2 * 60
    while time.monotonic() < deadline:
        for line in scene.world.release.log.lines[since:]:
            if "cleanup.policy" in line:
                raise Failed(str(json.loads(line)["message"]))
        time.sleep(0.5)


def _status_topic_keeps(scene: Scene) -> None:
    scene.world.kafka.configure("connect-status", {"cleanup.policy": "compact"})


FAULTS: Final = (
    Fault(
        "a sink is cut off from Kafka",
        "a network policy or a firewall drops what a sink's pod sends to the brokers",
        Says("Hindered", ("is not ready: Kafka at ", "has not answered")),
        "let the pods of the namespace reach the brokers",
        copies(),
        _task_is_cut_off,
        _task_is_back,
        is_quick=True,
    ),
    Fault(
        "a source is cut off from Kafka",
        "a network policy or a firewall drops what a source's pod sends to the brokers",
        Says("Hindered", ("is not ready: Kafka at ", "has not answered")),
        "let the pods of the namespace reach the brokers",
        orders(),
        _task_is_cut_off,
        _task_is_back,
    ),
    Fault(
        "the brokers do not answer",
        "all brokers are frozen, or unreachable for all clients",
        Says("Hindered|KafkaUnavailable", ("Kafka",), status="False"),
        "restore the brokers",
        orders(),
        broker_stops,
        broker_continues,
        is_alone=True,
    ),
    Fault(
        "the bootstrap server of a connector does not exist",
        "`consumer.override.bootstrap.servers` names an unknown host",
        Says("Unavailable", ("nowhere.example:9092", "does not resolve")),
        "correct the property",
        copies(consumer_override_bootstrap_servers="nowhere.example:9092"),
        remove=_configured(consumer_override_bootstrap_servers=None),
        needs_user=True,
        watched=20,
    ),
    Fault(
        "TLS to a port without TLS",
        "`producer.override.security.protocol: SSL`, and the brokers' port speaks plaintext",
        Says("Unavailable", ("does not complete the TLS handshake",)),
        "name the protocol of the brokers' port",
        orders(producer_override_security_protocol="SSL"),
        remove=_configured(producer_override_security_protocol=None),
        needs_user=True,
        watched=20,
    ),
    Fault(
        "a password to a port that needs none",
        "`producer.override.security.protocol: SASL_PLAINTEXT`, and the brokers' port does not authenticate",
        Says("Unavailable", ("does not accept the credentials",)),
        "name the protocol of the brokers' port",
        orders(**_with_password("producer_override", "admin", "admin-secret")),
        remove=_plain_again("producer_override"),
        needs_user=True,
        watched=20,
    ),
    Fault(
        "a wrong password of Kafka",
        "`producer.override.sasl.jaas.config` has a wrong password",
        Says("Unavailable", ("does not accept the credentials",)),
        "correct the password, preferably in a Secret",
        _with_passwords(orders, "producer_override", "admin", "wrong"),
        remove=_plain_again("producer_override"),
        needs_user=True,
        watched=20,
    ),
    Fault(
        "a source may not write its topic",
        "the user of `producer.override` has no ACL for the topic",
        Says("Unavailable|TasksFailed|PrepareFailed", ("uthoriz",)),
        "grant what [kafka-acls.md](kafka-acls.md) lists",
        _with_passwords(orders, "producer_override", "penstock", "penstock-secret"),
        remove=_plain_again("producer_override"),
        needs_user=True,
        watched=20,
    ),
    Fault(
        "a sink may not read its topic",
        "the user of `consumer.override` has no ACL for topic and group",
        Says("Hindered|Unavailable|TasksFailed|PrepareFailed", ("uthoriz|may not be read",)),
        "grant what [kafka-acls.md](kafka-acls.md) lists",
        _with_passwords(copies, "consumer_override", "penstock", "penstock-secret"),
        remove=_plain_again("consumer_override"),
        needs_user=True,
        watched=20,
    ),
    Fault(
        "a sink's topic does not exist",
        "`topics` names a topic that does not exist",
        Says("Hindered", ("Waiting for topics that do not exist",)),
        "create the topic, or correct `topics`",
        _missing_topic,
        remove=_topic_comes,
        watched=60,
    ),
    Fault(
        "a sink's topic is deleted",
        "the topic that a sink reads is deleted",
        Says("Hindered|TasksFailed", ("do not exist|does not exist",)),
        "create the topic again",
        copies(),
        _topic_goes,
        _topic_comes,
    ),
    Fault(
        "a dead letter queue with too many replicas",
        "`errors.deadletterqueue.topic.replication.factor` is greater than the number of brokers",
        Says("Unavailable|PrepareFailed", ("errors.deadletterqueue.topic.name", "replication factor of 3")),
        "lower the factor; -1 is the broker's default",
        copies(errors_tolerance="all", errors_deadletterqueue_topic_name="dead-letters"),
        remove=_configured(errors_deadletterqueue_topic_replication_factor=1),
        needs_user=True,
    ),
    Fault(
        "a record is too large for Kafka",
        "a source has a record that is larger than the topic's `max.message.bytes`",
        Says("TasksFailed", ("is larger than the topic accepts|is larger than the producer sends", "KAFKA_PRODUCE")),
        "raise the topic's `max.message.bytes`, or set errors.tolerance",
        _large,
        remove=_configured(size=1),
        needs_user=True,
        watched=60,
    ),
    Fault(
        "a sink's group has no offsets to start from",
        "`consumer.override.auto.offset.reset: none` and a new consumer group",
        Says("TasksFailed|Unavailable", ("auto.offset.reset",)),
        "set offsets, or let the consumer choose",
        copies(consumer_override_auto_offset_reset="none"),
        remove=_configured(consumer_override_auto_offset_reset="earliest"),
        needs_user=True,
        watched=60,
    ),
    Fault(
        "the status topic is not compacted",
        "the status topic is deleted and created again by a broker, or changed: `cleanup.policy=delete`",
        Refused(("the operator has restored it to compact",), "the operator's log"),
        "nothing if the operator has the AlterConfigs permission on the topic; otherwise set `cleanup.policy=compact`. "
        "Until then, changes wait with `StatusTopicNotCompacted`",
        orders(),
        _status_topic_forgets,
        halts=False,
        seconds=60,
        is_alone=True,
    ),
)
