"""What is known of a group after a request that Kafka refuses, or has answered late."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException

from penstock.errors import ConnectError, Superseded
from penstock.sink import TopicPartition
from penstock_runtime.kafka import groups
from penstock_runtime.kafka.groups import GroupHasMembers, Groups
from penstock_runtime.kafka.settings import ClientSettings

POSITIONS = {TopicPartition("t", 0): 5}
MEMBERS, AWAY = KafkaError.UNKNOWN_MEMBER_ID, KafkaError.COORDINATOR_NOT_AVAILABLE


class Broker:
    """Answers each request to set or delete with the next of these codes; 0: it is done."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)

    def alter_consumer_group_offsets(
        self, requests: Sequence[ConsumerGroupTopicPartitions], request_timeout: float
    ) -> dict[str, Future[Any]]:
        return {requests[0].group_id: self._answer(requests[0])}

    def list_consumer_group_offsets(
        self, requests: Sequence[ConsumerGroupTopicPartitions], request_timeout: float
    ) -> dict[str, Future[Any]]:
        return self.alter_consumer_group_offsets(requests, request_timeout)

    def delete_consumer_groups(self, names: Sequence[str], request_timeout: float) -> dict[str, Future[Any]]:
        return {names[0]: self._answer(None)}

    def _answer(self, result: object) -> Future[Any]:
        answer: Future[Any] = Future()
        code = self.codes.pop(0)
        if code:
            answer.set_exception(KafkaException(KafkaError(code)))
        else:
            answer.set_result(result)
        return answer


def groups_at(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Groups:
    monkeypatch.setattr(groups, "AdminClient", lambda config: broker)
    monkeypatch.setattr(groups, "_PAUSE", 0.0)
    return Groups(ClientSettings(producer={}, consumer={}, admin={}))


def test_members_that_refuse_the_first_request_have_changed_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GroupHasMembers):
        groups_at(Broker(MEMBERS), monkeypatch).set("g", POSITIONS, lambda: None)
    with pytest.raises(GroupHasMembers):
        groups_at(Broker(KafkaError.NON_EMPTY_GROUP), monkeypatch).delete("g", lambda: None)


def test_members_that_refuse_a_repeated_request_do_not_say_that_nothing_was_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ConnectError, match="the group has members") as told:
        groups_at(Broker(AWAY, MEMBERS), monkeypatch).set("g", POSITIONS, lambda: None)
    assert not isinstance(told.value, GroupHasMembers)


def test_before_each_request_it_is_asked_whether_it_may_still_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(AWAY, 0)
    asked: list[int] = []

    def check() -> None:
        asked.append(1)
        if len(asked) > 1:
            raise Superseded("it was started since")

    with pytest.raises(Superseded):
        groups_at(broker, monkeypatch).delete("g", check)
    assert broker.codes == [0]
