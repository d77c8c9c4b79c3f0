"""Asks for topics and their settings, and creates internal topics, dead letter queues and topics of sources."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from penstock.errors import ConnectError, RetriableError
from penstock_kafka.errors import translated, translating
from penstock_runtime.kafka.connectivity import connection_properties
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["Admin", "batch_limits", "cluster_id", "topic_ids"]

log = logging.getLogger(__name__)
_SECONDS: Final = 30.0
_SHORTLY: Final = 5.0
"""For answers that are not required."""
_COMPACTED: Final = {"segment.bytes": str(50 << 20)}
"""Kafka compacts closed segments only, which close at 1 GiB or after a week: offsets that are written many times a second
would make every start of a task read gigabytes. Some providers of Kafka refuse smaller segments."""
_NOT_HERE: Final = (KafkaError.POLICY_VIOLATION, KafkaError.INVALID_CONFIG)
_NO_BROKER: Final = "All brokers are currently fenced"
"""Kafka's words while its brokers start or leave. The code beside them, INVALID_REPLICATION_FACTOR, is also that of a factor
that waiting does not make valid."""


def cluster_id(settings: ClientSettings) -> str:
    """The id of the cluster that producers write to, whichever of its addresses they were given.

    Asked with the producer's properties, which are those that reach that address.

    Raises:
        RetriableError: no broker answered.
        ConnectError: for example not authenticated.
    """
    servers = settings.bootstrap
    with translating(f"Asking {servers} which cluster it is"):
        client = AdminClient(settings.for_producer())
        found = client.describe_cluster(request_timeout=_SECONDS).result()
    return found.cluster_id or servers


def batch_limits(settings: ClientSettings, topics: Iterable[str]) -> dict[str, int]:
    """`max.message.bytes` of topics, as far as the brokers tell; asked as a producer would, in one request.

    Raises:
        ConnectError: no client can be made.
    """
    with translating("Asking for the limits of topics"):
        client = AdminClient(settings.for_producer())
        resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        asked = client.describe_configs(resources, request_timeout=_SHORTLY)
    found: dict[str, int] = {}
    for resource, answer in asked.items():
        try:
            found[resource.name] = int(answer.result()["max.message.bytes"].value)
        except (KafkaException, KeyError, TypeError) as e:  # no such topic, not authorised, or not in the answer
            log.debug("The limits of topic '%s' are not known: %s", resource.name, e)
    return found


def topic_ids(settings: ClientSettings, topics: Iterable[str]) -> dict[str, str]:
    """The ids of topics, which differ from those of earlier topics of the same name, as far as the brokers tell them.

    Raises:
        ConnectError: no client can be made.
    """
    with translating("Asking for the ids of topics"):
        client = AdminClient({**settings.for_admin(), **connection_properties(settings.consumer)})
        asked = client.describe_topics(TopicCollection(list(topics)), request_timeout=_SHORTLY)
    found: dict[str, str] = {}
    for topic, answer in asked.items():
        try:
            found[topic] = str(answer.result().topic_id)
        except KafkaException as e:  # gone, not authorised, no answer
            log.debug("The id of topic '%s' is not known: %s", topic, e)
    return found


class Admin:
    """An admin client for one piece of work."""

    def __init__(self, settings: ClientSettings, *, servers: str | None = None) -> None:
        config = settings.for_admin()
        if servers is not None:
            config["bootstrap.servers"] = servers
        self._servers = config.get("bootstrap.servers")
        with translating("Starting an admin client"):
            self._client = AdminClient(config)

    def topics(self) -> dict[str, int]:
        """Every topic and its number of partitions.

        Raises:
            RetriableError: no broker answered.
        """
        with translating(f"Asking {self._servers} for its topics"):
            found = self._client.list_topics(timeout=_SECONDS).topics
        return {name: len(t.partitions) for name, t in found.items() if t.error is None}

    def ensure_compacted(
        self, topic: str, *, partitions: int, replication_factor: int, settings: Mapping[str, str], named_by: str
    ) -> bool:
        """Create an internal topic, or check that it is compacted; return whether it was created.

        Args:
            topic: its name.
            partitions: when it must be created.
            replication_factor: likewise; -1 is the broker's default.
            settings: further topic settings; compaction always wins.
            named_by: the property that holds its name, for messages.

        Raises:
            ConnectError: it is not compacted, or cannot be created.
        """
        if topic not in self.topics():
            wanted = {**settings, "cleanup.policy": "compact"}
            self._create(topic, partitions, replication_factor, wanted, named_by, wishes=_COMPACTED)
            return True
        with translating(f"Describing topic '{topic}'"):
            resource = ConfigResource(ResourceType.TOPIC, topic)
            answer = self._client.describe_configs([resource], request_timeout=_SECONDS)[resource].result()
        policy = answer["cleanup.policy"].value
        if policy != "compact":
            raise ConnectError(
                f"Topic '{topic}' supplied via the '{named_by}' property is required to have 'cleanup.policy=compact' "
                f"to guarantee consistency and durability, but found the topic currently has 'cleanup.policy={policy}'."
                f" Correct the topic's configuration, or name another topic."
            )
        return False

    def ensure_exists(self, topic: str, *, partitions: int, replication_factor: int, named_by: str) -> None:
        """Create a topic unless it exists, in which case it is taken as it is.

        Raises:
            ConnectError: it cannot be created.
        """
        if topic not in self.topics():
            self._create(topic, partitions, replication_factor, {}, named_by)

    def ensure_described(
        self, topic: str, *, partitions: int, replication_factor: int, settings: Mapping[str, str], named_by: str
    ) -> None:
        """Create a topic unless it exists, in which case it is taken as it is; other topics are not looked at.

        Asks for the topic in the way by which no broker creates it by itself, so that the right to describe it is enough
        where it exists.

        Args:
            topic: its name.
            partitions: when it must be created; -1 is the broker's default.
            replication_factor: likewise.
            settings: of the new topic.
            named_by: where `replication.factor` is set, for messages.

        Raises:
            RetriableError: no broker answered.
            ConnectError: it may not be described or created, or cannot be created so.
        """
        try:
            answer = self._client.describe_topics(TopicCollection([topic]), request_timeout=_SECONDS)
            answer[topic].result()
        except KafkaException as e:
            error = e.args[0]
            if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                self._create(topic, partitions, replication_factor, settings, named_by, words=_refused_rule)
                return
            ours = translated(error, f"Describing topic '{topic}'")
            if isinstance(ours, RetriableError):
                raise ours from e
            raise ConnectError(self._undescribed(topic, error)) from e

    def _undescribed(self, topic: str, error: KafkaError) -> str:
        """Why a topic that a rule may create cannot be described, in Kafka Connect's words."""
        if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return (
                f"Not authorized to describe topic(s) '{topic}' on the brokers {self._servers}. Grant the principal of "
                f"this connector the right Describe on it, then restart it."
            )
        return f"Error while attempting to describe topics '{topic}': {error.str()} ({error.name()})"

    def _create(
        self, topic: str, partitions: int, replication_factor: int, settings: Mapping[str, str], named_by: str,
        *, wishes: Mapping[str, str] | None = None, words: Callable[[Any, KafkaError], str] | None = None,
    ) -> None:  # fmt: skip
        """Create a topic, unless it is there by now.

        `wishes` are settings that any of `settings` overrides, and without which the topic is created if the brokers refuse
        them; `words` make the message of a refusal.
        """
        config = {**(wishes or {}), **settings}
        new: Any = NewTopic(topic, num_partitions=partitions, replication_factor=replication_factor, config=config)
        try:
            self._client.create_topics([new], request_timeout=_SECONDS)[topic].result()
        except KafkaException as e:
            error = e.args[0]
            if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return
            if config != settings and error.code() in _NOT_HERE:
                log.info("Topic '%s' is made without %s: %s", topic, ", ".join(wishes or ()), error.str())
                self._create(topic, partitions, replication_factor, settings, named_by)
                return
            ours = translated(error, f"Creating topic '{topic}' (named by {named_by})")
            if isinstance(ours, RetriableError):
                raise ours from e
            if _NO_BROKER in error.str():
                raise RetriableError(str(ours)) from e
            hint = ""
            if error.code() == KafkaError.INVALID_REPLICATION_FACTOR:
                hint = (
                    f" {replication_factor} replicas were asked for; set {named_by.removesuffix('.name')}"
                    f".replication.factor to what the cluster has, or -1 for its default."
                )
            raise ConnectError(f"{words(new, error) if words else ours}{hint}") from e
        log.info("Created topic '%s' with %d partitions", topic, partitions)


def _refused_rule(topic: Any, error: KafkaError) -> str:
    """Why a topic could not be created by its rule, in Kafka Connect's words."""
    if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
        settings = ", ".join(f"{name}={text}" for name, text in topic.config.items())
        return (
            f"Task failed to create new topic (name={topic.topic}, numPartitions={topic.num_partitions}, "
            f"replicationFactor={topic.replication_factor}, replicasAssignments=null, configs={{{settings}}}). Ensure that "
            f"the task is authorized to create topics or that the topic exists and restart the task. The right Create is "
            f"needed on the topic or on the cluster."
        )
    return f"Unable to create topic(s) '{topic.topic}': {error.str()} ({error.name()})"
