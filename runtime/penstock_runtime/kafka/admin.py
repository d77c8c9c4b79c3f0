"""Look up topics and their settings, and create internal topics, dead letter queues and topics of sources."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from penstock.errors import ConfigError, ConnectError, RetriableError
from penstock_kafka.errors import translated, translating
from penstock_runtime.kafka.connectivity import connection_properties
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["Admin", "RequestedTopic", "batch_limits", "cluster_id", "requests", "topic_ids"]

log = logging.getLogger(__name__)
_SECONDS: Final = 30.0
_SHORTLY: Final = 5.0
"""Seconds to wait for optional answers."""
_COMPACTED: Final = {"segment.bytes": str(50 << 20)}
"""Small segments: Kafka compacts only closed ones, which by default close at 1 GiB or after a week. With offsets written
many times a second, every start of a task would read gigabytes. Some Kafka providers reject smaller segments than this."""
_PARTITIONS_OF_REQUEST: Final = 5_000
_BROKERS_OWN: Final = 50
"""Partitions assumed for a topic that uses the broker's default."""
_NOT_HERE: Final = (KafkaError.POLICY_VIOLATION, KafkaError.INVALID_CONFIG)
_NO_BROKER: Final = "All brokers are currently fenced"
"""Kafka's message while its brokers start or shut down. Its code, INVALID_REPLICATION_FACTOR, is also returned for a factor
that will never become valid."""


def cluster_id(settings: ClientSettings) -> str:
    """Return the id of the cluster that producers write to, which is the same for every address of the cluster.

    Connects with the producer's properties, since only those are known to reach that address.

    Raises:
        RetriableError: no broker answered.
        ConnectError: another failure, such as failed authentication.
    """
    servers = settings.bootstrap
    with translating(f"Looking up the cluster id at {servers}"):
        client = AdminClient(settings.for_producer())
        found = client.describe_cluster(request_timeout=_SECONDS).result()
    return found.cluster_id or servers


def batch_limits(settings: ClientSettings, topics: Iterable[str]) -> dict[str, int]:
    """Return `max.message.bytes` of the topics. Topics without an answer are omitted.

    Sends one request, with the producer's connection properties.

    Raises:
        ConnectError: the client cannot be created.
    """
    with translating("Describing topics"):
        client = AdminClient(settings.for_producer())
        resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        asked = client.describe_configs(resources, request_timeout=_SHORTLY)
    found: dict[str, int] = {}
    for resource, answer in asked.items():
        try:
            found[resource.name] = int(answer.result()["max.message.bytes"].value)
        except (KafkaException, KeyError, TypeError) as e:  # no such topic, not authorized, or not in the answer
            log.debug("The batch limit of topic '%s' is unknown: %s", resource.name, e)
    return found


def topic_ids(settings: ClientSettings, topics: Iterable[str]) -> dict[str, str]:
    """Return the ids of the topics. A topic that was deleted and created again has a new id.

    Topics without an answer are omitted.

    Raises:
        ConnectError: the client cannot be created.
    """
    with translating("Fetching topic ids"):
        client = AdminClient({**settings.for_admin(), **connection_properties(settings.consumer)})
        asked = client.describe_topics(TopicCollection(list(topics)), request_timeout=_SHORTLY)
    found: dict[str, str] = {}
    for topic, answer in asked.items():
        try:
            found[topic] = str(answer.result().topic_id)
        except KafkaException as e:  # deleted, not authorized, or no answer
            log.debug("The id of topic '%s' is unknown: %s", topic, e)
    return found


@dataclass(frozen=True, slots=True)
class RequestedTopic:
    """Topic to create.

    Attributes:
        name: name of the topic.
        partitions: number of partitions; -1 is the broker's default.
        replication_factor: number of replicas; -1 is the broker's default.
        settings: settings of the topic.
        named_by: property or rule that requests the topic, for messages.
        words: returns the message if the brokers refuse; None: the client's message is used.
    """

    name: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str]
    named_by: str
    words: Callable[[KafkaError], str] | None = None


