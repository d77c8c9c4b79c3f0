"""Asks for topics and their settings, and creates internal topics, dead letter queues and topics of sources."""

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
"""For answers that are not required."""
_COMPACTED: Final = {"segment.bytes": str(50 << 20)}
"""Kafka compacts closed segments only, which close at 1 GiB or after a week: offsets that are written many times a second
would make every start of a task read gigabytes. Some providers of Kafka refuse smaller segments."""
_PARTITIONS_OF_REQUEST: Final = 5_000
_BROKERS_OWN: Final = 50
"""Partitions that the broker's own number is taken to be, where nobody says a number."""
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


@dataclass(frozen=True, slots=True)
class RequestedTopic:
    """A topic that is to be created.

    Attributes:
        name: of the topic.
        partitions: how many; -1 is the broker's default.
        replication_factor: likewise.
        settings: of the topic.
        named_by: where the user wrote that, for messages.
        words: the message of a refusal; None: that of the client.
    """

    name: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str]
    named_by: str
    words: Callable[[KafkaError], str] | None = None


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
            topic: its name.
            partitions: when it must be created.
            replication_factor: likewise; -1 is the broker's default.
            settings: further topic settings; compaction always wins.
            named_by: the property that holds its name, for messages.
            may_create: whether a missing topic is created (`internal.topics.automatic.creation.enable`).

        Raises:
            ConnectError: it is not compacted, or cannot be created, or is missing and must not be.
        """
        if topic not in self.topics():
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
        """Create a dead letter queue unless the topic exists, in which case it is taken as it is.

        Raises:
            ConnectError: it cannot be created.
        """
        if topic not in self.topics():
            self._create_internal(
                RequestedTopic(topic, 1, replication_factor, {}, "errors.deadletterqueue.topic.name"), {}
            )

    def missing(self, topics: Sequence[str]) -> list[str]:
        """Those of these topics that do not exist, asked for in one request; other topics are not looked at.

        Asks in the way by which no broker creates a topic by itself, so that the right to describe them is enough.

        Raises:
            RetriableError: no broker answered.
            ConnectError: one of them may not be described, or cannot exist.
        """
        try:
            with translating("Describing topics"):
                answers = self._client.describe_topics(TopicCollection([*topics]), request_timeout=_SECONDS)
        except ValueError as e:  # a name that the client does not send
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
        """Create these topics in as few requests as Kafka allows; one that is there by now is taken as it is.

        Raises:
            RetriableError: no broker answered.
            ConfigError: a number is none that the client sends.
            ConnectError: one of them cannot be created so, or may not be. Others may have been.
        """
        for some in requests(topics):
            self._create_together(some)

    def _create_together(self, topics: Sequence[RequestedTopic]) -> None:
        new: list[Any] = [NewTopic(t.name, t.partitions, t.replication_factor, config={**t.settings}) for t in topics]
        try:
            with translating("Creating topics"):
                answers = self._client.create_topics(new, request_timeout=_SECONDS)
        except ValueError as e:  # a number that the client does not send; it names the topic
            wrong = next((t for t in topics if f"NewTopic({t.name})" in str(e)), topics[0])
            raise ConfigError(f"Topic '{wrong.name}' cannot be created by {wrong.named_by}: {e}") from e
        refusals = list[ConnectError]()
        for topic in topics:
            try:
                answers[topic.name].result()
            except KafkaException as e:
                error = e.args[0]
                if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    refusals.append(_caused(_refusal(topic, error), e))
            else:
                log.info("Created topic '%s' by %s, with %d partitions", topic.name, topic.named_by, topic.partitions)
        _raise_worst(refusals)

    def _undescribed(self, topic: str, error: KafkaError) -> str:
        """Why a topic that a rule may create cannot be described, in Kafka Connect's words."""
        if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return (
                f"Not authorized to describe topic(s) '{topic}' on the brokers {self._servers}. Grant the principal of "
                f"this connector the right Describe on it, then restart it."
            )
        return f"Error while attempting to describe topics '{topic}': {error.str()} ({error.name()})"

    def _create_internal(self, topic: RequestedTopic, wishes: Mapping[str, str]) -> None:
        """Create an internal topic, unless it is there by now.

        `wishes` are settings that its own override, and without which it is created if the brokers refuse them.
        """
        config = {**wishes, **topic.settings}
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
                log.info("Topic '%s' is made without %s: %s", topic.name, ", ".join(wishes), error.str())
                self._create_internal(topic, {})
                return
            raise _refusal(topic, error) from e
        log.info("Created topic '%s' with %d partitions", topic.name, topic.partitions)


def requests(topics: Sequence[RequestedTopic]) -> Iterator[list[RequestedTopic]]:
    """The topics of each request: Kafka refuses one that makes more than 10,000 partitions."""
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
    """What it means for whoever asked that a topic was not created."""
    ours = translated(error, f"Creating topic '{topic.name}' (named by {topic.named_by})")
    if isinstance(ours, RetriableError):
        return ours
    if _NO_BROKER in error.str():
        return RetriableError(str(ours))
    if topic.words is not None:
        return ConnectError(topic.words(error))
    if error.code() != KafkaError.INVALID_REPLICATION_FACTOR:
        return ConnectError(str(ours))
    return ConnectError(
        f"{ours} {topic.replication_factor} replicas were asked for; set {topic.named_by.removesuffix('.name')}"
        f".replication.factor to what the cluster has, or -1 for its default."
    )


def _caused(error: ConnectError, cause: Exception) -> ConnectError:
    error.__cause__ = cause
    return error


def _raise_worst(errors: Sequence[ConnectError]) -> None:
    """Raise the first error that no retry changes, else the first."""
    if errors:
        raise next((e for e in errors if not isinstance(e, RetriableError)), errors[0])
