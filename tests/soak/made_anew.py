"""A world whose topics are deleted and made anew: the sink's, and the one of states and incarnations."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka.admin import AdminClient
from tests.integration.reading import create, delete
from tests.integration.running import until

from . import invariants
from .plan import Action, Step
from .runs import ConnectorRuns
from .sinks import RACES, TOPIC, FileSinkWorld
from .world import BROKER, RUNS, SPARK, WORKER, Undo, alter

__all__ = ["MadeAnewWorld"]

_STATUS: Final = "status"
_EACH: Final = 100
"""More partitions than a topic ever has: stream 203 is partition 3 of the topic that was made as the third."""


class MadeAnewWorld(FileSinkWorld):
    """What a topic held that is deleted may be lost; of its successor nothing is, however soon that comes."""

    name: ClassVar = "made-anew"
    actions: ClassVar[tuple[Action, ...]] = (
        *BROKER,
        *RUNS,
        *SPARK,
        *RACES,
        Action("topic made anew", 4, lasts=(0, 10)),
        Action("topic made anew at once", 2),
        Action("status topic made anew", 2),
    )

    def prepare(self) -> None:
        super().prepare()
        self._topics = 0
        self._is_gone = False
        self.write(3_000)

    def connected(self) -> ConnectorRuns:
        return self.runs_with({**WORKER, "status.storage.topic": _STATUS, "status.storage.partitions": "1"})

    def acknowledged(self, error: KafkaError | None, message: Message) -> None:
        if not self._is_gone:
            super().acknowledged(error, message)

    def stream(self, partition: int) -> int:
        return self._topics * _EACH + partition

    def load(self) -> None:
        if not self._is_gone:
            super().load()

    @property
    def sent(self) -> int:
        """Of topics that are gone as much as is there."""
        return sum(self._next.values()) + sum(len(f) for s, f in self._found.items() if not self._is_of_now(s))

    def settled(self) -> bool:
        return not self._is_gone and super().settled()

    def check(self) -> list[str]:
        return [] if self._is_gone else super().check()

    def holds(self, streams: Mapping[int, Sequence[int]]) -> list[str]:
        before = {s: numbers for s, numbers in streams.items() if not self._is_of_now(s)}
        now = {s: numbers for s, numbers in streams.items() if self._is_of_now(s)}
        return [*invariants.no_gap(before), *super().holds(now)]

    def do_topic_made_anew(self, step: Step) -> Undo | None:
        """A while without it."""
        if self.hindered_at_kafka or self._is_gone:
            return None
        self._delete()

        def make() -> None:
            self.broker_back()
            self._make()

        return make

    def do_topic_made_anew_at_once(self, step: Step) -> None:
        """The next one has as many records as the last, or more, before anybody can see that one is gone."""
        if self.hindered_at_kafka or self._is_gone:
            return
        held = sum(self._next.values())
        self._delete()
        self._make()
        self.write(min(self.most_ahead, int(held * (0.5 + step.choice))))

    def do_status_topic_made_anew(self, step: Step) -> None:
        """By hand, or by a tool that keeps topics as they are described. A run that has just seen to it leaves with 5."""
        if self.hindered_at_kafka or not all(run.states for run in self.runs.alive):
            return
        _remove(self.broker.bootstrap_servers, _STATUS)
        _add(self.broker.bootstrap_servers, _STATUS, cleanup_policy="compact")

    def close(self) -> None:
        if self._is_gone:
            self._producer = self.new_producer()
        super().close()

    def _delete(self) -> None:
        self._is_gone = True
        self._producer.purge()
        self._producer.flush(5)
        self._producer.close()
        _remove(self.broker.bootstrap_servers, TOPIC)

    def _make(self) -> None:
        _add(self.broker.bootstrap_servers, TOPIC, self.partitions, max_message_bytes=str(2 << 20))
        self._topics += 1
        self._next = dict.fromkeys(range(self.partitions), 0)
        self._producer = self.new_producer()
        self._is_gone = False

    def _is_of_now(self, stream: int) -> bool:
        return stream // _EACH == self._topics


def _remove(servers: str, topic: str) -> None:
    """And wait until nobody is told of it any more; where no task has made it yet, that is so."""
    try:
        delete(servers, topic)
    except KafkaException as e:
        if e.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise
    admin = AdminClient({"bootstrap.servers": servers})
    until(lambda: topic not in admin.list_topics(timeout=10).topics)


def _add(servers: str, topic: str, partitions: int = 1, **config: str) -> None:
    """Where the tasks' clients have made it by then, as brokers make topics by themselves, it is put right."""
    try:
        create(servers, topic, partitions, **config)
    except KafkaException as e:
        if e.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        for name, value in config.items():
            alter(servers, topic, name.replace("_", "."), value)
    admin = AdminClient({"bootstrap.servers": servers})
    until(lambda: topic in (topics := admin.list_topics(timeout=10).topics) and topics[topic].partitions)
