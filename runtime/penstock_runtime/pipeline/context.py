"""From a task spec to the configured objects of one process: plugins, chain, client settings, policies.

Each process of a task (the driver, each of Spark's workers) makes its own, from the same spec.
"""

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, cast

from penstock.errors import ConfigError
from penstock.plugin import Converter, HeaderConverter
from penstock.sink import FrameSink, Sink, SinkConnector, SinkTaskContext
from penstock.source import Limits, PollingSource, Source, SourceConnector
from penstock_java.regex import compile_java
from penstock_model.connect import plugin_chain, variables
from penstock_model.connect.connector_config import SinkConfig, SourceConfig
from penstock_model.connect.redaction import Redactor, client_secrets, literal_secrets
from penstock_model.connect.topic_creation import TopicRules
from penstock_model.connect.variables import Secret
from penstock_model.connect.worker_config import ClientKind, WorkerConfig
from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.kafka_properties import translation
from penstock_runtime.fencing.incarnation import TransactionalIds
from penstock_runtime.kafka.admin import cluster_id
from penstock_runtime.kafka.producer import write_alone
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.topic_creation import RuledTopics
from penstock_runtime.pipeline.builder import build_steps, class_name
from penstock_runtime.pipeline.chain import Step
from penstock_runtime.pipeline.converters import Converters
from penstock_runtime.pipeline.record_errors import ErrorPolicy
from penstock_runtime.plugins import plugin_ref
from penstock_runtime.sink.process import PutRetries, SinkProcess
from penstock_runtime.source.delivery import Delivery
from penstock_runtime.source.process import SourceProcess
from penstock_runtime.source.uncommitted import Boundary
from penstock_runtime.spark.frames import FramePut
from penstock_runtime.spark.session import Spark
from penstock_runtime.task import cgroup

__all__ = ["Setup", "client_settings"]

log = logging.getLogger(__name__)

