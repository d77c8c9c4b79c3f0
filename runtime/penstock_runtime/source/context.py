"""Context of a source task's process: adds offsets, transactions and topics to the shared context."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final, cast

from penstock import _returned as returned
from penstock.errors import ConfigError
from penstock.source import PartitionReader, PollingSource, Source, SourceConnector
from penstock_model.connect.connector_config import SinkConfig, SourceConfig
from penstock_model.connect.topic_creation_rules import TopicRules
from penstock_model.connect.topic_limits import TopicLimits
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.topic_policy import TopicPolicy
from penstock_runtime.fencing.incarnation import TaskFence
from penstock_runtime.java_plugins.classes import JavaSourceConnector
from penstock_runtime.java_plugins.placements import Placements
from penstock_runtime.java_plugins.source import JavaSource
from penstock_runtime.kafka.admin import cluster_id
from penstock_runtime.kafka.producer import write_alone
from penstock_runtime.kafka.topic_creation import TopicCreator
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.source.delivery import Delivery
from penstock_runtime.source.source_process import SourceProcess
from penstock_runtime.source.transaction_boundary import TransactionBoundary

__all__ = ["SourceContext"]

_DAY: Final = 86_400.0  # seconds


@dataclass(frozen=True, eq=False)
class SourceContext(TaskContext):
    """Context of a source task."""

    framework: SourceConfig

    @staticmethod
    def parse_framework(config: Mapping[str, str]) -> SourceConfig:
        """See `TaskContext.parse_framework`."""
        return SourceConfig.parse(config)

    @staticmethod
    def is_exactly_once(framework: SourceConfig | SinkConfig, worker: WorkerConfig) -> bool:
        """Return whether the worker enables exactly-once delivery and the connector does not request less."""
        return (
            isinstance(framework, SourceConfig)
            and worker.exactly_once
            and framework.delivery_guarantee != "at-least-once"
        )

    @cached_property
    def connector(self) -> SourceConnector:
        """Connector plugin."""
        return cast("SourceConnector", self.plugin())

    @property
    def batch_timeout(self) -> float:
        """Seconds after which a batch on Spark counts as lost: a transaction would have timed out by then.

        With at-least-once delivery, no transaction sets a limit, and Spark detects a worker that dies. Only on a cluster may
        a worker hang unnoticed.
        """
        has_limit = self.exactly_once or self.spec.spark_cluster is not None
        return self.transaction_timeout + 5 if has_limit else _DAY

    def transactional_fence(self) -> TaskFence | None:
        """Return the fence of a task that writes in transactions; None with at-least-once delivery."""
        if not self.exactly_once:
            return None
        incarnation = replace(self.incarnation, slots=2 * self.cores)  # as many free slots as slots that workers hold
        return TaskFence(self.settings, self.shared, self.status_topic, self.ids, incarnation, known=self.spec.status)

    @property
    def offsets_topic(self) -> str:
        """Topic to which this connector's offsets are written: its own topic, or the worker's."""
        return self.framework.offsets_storage_topic or self.worker.offset_storage_topic

    @cached_property
    def own_offsets(self) -> bool:
        """Return whether offsets are stored outside of the worker's topic: in another topic, or on another cluster.

        Raises:
            RetriableError, ConnectError: as `cluster_id`, which is called with exactly-once delivery if the bootstrap
                servers differ, since both may belong to one cluster.
        """
        if self.offsets_topic != self.worker.offset_storage_topic:
            return True
        elsewhere = self.exactly_once and self.settings.bootstrap != self.shared.bootstrap
        return elsewhere and cluster_id(self.settings) != cluster_id(self.shared)

    @property
    def linger_seconds(self) -> float:
        """See `TaskContext.linger_seconds`; 0 if a transaction gathers batches anyway."""
        return 0.0 if self.spans_batches else super().linger_seconds

    @cached_property
    def boundary(self) -> TransactionBoundary | None:
        """Rule for the end of a transaction (`transaction.boundary=interval`); None if each batch is one.

        It is also None without transactions, and for a connector that cannot read again from an offset: each of its batches
        is committed before the next one is read.
        """
        f = self.framework
        if not self.exactly_once or f.transaction_boundary != "interval" or not self.repeatable:
            return None
        given = f.transaction_boundary_interval_ms
        interval = self.worker.offset_flush_interval_ms if given is None else given
        return TransactionBoundary(min(interval / 1000, self.transaction_timeout / 2), self.limits)

    @property
    def defines_transactions(self) -> bool:
        """Return whether the connector ends transactions (`transaction.boundary=connector`); false without transactions."""
        return self.exactly_once and self.framework.transaction_boundary == "connector"

    @property
    def driver_only(self) -> str | None:
        """See `TaskContext.driver_only`."""
        if (reason := super().driver_only) is not None or not self.spans_batches:
            return reason
        return "a transaction contains several batches (transaction.boundary), and one process must write it"

    @property
    def spans_batches(self) -> bool:
        """Return whether a transaction may hold several batches."""
        return self.boundary is not None or self.defines_transactions

    @cached_property
    def repeatable(self) -> bool:
        """Return whether the connector reads the same records again from an offset."""
        return self.connector.exactly_once(self.plugin_config)

    @property
    def transaction_timeout(self) -> float:
        """Seconds after which the brokers end a transaction: `transaction.timeout.ms`."""
        return float(self.settings.producer.get("transaction.timeout.ms", 60_000)) / 1000

    def topic_creator(self) -> TopicCreator | None:
        """Return the creator of this source's topics; None leaves their creation to the brokers.

        Raises:
            ConfigError: the rules are invalid.
        """
        policy = self.spec.topic_policy or TopicPolicy()
        try:
            limits = [*map(TopicLimits.of, policy.limits)]
            rules = None if policy.rules is None else TopicRules.of_policy(policy.rules)
        except ValueError as e:
            names = ", ".join(sorted(policy.policies))
            raise ConfigError(f"cannot apply the TopicCreationPolicy {names}: {e}") from e
        is_off = not self.worker.topic_creation_enable
        if is_off:
            rules = None  # limits still apply: a topic that they forbid is not left to the brokers
        elif policy.rules is None:
            rules = TopicRules.of(self.config, enabled=True)
        return None if rules is None and not limits else TopicCreator(self.settings, rules, limits, is_off=is_off)

    @cached_property
    def placements(self) -> Placements | None:
        """Positions in Kafka of this process's records, for a task that is notified of each; None if it is not."""
        connector = self.connector
        is_notified = isinstance(connector, JavaSourceConnector) and connector.is_notified_of_records(self.config)
        return Placements() if is_notified else None

    def source(self) -> Source | PollingSource:
        """Return the driver half of the source."""
        source: Source | PollingSource = self.connector.source(self.plugin_config)
        if isinstance(source, JavaSource):
            source.placements = self.placements
        kinds = (PollingSource,) if self.defines_transactions else (Source, PollingSource)
        return returned.instance(source, kinds, returned.name(self.connector, "source"))

    def _reader(self) -> PartitionReader:
        reader = self.connector.reader(self.plugin_config)
        return returned.instance(reader, (PartitionReader,), returned.name(self.connector, "reader"))

    def source_process(
        self,
        transactional_id: str | None,
        stopping: Callable[[], bool],
        waiting: Callable[[str], None] = lambda text: None,
    ) -> SourceProcess:
        """Return this process's part of a source task.

        Args:
            transactional_id: transactional id of its producer; None for one without transactions.
            stopping: ends retries and long portions.
            waiting: receives the reason before a record is retried.
        """
        creator = self.topic_creator()
        delivery = Delivery(
            connector=self.spec.connector,
            task=self.spec.task,
            steps=self.steps,
            converters=self.converters,
            policy=self.policy,
            forbidden=self.offsets_topic if self.exactly_once else None,
            stopping=stopping,
            waiting=waiting,
            redact=self.redactor,
            create_topics=None if creator is None else creator.ensure,
            placements=self.placements,
            bury_alone=partial(
                write_alone, self.settings, f"connector-dlq-producer-{self.spec.connector}-{self.spec.task}"
            ),
        )
        return SourceProcess(
            self.settings if self.placements is None else replace(self.settings, reports_all=True),
            delivery,
            self._reader,
            read_ahead=self.connector.read_ahead,
            offsets_topic=self.offsets_topic,
            transactional_id=transactional_id,
            client_id=f"connector-producer-{self.spec.connector}-{self.spec.task}",
        )
