"""From a task spec to the configured objects of one process: plugins, chain, client settings, policies.

Each process of a task (the driver, each of Spark's workers) makes its own, from the same spec. What only one kind of task
has is in `source/context.py` and `sink/context.py`; `task/context.py` makes the one that a spec asks for.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from penstock_model.connect.redaction import Redactor, client_secrets, literal_secrets
from penstock_model.connect.variables import ProviderTable, Secret, provider_of
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.incarnation import Incarnation
from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.kafka_properties import translation
from penstock_model.kafka_properties.client_kinds import ClientKind
from penstock_runtime.fencing.incarnation import TaskFence, TransactionalIds
from penstock_runtime.java_plugins.java_class import PREFIX
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.pipeline.builder import build_steps, class_name, made
from penstock_runtime.pipeline.chain import Step
from penstock_runtime.pipeline.converters import Converters
from penstock_runtime.pipeline.record_errors import ErrorPolicy
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
    """What a process of a task works with, of either kind. Made by `of`; parts are made when they are first asked for.

    Attributes:
        spec: the task spec.
        config: this task's properties, variables resolved.
        framework: the framework's own part of it.
        worker: the worker configuration, variables resolved.
        settings: how to connect.
        followed: client properties that Penstock does in librdkafka's place.
        shared: how to reach the worker's own cluster, where states and the worker's offsets are.
        secrets: the variables that were resolved.
        redactor: puts references back into texts that may hold secrets.
        slots_dir: a folder of this incarnation, where a sink's workers find the end file.
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
        """The context of a spec of this kind.

        Args:
            spec: of the task.
            slots_dir: as the attribute.
            on_error: told of what hinders Kafka's clients.
            known: variables that the driver has resolved for another process.
            providers: config providers; None: those of the spec.

        Raises:
            ConfigError: a variable cannot be resolved, a property is wrong: every problem at once.
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

    @staticmethod
    @abstractmethod
    def parse_framework(config: Mapping[str, str]) -> SourceConfig | SinkConfig:
        """The framework's part of a configuration.

        Raises:
            ConfigError: a property is wrong.
        """

    @staticmethod
    def is_exactly_once(framework: SourceConfig | SinkConfig, worker: WorkerConfig) -> bool:
        """Whether records and offsets go into one transaction."""
        return False

    @cached_property
    def spec_text(self) -> str:
        """The spec as workers get it."""
        return self.spec.to_json()

    @property
    def sent_secrets(self) -> Mapping[str, str]:
        """The values of variables, by their references, for workers that cannot resolve them.

        Those on other machines have neither the files nor the environment that hold them. A worker on this machine resolves
        its own, but for values of Java config providers, which would need a JVM in each.
        """
        is_away, of_java = self.spec.spark.cluster is not None, self.spec.config_providers
        return {s.reference: s.value for s in self.secrets if is_away or provider_of(s.reference) in of_java}

    @property
    @abstractmethod
    def connector(self) -> SourceConnector | SinkConnector:
        """The connector plugin, made once."""

    @cached_property
    def plugin_metrics(self) -> MetricsByPlace:
        """The metrics of this process's plugins."""
        return MetricsByPlace()

    @cached_property
    def reconfiguration(self) -> ReconfigurationRequests:
        """What this process's plugins ask for."""
        return ReconfigurationRequests()

    def plugin_context(self, place: str, version: str) -> PluginContext:
        """What the plugin of a place is told of this task."""
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
        """Whether the connector ends the transactions of its task itself."""
        return False

    @property
    def start_id(self) -> str:
        """Names this start of the task; a later one has a greater text."""
        return f"{self.spec.generation:012d}-{self.spec.incarnation:06d}"

    def plugin(self) -> object:
        """A new object of the connector plugin."""
        return made("connector", self.spec.plugins["connector"], self.plugin_context)

    @cached_property
    def plugin_config(self) -> Any:
        """The connector's parsed `Config`."""
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
        """The places of Java plugins (`transforms.unwrap`). They run in the JVM of the driver, not in Spark's workers."""
        return tuple(place for place, of in self.spec.plugins.items() if of.reference.startswith(PREFIX))

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The chain."""
        return build_steps(self.config, self.spec.plugins, self.plugin_context, self._opened)

    @cached_property
    def _opened(self) -> OpenPlugins:
        return OpenPlugins()

    def close_chain(self) -> None:
        """Close the transforms, predicates and converters that this process has made. Call it last: they serve no more."""
        self._opened.close()

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
    def linger_seconds(self) -> float:
        """How long records that trickle in are gathered."""
        return self.framework.batch_linger_ms / 1000

    @property
    def batch_attempts(self) -> int:
        """How many batches in a row may lose a worker before the task fails."""
        return 5

    @property
    def cores(self) -> int:
        """N of `local[n]`: the CPU limit, rounded up; two where there is none. Of a cluster, the most that it may be."""
        cluster = self.spec.spark.cluster
        return _cores() if cluster is None else cluster.cores

    @property
    def status_topic(self) -> str:
        """The worker's status topic."""
        return self.worker.status_storage_topic

    @property
    def ids(self) -> TransactionalIds:
        """This task's transactional ids."""
        return TransactionalIds(self.worker.group_id, self.spec.connector, self.spec.task)

    @property
    def incarnation(self) -> Incarnation:
        """The incarnation of the spec, at its start."""
        spec = self.spec
        return Incarnation(spec.incarnation, 0, spec.token, 0, generation=spec.generation, plan=spec.plan)

    def at_least_once_fence(self) -> TaskFence:
        """The fence of a task that writes in no transactions."""
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
    """The config providers of a task, whose classes the plan has found."""
    secrets = None if spec.secrets_dir is None else Path(spec.secrets_dir)
    return ConfigProviders(spec.worker, secrets, references=spec.config_providers)


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
