"""Context of one process of a task: plugins, chain, client settings and policies, configured from a task spec.

Each process of a task (the driver, each of Spark's workers) creates a separate one from the same spec. Parts of only one
kind of task are in `source/context.py` and `sink/context.py`; `task/context.py` creates the context of a spec.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self, cast

from penstock.context import PluginContext
from penstock.errors import ConfigError
from penstock.plugin import Converter, HeaderConverter
from penstock.sink import SinkConnector
from penstock.source import Limits, SourceConnector
from penstock_model.connect import plugin_chain, variables
from penstock_model.connect.connector_config import SinkConfig, SourceConfig
from penstock_model.connect.consumer_group import default_consumer_group
from penstock_model.connect.redaction import Redactor, client_secrets, literal_secrets
from penstock_model.connect.variables import ProviderTable, Secret, provider_of
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.incarnation import Incarnation
from penstock_model.contracts.task_spec import SparkCluster, TaskSpec
from penstock_model.kafka_properties import translation
from penstock_model.kafka_properties.client_kinds import ClientKind
from penstock_model.resources.task_settings import TaskSettings
from penstock_runtime.fencing.incarnation import TaskFence, TransactionalIds
from penstock_runtime.java_plugins.java_class import PREFIX
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.pipeline.builder import build_steps, class_name, made
from penstock_runtime.pipeline.chain import Step
from penstock_runtime.pipeline.converters import Converters
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy
from penstock_runtime.pipeline.rate_limit import RateLimit
from penstock_runtime.plugins import plugin_ref
from penstock_runtime.plugins.config_providers import ConfigProviders
from penstock_runtime.plugins.mounted import append_folders, python_folders
from penstock_runtime.plugins.open_plugins import ChainPlugin, OpenPlugins
from penstock_runtime.plugins.plugin_metrics import MetricsByPlace
from penstock_runtime.plugins.task_reconfiguration import ReconfigurationRequests
from penstock_runtime.process import cgroup

__all__ = ["TaskContext", "client_settings", "config_providers"]

log = logging.getLogger(__name__)

_OVERRIDES: Final[Mapping[ClientKind, str]] = {
    "producer": "producer.override.",
    "consumer": "consumer.override.",
    "admin": "admin.override.",
}


@dataclass(frozen=True, eq=False)
class TaskContext(ABC):
    """Context of a process of a source or sink task. Created by `of`; its parts are created when they are first used.

    Attributes:
        spec: task spec.
        config: properties of this task, variables resolved.
        framework: the framework's part of the properties.
        worker: worker configuration, variables resolved.
        settings: connection to Kafka.
        followed: client properties that Penstock applies instead of librdkafka.
        shared: connection to the worker's cluster, which holds states and the worker's offsets.
        secrets: resolved variables.
        redactor: replaces secrets in messages by their references.
        slots_dir: folder of this incarnation, where a sink's workers find the end file.
        exactly_once: whether records and offsets go into one transaction.
    """

    spec: TaskSpec
    config: Mapping[str, str]
    framework: SourceConfig | SinkConfig
    worker: WorkerConfig
    settings: ClientSettings
    followed: Mapping[str, int]
    shared: ClientSettings
    secrets: tuple[Secret, ...]
    redactor: Redactor
    slots_dir: Path
    exactly_once: bool

    @classmethod
    def of(
        cls,
        spec: TaskSpec,
        *,
        slots_dir: Path,
        on_error: Callable[[str], None] = lambda text: None,
        known: Sequence[Secret] = (),
        providers: ProviderTable | None = None,
    ) -> Self:
        """Return the context of a spec of this kind.

        Args:
            spec: task spec.
            slots_dir: see the attribute.
            on_error: called with errors of Kafka's clients.
            known: variables that the driver has resolved for another process.
            providers: config providers; None: those of the spec.

        Raises:
            ConfigError: a variable cannot be resolved, or a property is invalid; it contains all problems.
            ConnectError: a config provider fails, or does not answer.
        """
        if providers is None:
            with config_providers(spec) as of_spec:
                return cls.of(spec, slots_dir=slots_dir, on_error=on_error, known=known, providers=of_spec.table)
        append_folders(python_folders(spec.mounts))
        secrets = None if spec.secrets_dir is None else Path(spec.secrets_dir)
        own = variables.resolve(spec.config, secrets, known=known, providers=providers)
        shared = variables.resolve(spec.worker, secrets, known=known, providers=providers)
        if own.problems or shared.problems:
            raise ConfigError([*own.problems, *shared.problems])
        worker = WorkerConfig.parse(shared.values)
        config = {**worker.errors, **own.values}
        framework = cls.parse_framework(config)
        exactly_once = cls.is_exactly_once(framework, worker)
        settings, followed = client_settings(spec.kind, spec.connector, config, worker, exactly_once=exactly_once)
        worker_settings, _ = client_settings(spec.kind, spec.connector, {}, worker)
        literal = [
            *_literals(spec, {**shared.values, **config}),
            *client_secrets(config),
            *client_secrets(shared.values),
        ]
        resolved = tuple({secret.reference: secret for secret in (*own.secrets, *shared.secrets)}.values())
        redactor = Redactor([*resolved, *literal])
        return cls(
            spec,
            config,
            framework,
            worker,
            replace(settings, on_error=on_error),
            followed,
            worker_settings,
            resolved,
            redactor,
            slots_dir,
            exactly_once,
        )

    def with_cluster(self, cluster: SparkCluster) -> Self:
        """Return this context with a cluster in its spec, and with the plugins that it has already created."""
        own = {f.name for f in fields(self)}
        changed = replace(self, spec=self.spec.model_copy(update={"spark_cluster": cluster}))
        vars(changed).update({n: made for n, made in vars(self).items() if n not in own and n != "spec_text"})
        return changed

    @staticmethod
    @abstractmethod
    def parse_framework(config: Mapping[str, str]) -> SourceConfig | SinkConfig:
        """Parse the framework's part of a configuration.

        Raises:
            ConfigError: a property is invalid.
        """

    @staticmethod
    def is_exactly_once(framework: SourceConfig | SinkConfig, worker: WorkerConfig) -> bool:
        """Return whether records and offsets go into one transaction."""
        return False

    @cached_property
    def spec_text(self) -> str:
        """Spec as JSON, for workers."""
        return self.spec.to_json()

    @property
    def sent_secrets(self) -> Mapping[str, str]:
        """Return the values of variables by reference, for workers that cannot resolve them.

        Workers on other machines have neither the files nor the environment that hold them. A worker on this machine
        resolves variables itself, except values of Java config providers, which would need a JVM in each worker.
        """
        is_away, of_java = self.spec.spark_cluster is not None, self.spec.config_providers
        return {s.reference: s.value for s in self.secrets if is_away or provider_of(s.reference) in of_java}

    @property
    @abstractmethod
    def connector(self) -> SourceConnector | SinkConnector:
        """Connector plugin, created once."""

    @cached_property
    def task_settings(self) -> TaskSettings:
        """Fields of the Connector's spec that its tasks read."""
        return TaskSettings.of_task(self.spec.settings)

    @cached_property
    def plugin_metrics(self) -> MetricsByPlace:
        """Metrics of this process's plugins."""
        return MetricsByPlace()

    @cached_property
    def reconfiguration(self) -> ReconfigurationRequests:
        """Reconfiguration requests of this process's plugins."""
        return ReconfigurationRequests()

    def plugin_context(self, place: str, version: str) -> PluginContext:
        """Return the context of the plugin at a place, with information about this task."""
        spec, metrics, asked = self.spec, self.plugin_metrics.of(place), self.reconfiguration.ask
        return PluginContext(
            spec.connector,
            place,
            version,
            task=spec.task,
            tasks=spec.tasks,
            start_id=self.start_id,
            defines_transactions=self.defines_transactions,
            metrics=metrics,
            on_request=asked,
        )

    @property
    def defines_transactions(self) -> bool:
        """Return whether the connector ends the transactions of its task itself."""
        return False

    @property
    def start_id(self) -> str:
        """Id of this start of the task; a later start has a greater id, in string order."""
        return f"{self.spec.generation:012d}-{self.spec.incarnation:06d}"

    def plugin(self) -> object:
        """Return a new object of the connector plugin."""
        return made("connector", self.spec.plugins["connector"], self.plugin_context)

    @cached_property
    def plugin_config(self) -> Any:
        """Parsed `Config` of the connector."""
        return self.connector.Config.parse(self.config)

    @cached_property
    def converters(self) -> Converters:
        """Key, value and header converter."""
        found: list[Any] = []
        for name in plugin_chain.CONVERTERS:
            place = plugin_chain.converter(name, self.config, self.worker.converters)
            plugin = cast("ChainPlugin", made(name, self.spec.plugins[name], self.plugin_context))
            self._opened.add(name, plugin)
            parsed = plugin.Config.parse(place.properties, place.prefix)
            if isinstance(plugin, Converter):
                plugin.configure(parsed, is_key=name == "key.converter")
            elif isinstance(plugin, HeaderConverter):
                plugin.configure(parsed)
            found.append(plugin)
        names = cast("tuple[str, str, str]", tuple(class_name(p) for p in found))
        return Converters(found[0], found[1], found[2], names)

    @property
    def java_places(self) -> tuple[str, ...]:
        """Places of Java plugins (`transforms.unwrap`). They run in the JVM of the driver, not in Spark's workers."""
        return tuple(place for place, of in self.spec.plugins.items() if of.reference.startswith(PREFIX))

    @property
    def driver_only(self) -> str | None:
        """Reason why this process delivers everything itself, without Spark's workers; None: workers deliver a backlog."""
        if self.java_places:
            return "its Java plugins run in the task's JVM"
        return "spec.limits sets a rate limit, which only one process can enforce" if self.rate_limit.is_set else None

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Steps of the chain."""
        return build_steps(self.config, self.spec.plugins, self.plugin_context, self._opened)

    @cached_property
    def _opened(self) -> OpenPlugins:
        return OpenPlugins()

    def close_chain(self) -> None:
        """Close the transforms, predicates and converters of this process. Call it last: they cannot be used after this."""
        self._opened.close()

    @cached_property
    def policy(self) -> ErrorPolicy:
        """Policy of `errors.*`."""
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
        """Limits of one batch."""
        return Limits(self.framework.batch_max_records, self.framework.batch_max_bytes)

    @cached_property
    def rate_limit(self) -> RateLimit:
        """Rate limit of the task."""
        return RateLimit(self.task_settings.limits)

    @property
    def batch_seconds(self) -> float:
        """Maximum seconds that one batch should take."""
        return self.framework.batch_max_ms / 1000

    @property
    def linger_seconds(self) -> float:
        """Seconds for which low-rate records are gathered before they are delivered."""
        return self.framework.batch_linger_ms / 1000

    @property
    def batch_attempts(self) -> int:
        """Number of batches in a row that may lose a worker before the task fails."""
        return 5

    @property
    def cores(self) -> int:
        """N of `local[n]`: the CPU limit, rounded up, or two if there is none. On a cluster, the maximum number of cores."""
        cluster = self.spec.spark_cluster
        return _cores() if cluster is None else cluster.cores

    @property
    def status_topic(self) -> str:
        """Status topic of the worker."""
        return self.worker.status_storage_topic

    @property
    def ids(self) -> TransactionalIds:
        """Transactional ids of this task."""
        return TransactionalIds(self.worker.group_id, self.spec.connector, self.spec.task)

    @property
    def incarnation(self) -> Incarnation:
        """Incarnation of the spec, before its fence is incremented."""
        spec = self.spec
        return Incarnation(spec.incarnation, 0, spec.token, 0, generation=spec.generation, plan=spec.plan)

    def at_least_once_fence(self) -> TaskFence:
        """Return the fence of a task that writes without transactions."""
        return TaskFence(
            self.settings,
            self.shared,
            self.status_topic,
            self.ids,
            self.incarnation,
            fences=False,
            known=self.spec.status,
        )


def config_providers(spec: TaskSpec) -> ConfigProviders:
    """Return the config providers of a task, with the classes that the plan has found."""
    secrets = None if spec.secrets_dir is None else Path(spec.secrets_dir)
    return ConfigProviders(spec.worker, secrets, references=spec.config_providers)


def client_settings(
    kind: str, connector: str, config: Mapping[str, str], worker: WorkerConfig, *, exactly_once: bool = False
) -> tuple[ClientSettings, Mapping[str, int]]:
    """Return the settings of a connector's clients, and the properties that Penstock itself applies (`Translated.own`).

    Args:
        kind: `source` or `sink`.
        connector: name in Kafka Connect.
        config: resolved properties of the connector, whose overrides apply. If empty: the worker's clients.
        worker: resolved worker configuration.
        exactly_once: whether its producers are transactional.

    Raises:
        ConfigError: properties are invalid; it contains all problems.
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
        clients["consumer"].setdefault("group.id", default_consumer_group(connector))
    settings = ClientSettings(producer=clients["producer"], consumer=clients["consumer"], admin=clients["admin"])
    queue = cgroup.queue(cgroup.memory_limit(), _cores() + 1)
    max_block = own.get("max.block.ms", 60_000) / 1000
    return replace(settings, queue_bytes=own.get("buffer.memory", queue), max_block=max_block), own


def _literals(spec: TaskSpec, config: Mapping[str, str]) -> Iterator[Secret]:
    """Return passwords of plugins that are in the configuration as plain text."""
    for place, reference in spec.plugins.items():
        prefix = "" if place == "connector" else f"{place}."
        texts = {name.removeprefix(prefix): text for name, text in config.items() if name.startswith(prefix)}
        yield from literal_secrets(plugin_ref.load(reference.reference).Config, texts)


def _cores() -> int:
    return cgroup.cpu_limit() or 2
