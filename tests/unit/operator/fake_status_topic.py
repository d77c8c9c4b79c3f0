"""The status topic in memory, in place of `StatusTopic`: the records are the real ones, and read as the real ones are."""

from collections.abc import Callable, Collection, Mapping, Sequence

from penstock_kafka.records import Entry
from penstock_model.connect.status_records import ActiveTopic, Status
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.task_reports import Claim, Control, Report, UsedTokens, control_key
from penstock_operator.errors import Unavailable
from penstock_operator.kafka import StatusTopic
from penstock_operator.kafka.records import Records

__all__ = ["FakeStatusTopic"]


class FakeStatusTopic(StatusTopic):
    """A status topic that is read and written without delay. For one thread.

    Attributes:
        trouble: why Kafka does not answer; set by tests.
        caught_up: whether the topic was read to its end; set by tests.
        before_write: called before the operator writes; what it raises ends the write.
        written: what the operator wrote, in order.

    Args:
        exists: whether the topic exists; `put` creates it, as a job pod that prepares does.
    """

    def __init__(self, *, exists: bool = False) -> None:
        self._topic_records = Records()
        self._is_there = exists
        self._unread: list[Entry] | None = None
        self.trouble = None
        self.policy_fault = None
        self.caught_up = True
        self.before_write: Callable[[], None] = lambda: None
        self.written: list[Entry] = []

    # What others do

    def put(self, key: bytes, value: bytes | None) -> None:
        """Another process writes a record."""
        self._is_there = True
        if self._unread is None:
            self._topic_records.put(key, value)
        else:
            self._unread.append((key, value))

    def fall_behind(self) -> None:
        """Show no record of others from now on, as where the operator has not read them yet."""
        self._unread = self._unread or []

    def catch_up(self) -> None:
        """Show all records."""
        unread, self._unread = self._unread or [], None
        for key, value in unread:
            self._topic_records.put(key, value)

    # What the operator calls

    @property
    def exists(self) -> bool:
        return self._is_there

    def look(self, timeout: float = 5.0) -> bool:
        return self._is_there

    @property
    def turn_age(self) -> float:
        return 0.0

    def reports(self, connector: str) -> Mapping[int, Report]:
        return self._topic_records.reports(connector)

    def active_topics(self, connector: str) -> Sequence[ActiveTopic]:
        return self._topic_records.active_topics(connector)

    def control(self, connector: str) -> Control | None:
        return self._topic_records.control(connector)

    def used_tokens(self, connector: str) -> UsedTokens:
        return self._topic_records.used_tokens(connector)

    def claim(self, connector: str) -> Claim | None:
        return self._topic_records.claim(connector)

    def claimed(self, namespace: str, connector: str, uid: str) -> Collection[str]:
        return self._topic_records.claimed(namespace, connector, uid)

    def epoch(self, connector: str) -> PlanEpoch | None:
        return self._topic_records.epoch(connector)

    def states(self, connector: str) -> Mapping[bytes, Status]:
        return self._topic_records.states(connector)

    def snapshot(self, connector: str, task: int | None = None) -> StatusSnapshot | None:
        return None  # the pod reads all of the topic

    def names(self) -> Collection[str]:
        return self._topic_records.names()

    def write(self, entries: Sequence[Entry], timeout: float = 5.0) -> None:
        if not entries:
            return
        if self.trouble is not None or not self._is_there:
            raise Unavailable(self.trouble or "Topic connect-status does not exist yet")
        self.before_write()
        for key, value in entries:
            self._topic_records.put(key, value)
            self.written.append((key, value))

    def write_states(self, entries: Sequence[Entry]) -> None:
        self.write(entries)

    def forget(self, connector: str) -> None:
        self.write([(key, None) for key in self._topic_records.keys(connector)])

    def reset_topics(self, connector: str, control: Control) -> None:
        self.write([(key, None) for key in self._topic_records.topic_keys(connector)])
        self.write([(control_key(connector), control.to_value())])

    def close(self, timeout: float = 5.0) -> None:
        pass
