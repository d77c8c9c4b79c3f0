"""Consumer groups: what one has committed, who is a member of it, and its end."""

import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from penstock.errors import ConnectError, RetriableError
from penstock.sink import TopicPartition
from penstock_kafka.errors import translated
from penstock_runtime.kafka.connectivity import connection_properties
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["Groups"]

T = TypeVar("T")
_SECONDS: Final = 20.0
_PAUSE: Final = 0.3


class Groups:
    """The groups of the cluster that these settings' consumers read from, reached as an admin client of theirs would."""

    def __init__(self, settings: ClientSettings) -> None:
        config = {**settings.for_admin(), **connection_properties(settings.consumer)}
        self._servers = str(config.get("bootstrap.servers", ""))
        try:
            self._client = AdminClient(config)
        except KafkaException as e:
            raise translated(e.args[0], f"Starting an admin client for Kafka at {self._servers}") from e

    def partitions(self, group: str) -> list[TopicPartition]:
        """The partitions that a group has committed; none of one that does not exist.

        Raises:
            RetriableError: Kafka did not answer in time.
            ConnectError: not authorised, say.
        """

        def _ask() -> list[TopicPartition]:
            asked = [ConsumerGroupTopicPartitions(group)]
            found: Any = self._client.list_consumer_group_offsets(asked, request_timeout=_SECONDS)[group].result()
            return [TopicPartition(p.topic, p.partition) for p in found.topic_partitions or () if p.offset >= 0]

        return self._asked(f"Asking for the offsets of consumer group '{group}'", _ask, [])

    def members(self, group: str) -> list[str] | None:
        """The members of a group of either protocol, `<client id> at <host>`; None where that may not be asked.

        Raises:
            RetriableError: Kafka did not answer in time.
            ConnectError: it refuses.
        """

        def _ask() -> list[str] | None:
            try:
                found = self._client.describe_consumer_groups([group], request_timeout=_SECONDS)[group].result()
            except KafkaException as e:
                if e.args[0].code() in (KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
                    return None
                raise
            return sorted({f"{m.client_id} at {m.host.removeprefix('/')}" for m in found.members})

        nobody: list[str] | None = []
        return self._asked(f"Asking for the members of consumer group '{group}'", _ask, nobody)

    def delete(self, group: str) -> bool:
        """Delete a group, with all that it has committed; whether there was one.

        Raises:
            RetriableError: Kafka did not answer in time.
            ConnectError: it has members, or that is not authorised.
        """

        def _ask() -> bool:
            self._client.delete_consumer_groups([group], request_timeout=_SECONDS)[group].result()
            return True

        return self._asked(f"Deleting consumer group '{group}'", _ask, False)

    def _asked(self, doing: str, ask: Callable[[], T], none: T) -> T:
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                return ask()
            except KafkaException as e:
                error = e.args[0]
                if error.code() == KafkaError.GROUP_ID_NOT_FOUND:
                    return none
                if error.code() == KafkaError.NON_EMPTY_GROUP:
                    raise ConnectError(
                        f"{doing}: it has members. Somebody else reads with this group, or a task of Kafka Connect still "
                        f"runs; stop it, then reset again."
                    ) from e
                ours = translated(error, doing)
                if not isinstance(ours, RetriableError) or time.monotonic() > deadline:
                    raise ours from e
                time.sleep(_PAUSE)  # a coordinator that is just being made