class Admin:
    """Short-lived admin client."""

    def __init__(self, settings: ClientSettings, *, servers: str | None = None) -> None:
        config = settings.for_admin()
        if servers is not None:
            config["bootstrap.servers"] = servers
        self._servers = config.get("bootstrap.servers")
        with translating("Starting an admin client"):
            self._client = AdminClient(config)

    def topics(self) -> dict[str, int]:
        """Return all topics with their number of partitions.

        Raises:
            RetriableError: no broker answered.
        """
        with translating(f"Fetching the topics of {self._servers}"):
            found = self._client.list_topics(timeout=_SECONDS).topics
        return {name: len(t.partitions) for name, t in found.items() if t.error is None}

    def ensure_compacted(
        self,
        topic: str,
        *,
        partitions: int,
        replication_factor: int,
        settings: Mapping[str, str],
        named_by: str,
        may_create: bool = True,
    ) -> bool:
        """Create an internal topic, or check that it is compacted; return whether it was created.

        Args:
            topic: name of the topic.
            partitions: number of partitions if the topic is created.
            replication_factor: number of replicas if the topic is created; -1 is the broker's default.
            settings: further topic settings; they cannot override compaction.
            named_by: the property that holds the name, for messages.
            may_create: whether to create a missing topic (`internal.topics.automatic.creation.enable`).

        Raises:
            ConnectError: the topic is not compacted, is missing and cannot be created, or may not be described.
        """
        if topic not in self.topics() and (may_create or self.missing([topic])):
            if not may_create:
                raise ConnectError(
                    f"Topic '{topic}' specified via the '{named_by}' property is missing. The config "
                    f"'internal.topics.automatic.creation.enable' is set to 'false', so automatic creation of internal "
                    f"topics is disabled. Create the topic with cleanup.policy=compact, or enable automatic creation in "
                    f"the worker configuration."
                )
            wanted = {**settings, "cleanup.policy": "compact"}
            self._create_internal(RequestedTopic(topic, partitions, replication_factor, wanted, named_by), _COMPACTED)
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

    def ensure_exists(self, topic: str, *, replication_factor: int) -> None:
        """Create a dead letter queue unless the topic exists. An existing topic is not changed.

        Raises:
            ConnectError: the topic cannot be created.
        """
        if topic not in self.topics():
            self._create_internal(
                RequestedTopic(topic, 1, replication_factor, {}, "errors.deadletterqueue.topic.name"), {}
            )

    def missing(self, topics: Sequence[str]) -> list[str]:
        """Return the topics among these that do not exist. A single request is sent, which names no other topic.

        The request never makes a broker create a topic automatically, so permission to describe the topics suffices.

        Raises:
            RetriableError: no broker answered.
            ConnectError: the principal may not describe a topic, or its name is invalid.
        """
        try:
            with translating("Describing topics"):
                answers = self._client.describe_topics(TopicCollection([*topics]), request_timeout=_SECONDS)
        except ValueError as e:  # the client rejects a name
            raise ConnectError(f"Error while attempting to describe topics {topics[:3]}: {e}") from e
        found, refusals = list[str](), list[ConnectError]()
        for topic in topics:
            try:
                answers[topic].result()
            except KafkaException as e:
                error = e.args[0]
                if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    found.append(topic)
                    continue
                ours = translated(error, f"Describing topic '{topic}'")
                is_final = not isinstance(ours, RetriableError)
                refusals.append(_caused(ConnectError(self._undescribed(topic, error)) if is_final else ours, e))
        _raise_worst(refusals)
        return found

    def create(self, topics: Sequence[RequestedTopic]) -> None:
        """Create these topics in as few requests as Kafka allows. A topic that already exists is not changed.

        Raises:
            RetriableError: no broker answered.
            ConfigError: the client rejects a number of partitions or replicas.
            ConnectError: the brokers refuse a topic, or the principal may not create it. Other topics may have been created.
        """
        for some in requests(topics):
            self._create_together(some)

    def _create_together(self, topics: Sequence[RequestedTopic]) -> None:
        new: list[Any] = [NewTopic(t.name, t.partitions, t.replication_factor, config={**t.settings}) for t in topics]
        try:
            with translating("Creating topics"):
                answers = self._client.create_topics(new, request_timeout=_SECONDS)
        except ValueError as e:  # the client rejects a number, and its message names the topic
            wrong = next((t for t in topics if f"NewTopic({t.name})" in str(e)), topics[0])
            raise ConfigError(f"cannot create topic '{wrong.name}', requested by {wrong.named_by}: {e}") from e
        refusals = list[ConnectError]()
        for topic in topics:
            try:
                answers[topic.name].result()
            except KafkaException as e:
                error = e.args[0]
                if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    refusals.append(_caused(_refusal(topic, error), e))
            else:
                log.info("Created topic '%s' with %d partitions for %s", topic.name, topic.partitions, topic.named_by)
        _raise_worst(refusals)

    def _undescribed(self, topic: str, error: KafkaError) -> str:
        """Return why a topic that a rule may create cannot be described, worded as in Kafka Connect."""
        if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return (
                f"Not authorized to describe topic(s) '{topic}' on the brokers {self._servers}. Grant the "
                f"connector's principal the Describe permission on it, then restart the connector."
            )
        return f"Error while attempting to describe topics '{topic}': {error.str()} ({error.name()})"

    def _create_internal(self, topic: RequestedTopic, optional: Mapping[str, str]) -> None:
        """Create an internal topic, unless it already exists.

        The topic's own settings override the `optional` ones, which are omitted if the brokers refuse them.
        """
        config = {**optional, **topic.settings}
        new: Any = NewTopic(
            topic.name, num_partitions=topic.partitions, replication_factor=topic.replication_factor, config=config
        )
        try:
            self._client.create_topics([new], request_timeout=_SECONDS)[topic.name].result()
        except KafkaException as e:
            error = e.args[0]
            if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return
            if config != topic.settings and error.code() in _NOT_HERE:
                settings = ", ".join(optional)
                log.info("Cannot create topic '%s' with %s: %s; retrying without", topic.name, settings, error.str())
                self._create_internal(topic, {})
                return
            raise _refusal(topic, error) from e
        log.info("Created topic '%s' with %d partitions", topic.name, topic.partitions)