_DAY: Final = 86_400.0  # seconds
_BACKLOG_RECORDS: Final = 100_000
"""A sink that is this far behind is worth a Spark job (some 100 ms)."""
_STAGED: Final = 6
"""How many times `batch.max.ms` a part may take that is staged."""
_READING: Final = 60.0
"""Seconds for which a worker of Spark waits for records (`RangeReader`)."""
_OVERRIDES: Final[Mapping[ClientKind, str]] = {
    "producer": "producer.override.", "consumer": "consumer.override.", "admin": "admin.override.",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Setup:
    """What a process of a task works with. Made by `of`; parts are made when they are first asked for.

    Attributes:
        spec: the task spec.
        config: this task's properties, variables resolved.
        framework: the framework's own part of it.
        worker: the worker configuration, variables resolved.
        settings: how to connect.
        followed: client properties that Penstock does in librdkafka's place.
        shared: how to reach the worker's own cluster, where states and the worker's offsets are.
        redactor: puts references back into texts that may hold secrets.
        slots_dir: a folder of this life, where workers take their slots.
        exactly_once: whether records and offsets go into one transaction.
    """

    spec: TaskSpec
    config: Mapping[str, str]
    framework: SourceConfig | SinkConfig
    worker: WorkerConfig
    settings: ClientSettings
    followed: Mapping[str, int]
    shared: ClientSettings
    redactor: Redactor
    slots_dir: Path
    exactly_once: bool

    @classmethod
    def of(cls, spec: TaskSpec, *, slots_dir: Path, on_error: Callable[[str], None] = lambda text: None) -> "Setup":
        """The setup of a spec.

        Raises:
            ConfigError: a variable cannot be resolved, a property is wrong: every problem at once.
        """
        secrets = None if spec.secrets_dir is None else Path(spec.secrets_dir)
        own = variables.resolve(spec.config, secrets)
        shared = variables.resolve(spec.worker, secrets)
        if own.problems or shared.problems:
            raise ConfigError([*own.problems, *shared.problems])
        worker = WorkerConfig.parse(shared.values)
        config = {**worker.errors, **own.values}
        framework = (SourceConfig if spec.kind == "source" else SinkConfig).parse(config)
        exactly_once = _exactly_once(framework, worker)
        settings, followed = client_settings(spec.kind, spec.connector, config, worker, exactly_once=exactly_once)
        worker_settings, _ = client_settings(spec.kind, spec.connector, {}, worker)
        literal = [
            *_literals(spec, {**shared.values, **config}),
            *client_secrets(config),
            *client_secrets(shared.values),
        ]
        redactor = Redactor([*own.secrets, *shared.secrets, *literal])
        return cls(
            spec, config, framework, worker, replace(settings, on_error=on_error), followed, worker_settings, redactor,
            slots_dir, exactly_once,
        )  # fmt: skip

    # What both kinds have

    @cached_property
    def spec_text(self) -> str:
        """The spec as workers get it."""
        return self.spec.to_json()

    @cached_property
    def connector(self) -> SourceConnector | SinkConnector:
        """The connector plugin."""
        return cast("SourceConnector | SinkConnector", plugin_ref.load(self.spec.plugins["connector"].reference)())

    @cached_property
    def plugin_config(self) -> Any:
        """The connector's parsed `Config`."""
        return self.connector.Config.parse(self.config)

    @cached_property
    def converters(self) -> Converters:
        """Key, value and header converter."""
        made: list[Any] = []
        for name in plugin_chain.CONVERTERS:
            place = plugin_chain.converter(name, self.config, self.worker.converters)
            plugin = plugin_ref.load(self.spec.plugins[name].reference)()
            parsed = plugin.Config.parse(place.properties, place.prefix)
            if isinstance(plugin, Converter):
                plugin.configure(parsed, is_key=name == "key.converter")
            elif isinstance(plugin, HeaderConverter):
                plugin.configure(parsed)
            made.append(plugin)
        names = cast("tuple[str, str, str]", tuple(class_name(p) for p in made))
        return Converters(made[0], made[1], made[2], names)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The chain."""
        return build_steps(self.config, self.spec.plugins)

    @cached_property
    def policy(self) -> ErrorPolicy:
        """`errors.*`."""
        f = self.framework
        return ErrorPolicy(
            tolerate=f.errors_tolerance == "all",
            retry_timeout=f.errors_retry_timeout / 1000,
            retry_delay_max=f.errors_retry_delay_max_ms / 1000,
            log=f.errors_log_enable,
            log_messages=f.errors_log_include_messages,
            dead_letter_topic=f.dlq_topic or None,
            dead_letter_headers=f.dlq_headers,
        )

    @property
    def limits(self) -> Limits:
        """The most that one batch holds."""
        return Limits(self.framework.batch_max_records, self.framework.batch_max_bytes)

    @property
    def batch_seconds(self) -> float:
        """How long one batch should take at most."""
        return self.framework.batch_max_ms / 1000

    @property
    def batch_timeout(self) -> float:
        """When a batch on Spark counts as lost: a transaction would have timed out by then.

        At least once no transaction sets a limit, and Spark itself sees a worker that dies. Of a sink: its time is over, or
        nothing has come to be read for a minute, and the last write takes too long. A worker that still answers finds that
        out itself, earlier.
        """
        if self.spec.kind == "source":
            return self.transaction_timeout + 5 if self.exactly_once else _DAY
        return max(_READING, self.range_seconds) + self.put_seconds

    @property
    def batch_attempts(self) -> int:
        """How many batches in a row may lose a worker before the task fails."""
        return 5

    @property
    def cores(self) -> int:
        """N of `local[n]`: the CPU limit, rounded up; two where there is none."""
        return _cores()

    @property
    def status_topic(self) -> str:
        """The worker's status topic."""
        return self.worker.status_storage_topic

    @property
    def ids(self) -> TransactionalIds:
        """This task's transactional ids."""
        return TransactionalIds(self.worker.group_id, self.spec.connector, self.spec.task)

    # Sources

    @property
    def offsets_topic(self) -> str:
        """Where this connector's offsets are written: its own topic, or the worker's."""
        own = self.framework.offsets_storage_topic if isinstance(self.framework, SourceConfig) else None
        return own or self.worker.offset_storage_topic

    @cached_property
    def own_offsets(self) -> bool:
        """Whether offsets live elsewhere than in the worker's topic: under another name, or on another cluster.

        Raises:
            RetriableError, ConnectError: as `cluster_id`, which is asked where addresses differ: both may be one cluster's.
        """
        if self.offsets_topic != self.worker.offset_storage_topic:
            return True
        elsewhere = self.exactly_once and self.settings.bootstrap != self.shared.bootstrap
        return elsewhere and cluster_id(self.settings) != cluster_id(self.shared)

    @cached_property
    def boundary(self) -> Boundary | None:
        """`transaction.boundary=interval`: when a transaction ends; None where each batch is one, or there are none.

        A connector that cannot read again from an offset is not asked for more before a batch is committed.
        """
        f = self.framework
        if not self.exactly_once or not isinstance(f, SourceConfig) or f.transaction_boundary != "interval":
            return None
        if not self.repeatable:
            return None
        given = f.transaction_boundary_interval_ms
        interval = self.worker.offset_flush_interval_ms if given is None else given
        return Boundary(min(interval / 1000, self.transaction_timeout / 2), self.limits)

    @cached_property
    def repeatable(self) -> bool:
        """Whether the connector reads the same records again from an offset."""
        return cast("SourceConnector", self.connector).exactly_once(self.plugin_config)

    @property
    def transaction_timeout(self) -> float:
        """Seconds after which the brokers end a transaction: `transaction.timeout.ms`."""
        return float(self.settings.producer.get("transaction.timeout.ms", 60_000)) / 1000

    @cached_property
    def topic_rules(self) -> TopicRules | None:
        """How this source's topics are created; None leaves it to the brokers."""
        return TopicRules.of(self.config, enabled=self.worker.topic_creation_enable)

    def source(self) -> Source | PollingSource:
        """The driver half of the source."""
        return cast("SourceConnector", self.connector).source(self.plugin_config)

    def source_process(self, transactional_id: str | None, stopping: Callable[[], bool]) -> SourceProcess:
        """This process's end of a source task."""
        delivery = Delivery(
            connector=self.spec.connector,
            task=self.spec.task,
            steps=self.steps,
            converters=self.converters,
            policy=self.policy,
            forbidden=self.offsets_topic if self.exactly_once else None,
            stopping=stopping,
            redact=self.redactor,
            create_topics=None if self.topic_rules is None else RuledTopics(self.settings, self.topic_rules).ensure,
            bury_alone=partial(
                write_alone, self.settings, f"connector-dlq-producer-{self.spec.connector}-{self.spec.task}"
            ),
        )
        return SourceProcess(
            self.settings,
            delivery,
            lambda: cast("SourceConnector", self.connector).reader(self.plugin_config),
            read_ahead=cast("SourceConnector", self.connector).read_ahead,
            offsets_topic=self.offsets_topic,
            transactional_id=transactional_id,
            client_id=f"connector-producer-{self.spec.connector}-{self.spec.task}",
        )

    # Sinks

    @property
    def group(self) -> str:
        """`connect-<connector>`, or its override."""
        return str(self.settings.consumer.get("group.id", f"connect-{self.spec.connector}"))

    @property
    def topics(self) -> list[str]:
        """`topics`."""
        return self.framework.topics if isinstance(self.framework, SinkConfig) else []

    @cached_property
    def topic_matches(self) -> Callable[[str], object] | None:
        """Whether a name matches `topics.regex`; None with `topics`."""
        pattern = self.framework.topics_regex if isinstance(self.framework, SinkConfig) else ""
        return compile_java(pattern).matches if pattern else None

    @property
    def topics_text(self) -> str:
        """What the sink reads, for messages."""
        if self.topics:
            return "topics " + ", ".join(f"'{t}'" for t in self.topics)
        return f"topics.regex '{getattr(self.framework, 'topics_regex', '')}'"

    @property
    def put_records(self) -> int:
        """How many records one `write` gets at most: `max.poll.records`."""
        return self.followed.get("max.poll.records", 5_000)

    @property
    def range_seconds(self) -> float:
        """After how long a worker of Spark ends its part of a batch, wherever it is.

        What is staged behind a part that has ended early is done again, so a machine that is busy for a while gets more
        time.
        """
        return self.batch_seconds * (_STAGED if self.staged else 1)

    @property
    def put_seconds(self) -> float:
        """How long one `write` may take in a worker of Spark before that counts as lost: `max.poll.interval.ms`."""
        return self.followed.get("max.poll.interval.ms", 300_000) / 1000

    @property
    def frame_records(self) -> int:
        """How many records one frame holds at most: as `put_records`, but each costs a Spark job, and files."""
        return self.followed.get("max.poll.records", min(self.limits.records, 100_000))

    @property
    def backlog_records(self) -> int:
        """From this lag on Spark does the work."""
        return _BACKLOG_RECORDS

    @property
    def metadata_seconds(self) -> float:
        """How often new topics and partitions are looked for: `metadata.max.age.ms`."""
        return self.followed.get("metadata.max.age.ms", 300_000) / 1000

    @property
    def commit_seconds(self) -> float:
        """How long written records may wait for their offsets to be committed."""
        return min(1.0, self.worker.offset_flush_interval_ms / 1000)

    @property
    def single_writer(self) -> bool:
        """Whether the sink writes in one place only."""
        return cast("SinkConnector", self.connector).single_writer

    @property
    def staged(self) -> bool:
        """Whether the sink's writers stage a backlog, in several processes at once."""
        return cast("SinkConnector", self.connector).staged

    def sink(self) -> Sink:
        """The driver half of the sink."""
        spec, sink = self.spec, cast("SinkConnector", self.connector).sink(self.plugin_config)
        life = f"{spec.generation:012d}-{spec.incarnation:06d}-{uuid.uuid4().hex[:12]}"
        sink.initialize(SinkTaskContext(spec.connector, spec.task, life))
        return sink

    def writing_process(self, stopping: Callable[[], bool], **more: Any) -> SinkProcess:
        """This process's end of a sink task that has writers."""
        f = cast("SinkConfig", self.framework)
        return SinkProcess(
            self.settings,
            connector=self.spec.connector,
            task=self.spec.task,
            steps=self.steps,
            converters=self.converters,
            policy=self.policy,
            retries=PutRetries(f.sink_retry_timeout_ms / 1000, f.sink_retry_delay_max_ms / 1000),
            writer=lambda: cast("SinkConnector", self.connector).writer(self.plugin_config),
            stopping=stopping,
            redact=self.redactor,
            **more,
        )

    def sink_process(
        self, sink: Sink, stopping: Callable[[], bool], *, spark: Spark | None, **more: Any
    ) -> SinkProcess | FramePut:
        """The driver's end of a sink task."""
        process = self.writing_process(stopping, **more)
        if not isinstance(sink, FrameSink):
            return process
        if spark is None:
            raise ConfigError("This sink takes Spark DataFrames and needs Spark")
        return FramePut(process, sink, spark, seconds=self.batch_seconds, stopping=stopping)


def client_settings(
    kind: str, connector: str, config: Mapping[str, str], worker: WorkerConfig, *, exactly_once: bool = False
) -> tuple[ClientSettings, Mapping[str, int]]:
    """How a connector's clients connect, and the properties that Penstock itself follows (`Translated.own`).

    Args:
        kind: `source` or `sink`.
        connector: the Connect name.
        config: of the connector, resolved; its overrides count. Without any: the worker's own clients.
        worker: resolved.
        exactly_once: its producers are transactional.

    Raises:
        ConfigError: every property that is wrong.
    """
    problems = []
    clients: dict[str, dict[str, str]] = {}
    own: dict[str, int] = {}
    for client, prefix in _OVERRIDES.items():
        overrides = {n[len(prefix) :]: t for n, t in config.items() if n.startswith(prefix)}
        found = translation.translate_layers(
            client, [*worker.clients(client), (prefix, overrides)], exactly_once=exactly_once
        )
        clients[client] = found.properties
        own.update(found.own)
        problems += found.problems
    if problems:
        raise ConfigError(problems)
    if kind == "sink":
        clients["consumer"].setdefault("group.id", f"connect-{connector}")
    settings = ClientSettings(producer=clients["producer"], consumer=clients["consumer"], admin=clients["admin"])
    queue = cgroup.queue(cgroup.memory_limit(), _cores() + 1)
    max_block = own.get("max.block.ms", 60_000) / 1000
    return replace(settings, queue_bytes=own.get("buffer.memory", queue), max_block=max_block), own


def _literals(spec: TaskSpec, config: Mapping[str, str]) -> Iterator[Secret]:
    """Passwords of plugins that stand in the configuration as they are."""
    for place, reference in spec.plugins.items():
        prefix = "" if place == "connector" else f"{place}."
        texts = {name.removeprefix(prefix): text for name, text in config.items() if name.startswith(prefix)}
        yield from literal_secrets(plugin_ref.load(reference.reference).Config, texts)


def _cores() -> int:
    return cgroup.cpu_limit() or 2


def _exactly_once(framework: SourceConfig | SinkConfig, worker: WorkerConfig) -> bool:
    if not isinstance(framework, SourceConfig) or not worker.exactly_once:
        return False
    return framework.delivery_guarantee != "at-least-once"
