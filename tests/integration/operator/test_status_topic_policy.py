"""The cleanup.policy of the status topic, on a real broker: noticed, set back where that is safe, and otherwise reported."""

import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from penstock_operator.kafka import StatusTopic, status_topic

from .test_status_topic import settings

SECONDS = 60.0


class Broker:
    """What an administrator does with the topic."""

    def __init__(self, servers: str, topic: str) -> None:
        self.topic = topic
        self._admin = AdminClient({"bootstrap.servers": servers})

    def create(self, policy: str) -> None:
        new = NewTopic(self.topic, 1, 1, config={"cleanup.policy": policy})
        self._admin.create_topics([new])[self.topic].result(30)

    def delete(self) -> None:
        self._admin.delete_topics([self.topic])[self.topic].result(30)

    def set(self, policy: str) -> None:
        entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
        of = ConfigResource(ResourceType.TOPIC, self.topic, incremental_configs=[entry])
        self._admin.incremental_alter_configs([of])[of].result(30)

    @property
    def policy(self) -> str:
        of = ConfigResource(ResourceType.TOPIC, self.topic)
        try:
            return str(self._admin.describe_configs([of])[of].result(30)["cleanup.policy"].value)
        except KafkaException:  # just created: not every broker knows it yet
            return ""


class Watched:
    """The operator's status topic."""

    def __init__(self, servers: str, topic: str) -> None:
        self._turned = threading.Condition()
        self.status = StatusTopic(settings(servers, topic), lambda name: None, on_turn=self._turn)

    def _turn(self) -> None:
        with self._turned:
            self._turned.notify_all()

    def until_fault(self, *, there: bool) -> str | None:
        with self._turned:
            assert self._turned.wait_for(lambda: (self.status.policy_fault is not None) is there, SECONDS)
        return self.status.policy_fault

    def until_checked(self) -> None:
        """Wait until the policy was seen."""
        with self._turned:
            assert self._turned.wait_for(lambda: self.status._policy._was_compacted or self._turned.wait(0.1), SECONDS)


@pytest.fixture
def broker(kafka: str, topic: str) -> Broker:
    return Broker(kafka, topic)


@pytest.fixture
def watch(kafka: str, topic: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setattr(status_topic, "_CHECK", 1.0)
    watched = Watched(kafka, topic)
    yield watched
    watched.status.close()


def test_a_topic_that_was_never_compacted_is_reported_and_left_as_it_is_until_somebody_sets_it(
    broker: Broker, watch: Watched
) -> None:
    broker.create("delete")
    fault = watch.until_fault(there=True)
    assert fault is not None
    assert "its cleanup.policy is delete" in fault
    assert f"--entity-name {broker.topic} --add-config cleanup.policy=compact" in fault
    assert broker.policy == "delete"
    broker.set("compact")
    watch.until_fault(there=False)


@pytest.mark.slow  # the operator looks once a minute
def test_a_topic_that_was_compacted_and_is_recreated_without_that_is_set_back(broker: Broker, watch: Watched) -> None:
    broker.create("compact")
    watch.until_checked()
    broker.delete()
    broker.create("delete")
    with watch._turned:
        assert watch._turned.wait_for(lambda: broker.policy == "compact" or watch._turned.wait(0.5), SECONDS)
    assert watch.status.policy_fault is None
