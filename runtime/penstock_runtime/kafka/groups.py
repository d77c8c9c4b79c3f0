"""Read the offsets and members of consumer groups, set offsets, and delete groups."""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeVar

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient

from penstock.errors import ConnectError, RetriableError
from penstock.sink import TopicPartition
from penstock_kafka.errors import translated
from penstock_kafka.offset_deletion import delete_offsets
from penstock_runtime.kafka.connectivity import connection_properties
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["GroupHasMembers", "Groups"]

T = TypeVar("T")
_SECONDS: Final = 20.0
_PAUSE: Final = 0.3


_OF_MEMBERS: Final = (
    KafkaError.NON_EMPTY_GROUP,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.GROUP_SUBSCRIBED_TO_TOPIC,
)
"""Error codes for changes to a group that has members."""


class GroupHasMembers(ConnectError):
    """Raised when the group has members; Kafka has changed nothing."""


class Groups:
    """Client for the consumer groups of the cluster that consumers with these settings read from.

    Uses the admin client's properties with the consumers' connection.
    """

    def __init__(self, settings: ClientSettings) -> None:
        config = {**settings.for_admin(), **connection_properties(settings.consumer)}
        self._config = config
        self._servers = str(config.get("bootstrap.servers", ""))
        try:
            self._client = AdminClient(config)
        except KafkaException as e:
            raise translated(e.args[0], f"Starting an admin client for Kafka at {self._servers}") from e

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """Return the offsets that a group has committed; none if the group does not exist.

        Raises:
            RetriableError: Kafka did not answer in time.
            ConnectError: another failure, such as missing authorization.
        """

        def _request() -> dict[TopicPartition, int]:
            request = [ConsumerGroupTopicPartitions(group)]
            answer: Any = self._client.list_consumer_group_offsets(request, request_timeout=_SECONDS)[group].result()
            return {
                TopicPartition(p.topic, p.partition): p.offset for p in answer.topic_partitions or () if p.offset >= 0
            }

        return self._retried(f"Fetching the offsets of consumer group '{group}'", _request, {})

    def members(self, group: str) -> list[str] | None:
        """Return the members of a group of either protocol as `<client id> at <host>`; None if not authorized.

        Raises:
            RetriableError: Kafka did not answer in time.
            ConnectError: Kafka refused.
        """

        def _request() -> list[str] | None:
            try:
                description = self._client.describe_consumer_groups([group], request_timeout=_SECONDS)[group].result()
            except KafkaException as e:
                if e.args[0].code() in (KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED):
                    return None
                raise
            return sorted({f"{m.client_id} at {m.host.removeprefix('/')}" for m in description.members})

        no_members: list[str] | None = []
        return self._retried(f"Fetching the members of consumer group '{group}'", _request, no_members)

    def delete(self, group: str, check: Callable[[], None]) -> bool:
        """Delete a group and its offsets; return whether it existed. `check` is called before each request.

        Raises:
            RetriableError: Kafka did not answer in time.
            GroupHasMembers: nothing was deleted.
            ConnectError: another failure, such as missing authorization.
        """

        def _request() -> bool:
            self._client.delete_consumer_groups([group], request_timeout=_SECONDS)[group].result()
            return True

        return self._retried(f"Deleting consumer group '{group}'", _request, False, check)

    def set(self, group: str, offsets: Mapping[TopicPartition, int], check: Callable[[], None]) -> None:
        """Commit offsets for a group without members, and read them back. The group need not exist.

        Args:
            group: id of the group.
            offsets: offsets to set; those of other partitions are unchanged.
            check: called before each request.

        Raises:
            RetriableError: Kafka did not answer in time; some offsets may be set.
            GroupHasMembers: nothing was set.
            ConnectError: another failure, such as missing authorization, or other offsets were read back; some offsets may
                be set.
        """
        doing = f"Setting offsets of consumer group '{group}'"

        def _request() -> None:
            positions = [Position(p.topic, p.partition, offset) for p, offset in offsets.items()]
            request = [ConsumerGroupTopicPartitions(group, positions)]
            answer: Any = self._client.alter_consumer_group_offsets(request, request_timeout=_SECONDS)[group].result()
            for p in answer.topic_partitions:
                if p.error is not None:
                    raise KafkaException(p.error)

        self._retried(doing, _request, None, check)
        found = self.committed(group)
        if other := [f"{p.topic}-{p.partition}" for p, offset in offsets.items() if found.get(p) != offset]:
            raise ConnectError(
                f"{doing}: offsets were set, but other offsets were read back for {', '.join(other[:3])}; look for another "
                f"consumer that commits to this group."
            )

    def remove(self, group: str, partitions: Collection[TopicPartition], check: Callable[[], None]) -> None:
        """Delete the offsets of these partitions of a group without members, and verify the deletion. Other offsets stay.

        Raises:
            RetriableError: Kafka did not answer in time; some offsets may be deleted.
            GroupHasMembers: nothing was deleted.
            ConnectError: another failure, such as missing authorization, or some offsets still exist.
        """
        doing = f"Deleting offsets of consumer group '{group}'"

        def _request() -> None:
            try:
                delete_offsets(self._config, group, partitions, seconds=_SECONDS)
            except KafkaException as e:
                if e.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:  # Kafka deleted the offsets with the topic
                    raise

        self._retried(doing, _request, None, check)
        found = self.committed(group)
        if left := [f"{p.topic}-{p.partition}" for p in partitions if p in found]:
            raise ConnectError(
                f"{doing}: offsets were deleted, but were read back for {', '.join(left[:3])}; look for another consumer "
                f"that commits to this group."
            )

    def _retried(self, doing: str, request: Callable[[], T], none: T, check: Callable[[], None] = lambda: None) -> T:
        deadline = time.monotonic() + _SECONDS
        refusal: type[ConnectError] = GroupHasMembers
        while True:
            check()
            try:
                return request()
            except KafkaException as e:
                error = e.args[0]
                if error.code() == KafkaError.GROUP_ID_NOT_FOUND:
                    return none
                if error.code() in _OF_MEMBERS:
                    raise refusal(
                        f"{doing}: the group has members, because another consumer uses it or a Kafka Connect task is still "
                        f"running; stop it, then try again."
                    ) from e
                ours = translated(error, doing)
                if not isinstance(ours, RetriableError) or time.monotonic() > deadline:
                    raise ours from e
                refusal = ConnectError  # an earlier request may have taken effect
                time.sleep(_PAUSE)  # the coordinator is being elected
