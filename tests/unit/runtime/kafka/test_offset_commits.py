"""A commit of offsets that its broker does not answer is given up in time, and nothing is committed behind its back."""

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as Position

from penstock import ConnectError, RetriableError, TopicPartition
from penstock_runtime.kafka import offset_commits
from penstock_runtime.kafka.offset_commits import GroupCommits

P, Q = TopicPartition("t", 0), TopicPartition("u", 1)


class Client:
    """A client whose broker answers when `answers` says so."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.sent: list[dict[TopicPartition, int]] = []
        self.answers: Callable[[], KafkaError | None] | None = lambda: None
        self.refuses: KafkaError | None = None
        self.now = 0.0
        self.closed = False
        self._asked: list[Position] = []

    def commit(self, *, offsets: list[Position], asynchronous: bool) -> None:
        assert asynchronous
        if self.refuses is not None:
            raise KafkaException(self.refuses)
        self.sent.append({TopicPartition(p.topic, p.partition): p.offset for p in offsets})
        self._asked = offsets

    def poll(self, seconds: float) -> None:
        self.now += seconds
        if self.answers is not None and self._asked:
            asked, self._asked = self._asked, []
            self.config["on_commit"](self.answers(), asked)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Client]:
    clients: list[Client] = []

    def make(config: dict[str, Any]) -> Client:
        clients.append(Client(config))
        return clients[-1]

    monkeypatch.setattr(offset_commits, "Consumer", make)
    return clients


@pytest.fixture
def group(made: list[Client]) -> GroupCommits:
    return GroupCommits(
        {"group.id": "connect-c", "bootstrap.servers": "b:1"}, clock=lambda: made[0].now if made else 0.0
    )


def test_an_answered_commit_is_through(group: GroupCommits, made: list[Client]) -> None:
    group.commit({P: 5, Q: 7})
    assert made[0].sent == [{P: 5, Q: 7}]
    group.close()
    assert made[0].closed


def test_one_without_an_answer_is_given_up_and_says_why(group: GroupCommits, made: list[Client]) -> None:
    group.commit({P: 1})
    made[0].answers = None
    made[0].config["error_cb"](KafkaError(KafkaError._ALL_BROKERS_DOWN))  # of long ago
    before = made[0].now
    with pytest.raises(RetriableError, match=r"to group 'connect-c' at b:1: no answer for 10 s$"):
        group.commit({P: 2})
    assert 10 < made[0].now - before < 11
    group.close()
    assert not made[0].closed  # the client would wait for the answer


def test_the_next_is_not_sent_before_the_one_that_was_given_up_is_answered(
    group: GroupCommits, made: list[Client]
) -> None:
    group.commit({P: 1})
    client = made[0]
    client.answers = None
    for offset in (2, 3):
        with pytest.raises(RetriableError):
            group.commit({P: offset})
    assert client.sent == [{P: 1}, {P: 2}]
    client.answers = lambda: None
    group.commit({P: 3})
    assert client.sent == [{P: 1}, {P: 2}, {P: 3}]


@pytest.mark.parametrize("well", [True, False])
def test_a_late_answer_for_the_same_offsets_counts_when_it_is_a_good_one(
    group: GroupCommits, made: list[Client], *, well: bool
) -> None:
    group.commit({P: 1})
    client = made[0]
    client.answers = None
    with pytest.raises(RetriableError):
        group.commit({P: 2})
    answers = [None if well else KafkaError(KafkaError.NOT_COORDINATOR), None]
    client.answers = lambda: answers.pop(0)
    group.commit({P: 2})
    assert client.sent[1:] == ([{P: 2}] if well else [{P: 2}, {P: 2}])


def test_what_the_client_does_not_take_is_not_waited_for(group: GroupCommits, made: list[Client]) -> None:
    group.commit({P: 1})
    made[0].refuses = KafkaError(KafkaError._STATE)
    with pytest.raises(ConnectError):
        group.commit({P: 2})
    made[0].refuses = None
    group.commit({P: 2})
    assert made[0].sent == [{P: 1}, {P: 2}]


def test_a_group_with_members_belongs_to_somebody_else(group: GroupCommits, made: list[Client]) -> None:
    group.commit({P: 1})
    made[0].answers = lambda: KafkaError(KafkaError.UNKNOWN_MEMBER_ID)
    with pytest.raises(ConnectError, match="the group has members, so another client") as caught:
        group.commit({P: 2})
    assert not isinstance(caught.value, RetriableError)
