"""Status topic, with the reports of tasks and the few records that the operator writes."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException

from penstock.errors import ConfigError, ConnectError
from penstock_kafka.compacted_reader import CompactedReader
from penstock_kafka.errors import kafka_error_of
from penstock_kafka.records import Entry
from penstock_kafka.topic_consumer import NoSuchTopic, TopicRecreated
from penstock_kafka.topic_position import TopicPosition
from penstock_model.backoff import ExponentialBackoff
from penstock_model.connect.status_records import ActiveTopic, Status
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.status_snapshot import StatusSnapshot, topic_marks
from penstock_model.contracts.task_reports import Claim, Control, Report, UsedTokens, control_key
from penstock_operator.errors import Unavailable
from penstock_operator.kafka.cleanup_policy import CleanupPolicy
from penstock_operator.kafka.clients import cluster_id, reader_clients
from penstock_operator.kafka.connectivity import ClientErrors, needs_other_settings, trouble_sentence
from penstock_operator.kafka.records import News, Records, is_report
from penstock_operator.kafka.writer import Writer
from penstock_operator.settings import Settings

__all__ = ["StatusTopic"]

log = logging.getLogger(__name__)

_PAUSE: Final = 1.0
"""Seconds before the topic is read again."""
_BACKOFF: Final = ExponentialBackoff(first=2.0, longest=15.0)
"""Pause between failed attempts to start reading."""
_PAUSE_WITHOUT_TOPIC: Final = 2.0
_POLL_SECONDS: Final = 1.0
_ANSWER_SECONDS: Final = 10.0
"""Seconds to wait for a response; more than `fetch.wait.max.ms`, since a request may wait for a pending fetch on its
connection.
"""
_CHECK: Final = 10.0
"""Seconds between checks of the topic. If Kafka does not respond, statuses report that after three times as long."""
_CHECK_IN_TROUBLE: Final = 2.0
_STATE_SECONDS: Final = 3.0
"""Seconds until a client gives up a state, before the caller of `write_states` resumes: a late state would be wrong."""
_SNAPSHOT: Final = 64 << 10
"""Maximum bytes of records in a job pod's request; a ConfigMap may have 1 MiB."""
_SNAPSHOT_OF_TASK: Final = 8 << 10