def requests(topics: Sequence[RequestedTopic]) -> Iterator[list[RequestedTopic]]:
    """Yield the topics of each request. Kafka refuses a request that creates more than 10,000 partitions."""
    some, partitions = list[RequestedTopic](), 0
    for topic in topics:
        own = topic.partitions if topic.partitions > 0 else _BROKERS_OWN
        if some and partitions + own > _PARTITIONS_OF_REQUEST:
            yield some
            some, partitions = [], 0
        some.append(topic)
        partitions += own
    yield some


def _refusal(topic: RequestedTopic, error: KafkaError) -> ConnectError:
    """Return the error to raise for a topic that was not created."""
    ours = translated(error, f"Creating topic '{topic.name}' (requested by {topic.named_by})")
    if isinstance(ours, RetriableError):
        return ours
    if _NO_BROKER in error.str():
        return RetriableError(str(ours))
    if topic.words is not None:
        return ConnectError(topic.words(error))
    if error.code() != KafkaError.INVALID_REPLICATION_FACTOR:
        return ConnectError(str(ours))
    return ConnectError(
        f"{ours} {topic.replication_factor} replicas were requested; set {topic.named_by.removesuffix('.name')}"
        f".replication.factor to at most the number of brokers, or to -1 for their default."
    )


def _caused(error: ConnectError, cause: Exception) -> ConnectError:
    error.__cause__ = cause
    return error


def _raise_worst(errors: Sequence[ConnectError]) -> None:
    """Raise the first error that is not retriable, or else the first error, if any."""
    if errors:
        raise next((e for e in errors if not isinstance(e, RetriableError)), errors[0])