class StatusTopic:
    """Status topic, read by a separate thread, which keeps the latest record of each key that the operator uses.

    Reading starts immediately, whether Kafka can be reached or not. A topic that does not exist counts as empty: the first
    job pod creates it, which is detected within seconds. A topic that was recreated is read again. Methods that read may be
    called from any thread and never block; a written record is returned only after it was read back.

    Args:
        settings: settings of the release.
        on_change: called from the thread with a Connect name whose known records have changed.
        on_topics: called likewise if only its active topics have changed; None: `on_change`.
        on_progress: called likewise if only the time of the last record has changed; None: `on_change`.
        on_turn: called from the thread when `trouble`, `caught_up` or `policy_fault` has changed.
        on_report: called from the thread with the value of each report, in the order of the topic; again from the beginning
            if the topic is read again.
        permit: called before a write, with the seconds that it may take; raises if it must not be sent.
    """

    def __init__(
        self,
        settings: Settings,
        on_change: Callable[[str], None],
        *,
        on_topics: Callable[[str], None] | None = None,
        on_progress: Callable[[str], None] | None = None,
        on_turn: Callable[[], None] = lambda: None,
        on_report: Callable[[bytes], None] = lambda value: None,
        permit: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self._settings = settings
        self._topic = settings.worker_config.status_storage_topic
        self._servers = settings.at_start.config.bootstrap_servers or ""
        self._on_change = on_change
        self._on_news = {
            News.OTHER: on_change,
            News.TOPICS: on_topics or on_change,
            News.PROGRESS: on_progress or on_change,
        }
        self._on_turn = on_turn
        self._on_report = on_report
        self._lock = threading.Lock()
        self._records = Records()
        self._position: TopicPosition | None = None
        """Position up to which `_records` have been read."""
        self._exists = False
        self._stopping = threading.Event()
        self._hurry = threading.Event()
        self._looked = threading.Condition()
        self._looks = 0
        self._last_beat = time.monotonic()
        worker = settings.worker_now
        self._writer = Writer(worker, self._topic, self._sentence, permit=permit)
        self._state_writer = Writer(worker, self._topic, self._sentence, seconds=_STATE_SECONDS, permit=permit)
        self.trouble: str | None = f"Kafka at {self._servers} has not answered yet"
        self.caught_up = False
        self.cluster_id: str | None = None
        """Id of the Kafka cluster; None: it is unknown yet."""
        self.policy_fault: str | None = None
        """Message that the topic is not compacted and so loses records; None: it is compacted, or that is unknown."""
        self._policy = CleanupPolicy(self._topic)
        self._policy_at = 0.0
        self._thread = threading.Thread(target=self._run, name="status-topic", daemon=True)
        self._thread.start()

    @property
    def exists(self) -> bool:
        """Return whether the topic existed at the last check."""
        return self._exists

    def look(self, timeout: float = 5.0) -> bool:
        """Check now for a topic that did not exist; return whether it exists and has been read to the end. Blocks."""
        for _ in range(2):  # the first check may have started before this call
            with self._looked:
                seen = self._looks + 1
                self._hurry.set()
                self._looked.wait_for(lambda: self._exists or self._looks >= seen or self._stopping.is_set(), timeout)  # noqa: B023 (called immediately)
        return self._exists

    @property
    def turn_age(self) -> float:
        """Return the seconds since the last heartbeat of the thread, infinity if it has ended. A few seconds are normal."""
        return time.monotonic() - self._last_beat if self._thread.is_alive() else float("inf")

    def reports(self, connector: str) -> Mapping[int, Report]:
        """Return the latest report of each task by number, including those of ended tasks."""
        with self._lock:
            return self._records.reports(connector)

    def active_topics(self, connector: str) -> Sequence[ActiveTopic]:
        """Return the active topics of the connector, sorted by name."""
        with self._lock:
            return self._records.active_topics(connector)

    def control(self, connector: str) -> Control | None:
        """Return the latest control record for its running tasks."""
        with self._lock:
            return self._records.control(connector)

    def used_tokens(self, connector: str) -> UsedTokens:
        """Return the tokens of requests that were used under this name."""
        with self._lock:
            return self._records.used_tokens(connector)

    def claim(self, connector: str) -> Claim | None:
        """Return the latest claim of this name."""
        with self._lock:
            return self._records.claim(connector)

    def claimed(self, namespace: str, connector: str, uid: str) -> Collection[str]:
        """Return the Connect names that a Connector with this name or this uid claims."""
        with self._lock:
            return self._records.claimed(namespace, connector, uid)

    def epoch(self, connector: str) -> PlanEpoch | None:
        """Return the greatest epoch in its tasks' incarnation records; tasks with a smaller one stop."""
        with self._lock:
            return self._records.epoch(connector)

    def states(self, connector: str) -> Mapping[bytes, Status]:
        """Return Kafka Connect's states of the connector and its tasks by key, including those written by others."""
        with self._lock:
            return self._records.states(connector)

    def snapshot(self, connector: str, task: int | None = None) -> StatusSnapshot | None:
        """Return the known records of a connector and the current position, so that a pod can continue from there.

        Args:
            connector: Connect name.
            task: the task whose records are returned; None: those of all tasks, for a job pod that fences them.

        Returns:
            None: the topic was not read to the end, or the records are too large for a pod, which then reads the whole
            topic.
        """
        with self._lock:
            position = self._position
            if position is None:
                return None
            records = self._records.carried(connector, task)
            generation = max((r.epoch.generation for r in self._records.reports(connector).values()), default=0)
            topics = () if task is None else self._records.active_topics(connector)
        try:
            texts = tuple((key.decode(), value.decode()) for key, value in records)
        except UnicodeDecodeError:
            return None
        if sum(len(key) + len(value) for key, value in records) > (_SNAPSHOT if task is None else _SNAPSHOT_OF_TASK):
            return None
        return StatusSnapshot(
            topic_id=position.topic_id,
            ends=position.ends,
            records=texts,
            generation=generation,
            topics=topic_marks(t.name for t in topics),
        )

    def names(self) -> Collection[str]:
        """Return every Connect name with reports, a control record or a claim."""
        with self._lock:
            return self._records.names()

    def write(self, entries: Sequence[Entry], timeout: float = 5.0) -> None:
        """Write records and wait until all in-sync replicas have them.

        Raises:
            Unavailable: they were not acknowledged in time, or refused; they may still be written later.
        """
        self._write(self._writer, entries, timeout)

    def write_states(self, entries: Sequence[Entry]) -> None:
        """Write Kafka Connect's states in order; afterwards, `states` includes them.

        Raises:
            Unavailable: they were not acknowledged in time, or refused; only those in flight may still be written later.
        """
        self._write(self._state_writer, entries, _STATE_SECONDS + 1.0)
        with self._lock:
            for key, value in entries:
                self._records.put(key, value)

    def _write(self, writer: Writer, entries: Sequence[Entry], timeout: float) -> None:
        if not entries:
            return
        if not self._exists:  # for a producer, the broker might create the topic with its defaults, not compacted
            raise Unavailable(self.trouble or f"Topic {self._topic} does not exist yet")
        try:
            writer.write(entries, timeout)
        except ConfigError as e:
            raise Unavailable(f"cannot resolve the worker configuration: {e}") from e

    def forget(self, connector: str) -> None:
        """Remove all records of a connector: reports, control record, claim, active topics and Kafka Connect's states.

        Raises:
            Unavailable: as for `write`.
        """
        with self._lock:
            keys = self._records.keys(connector)
        self.write([(key, None) for key in keys])

    def reset_topics(self, connector: str, control: Control) -> None:
        """Remove a connector's active topics, and then notify its tasks with a control record (KIP-558).

        The order ensures that no topic is lost that a task records when it is notified. The known records include both
        immediately, so that a task that starts next does not receive a removed topic.

        Raises:
            Unavailable: as for `write`; some topics may already be removed, and the tasks are not notified.
        """
        with self._lock:
            removed: list[Entry] = [(key, None) for key in self._records.topic_keys(connector)]
        notified: list[Entry] = [(control_key(connector), control.to_value())]
        for entries in (removed, notified):
            self.write(entries)
            with self._lock:
                for key, value in entries:
                    self._records.put(key, value)

    def close(self, timeout: float = 5.0) -> None:
        """Stop reading and close the connections."""
        self._stopping.set()
        self._hurry.set()
        self._thread.join(timeout)
        self._writer.close()
        self._state_writer.close()

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            begun = time.monotonic()
            try:
                self._follow()
            except ConfigError as e:
                self._set_trouble(f"cannot resolve the worker configuration: {e}")
            except Exception:
                log.exception("Cannot read the status topic; retrying")
                self._set_trouble("cannot read the status topic: internal error; see the operator's log")
            failures = 0 if time.monotonic() - begun > _BACKOFF.longest else failures + 1
            self._beat()
            self._stopping.wait(_PAUSE if self.trouble is None or not failures else _BACKOFF.pause(failures))

    def _follow(self) -> None:
        """Read until the operator stops, or an error requires clients with other properties."""
        worker = self._settings.worker_now()
        self._servers = worker.config.bootstrap_servers or ""
        errors = ClientErrors()

        def answered() -> None:
            errors.clear()
            self._set_trouble(None)

        reader = CompactedReader(
            reader_clients(worker, errors.add),
            self._topic,
            check_seconds=_CHECK_IN_TROUBLE,
            answer_seconds=_ANSWER_SECONDS,
            awaits_every_end=True,
            detects_recreation=True,
            on_answer=answered,
        )
        records, beginnings = Records(), 0
        admin = reader_clients(worker, errors.add).admin
        with reader:
            while not self._stopping.is_set():
                entries: Sequence[Entry] = ()
                wait = 0.0
                error: KafkaError | None = None
                try:
                    entries = reader.poll(_POLL_SECONDS)
                except NoSuchTopic:
                    answered()
                    self._exists = False
                    self._show(Records(), None)
                    wait = _PAUSE_WITHOUT_TOPIC
                except TopicRecreated as e:
                    log.debug("Reading the status topic again: %s", e)
                    wait = _PAUSE
                except ConnectError as e:
                    error, wait = kafka_error_of(e), _PAUSE_WITHOUT_TOPIC
                    if error is None:
                        self._set_trouble(str(e))
                error = errors.cause(error)
                if error is not None:
                    self._set_trouble(self._sentence(error))
                    if needs_other_settings(error):
                        return
                self._beat()
                if reader.beginnings != beginnings:
                    records, beginnings = Records(), reader.beginnings
                    self._policy_at = 0.0  # it may be another topic
                self._take(records, entries, reader)
                reader.check_seconds = _CHECK if reader.caught_up and self.trouble is None else _CHECK_IN_TROUBLE
                if reader.caught_up and self.trouble is None:
                    self._check_policy(admin)
                if wait:
                    self._has_looked()
                    if self._hurry.wait(wait) and not self._stopping.is_set():
                        self._hurry.clear()

    def _take(self, records: Records, entries: Sequence[Entry], reader: CompactedReader) -> None:
        """Add entries to the records read since the reader last started from the beginning of the topic.

        Publish these records once the reader has caught up.
        """
        if records is self._records:
            news: dict[str, News] = {}
            with self._lock:
                for key, value in entries:
                    about = records.news(key, value)
                    if (name := self._put(records, key, value)) is not None:
                        news[name] = max(about, news.get(name, about))
                self._position = reader.position
            for name, about in news.items():
                self._on_news[about](name)
            return
        for key, value in entries:
            self._put(records, key, value)
        if reader.caught_up:
            self._exists = True
            self._show(records, reader.position)
            self._has_looked()

    def _put(self, records: Records, key: bytes, value: bytes | None) -> str | None:
        """Put a record. Anyone may have written it, so an unreadable one must not prevent others from being read."""
        name = None
        try:
            name = records.put(key, value)
            if value is not None and is_report(key):
                self._on_report(value)
        except Exception:
            log.exception("Skipping an unreadable record of the status topic: key %.200r", key)
        return name

    def _has_looked(self) -> None:
        with self._looked:
            self._looks += 1
            self._looked.notify_all()

    def _show(self, records: Records, position: TopicPosition | None) -> None:
        """Replace the known records, and report the names whose records differ."""
        with self._lock:
            before, self._records, self._position = self._records, records, position
        for name in {*before.all_names(), *records.all_names()}:
            if not before.same(records, name):
                self._on_change(name)
        if not (self.caught_up and self.trouble is None):
            self.caught_up = True
            self._set_trouble(None)
            self._on_turn()

    def _set_trouble(self, trouble: str | None) -> None:
        if trouble == self.trouble:
            return
        before, self.trouble = self.trouble, trouble
        if trouble is not None:
            log.warning("%s", trouble)
        elif before is not None:
            log.info("Connected to Kafka at %s", self._servers)
        self._on_turn()

    def _check_policy(self, admin: Mapping[str, Any]) -> None:
        """Check whether the topic is compacted, if a check is due."""
        if time.monotonic() < self._policy_at:
            return
        self._policy_at = time.monotonic() + _CHECK
        try:
            fault = self._policy.fault(admin)
            self.cluster_id = self.cluster_id or cluster_id(admin)
        except (KafkaException, TimeoutError) as e:  # the reader reports any problem with Kafka
            log.debug("Cannot determine the cleanup.policy of the status topic: %s", e)
            return
        if fault == self.policy_fault:
            return
        self.policy_fault = fault
        if fault is not None:
            log.error("%s", fault)
        else:
            log.info("Topic %s is compacted", self._topic)
        self._on_turn()

    def _beat(self) -> None:
        self._last_beat = time.monotonic()

    def _sentence(self, error: KafkaError) -> str:
        return trouble_sentence(error, self._servers, self._topic, self._settings.at_start.redact)
