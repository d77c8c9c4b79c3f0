"""Worker configuration, with the names of Kafka Connect's `worker.properties`.

It defines the Kafka cluster, the topics of offsets and states, and the properties that connectors inherit.
`penstock_cli.manifests.worker_file` reads its file; `worker_warnings` reports properties of Kafka Connect's workers that
Penstock does not support.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import PrivateAttr, field_validator

from penstock.config import Importance, prop
from penstock.errors import ConfigError
from penstock.rules import at_least, not_blank, words
from penstock_model.connect.config_providers import provider_problems
from penstock_model.connect.errors_config import ErrorsConfig
from penstock_model.kafka_properties.client_kinds import (
    SHARED_CLIENT_NAMES,
    SHARED_CLIENT_PREFIXES,
    ClientKind,
)

__all__ = ["WorkerConfig"]


class WorkerConfig(ErrorsConfig):
    """Parsed properties of a worker. `parse` keeps the unparsed properties for `raw`."""

    bootstrap_servers: Annotated[str, not_blank] | None = prop(
        "bootstrap.servers",
        None,
        doc="host:port pairs of the Kafka cluster. Without it `penstock run` starts an embedded Kafka.",
        importance=Importance.HIGH,
    )
    group_id: Annotated[str, not_blank] = prop(
        "group.id", "penstock", doc="The name of this worker group, the prefix of transactional ids."
    )
    key_converter: str = prop("key.converter", "JsonConverter", doc="The key converter of connectors that set none.")
    value_converter: str = prop(
        "value.converter", "JsonConverter", doc="The value converter of connectors that set none."
    )
    header_converter: str = prop(
        "header.converter", "SimpleHeaderConverter", doc="The header converter of connectors that set none."
    )
    offset_storage_topic: Annotated[str, not_blank] = prop(
        "offset.storage.topic", "connect-offsets", doc="The topic of source offsets."
    )
    offset_storage_partitions: int = prop(
        "offset.storage.partitions", 25, doc="Partitions of the offsets topic. -1: the broker's default."
    )
    offset_storage_replication_factor: int = prop(
        "offset.storage.replication.factor", 3, doc="Replication factor of the offsets topic. -1: the broker's default."
    )
    status_storage_topic: Annotated[str, not_blank] = prop(
        "status.storage.topic", "connect-status", doc="The topic of states and active topics."
    )
    status_storage_partitions: int = prop(
        "status.storage.partitions", 5, doc="Partitions of the status topic. -1: the broker's default."
    )
    status_storage_replication_factor: int = prop(
        "status.storage.replication.factor", 3, doc="Replication factor of the status topic. -1: the broker's default."
    )
    internal_topics_automatic_creation_enable: bool = prop(
        "internal.topics.automatic.creation.enable",
        default=True,
        doc="Whether missing internal topics are created (KIP-1209), including `offsets.storage.topic` of a connector.",
    )
    offset_flush_interval_ms: Annotated[int, at_least(1)] = prop(
        "offset.flush.interval.ms", 60_000, doc="Maximum time in milliseconds between two commits of offsets."
    )
    offset_flush_timeout_ms: Annotated[int, at_least(1)] = prop(
        "offset.flush.timeout.ms", 5_000, doc="Maximum duration of one commit of offsets in milliseconds."
    )
    exactly_once_source_support: Annotated[str, words("enabled", "disabled", "preparing", any_case=True)] = prop(
        "exactly.once.source.support", "enabled", doc="Whether sources can deliver exactly once, and do so by default."
    )
    override_policy: Annotated[str, words("all", "none", "principal", "allowlist", any_case=True)] = prop(
        "connector.client.config.override.policy",
        "All",
        doc="Policy for the `producer.override.`, `consumer.override.` and `admin.override.` properties of connectors.",
        validate_default=True,
    )
    override_allowlist: list[str] = prop(
        "connector.client.config.override.allowlist", [], doc="With policy Allowlist: the allowed properties."
    )
    topic_creation_enable: bool = prop(
        "topic.creation.enable", default=True, doc="Whether topics of sources are created by rules (KIP-158)."
    )
    topic_tracking_enable: bool = prop(
        "topic.tracking.enable", default=True, doc="Whether active topics are recorded (KIP-558)."
    )
    topic_tracking_allow_reset: bool = prop(
        "topic.tracking.allow.reset", default=True, doc="Whether active topics may be reset on request."
    )
    task_shutdown_graceful_timeout_ms: Annotated[int, at_least(0)] = prop(
        "task.shutdown.graceful.timeout.ms", 5_000, doc="Maximum duration of a shutdown in milliseconds."
    )
    config_providers: list[str] = prop(
        "config.providers",
        [],
        doc="Names of config providers for `${name:..}`, each with a `.class`; file, dir, directory and env always exist.",
    )

    _raw: Mapping[str, str] = PrivateAttr(default_factory=dict)

    @field_validator("exactly_once_source_support")
    @classmethod
    def _no_preparing(cls, text: str) -> str:
        if text == "preparing":
            raise ValueError("Penstock needs no rolling upgrade to exactly once; write enabled or disabled")
        return text

    @field_validator(
        "offset_storage_partitions",
        "offset_storage_replication_factor",
        "status_storage_partitions",
        "status_storage_replication_factor",
    )
    @classmethod
    def _count(cls, number: int) -> int:
        if number == 0 or number < -1:
            raise ValueError("Value must be at least 1, or -1 for the broker's default")
        return number

    @classmethod
    def parse(cls, texts: Mapping[str, str], prefix: str = "") -> Self:
        """Parse like `Config.parse`, and also reject config providers without a class."""
        problems = list(provider_problems(texts))
        try:
            config = super().parse(texts, prefix)
        except ConfigError as e:
            raise ConfigError([*e.problems, *problems]) from None
        if problems:
            raise ConfigError(problems)
        config._raw = dict(texts)  # noqa: SLF001 (its own class)
        return config

    def with_raw(self, texts: Mapping[str, str]) -> Self:
        """Return the same configuration with these properties, whose variables are not resolved, as `raw`."""
        config = self.model_copy()
        config._raw = dict(texts)  # noqa: SLF001 (its own class)
        return config

    @property
    def raw(self) -> Mapping[str, str]:
        """Return the properties as written, with variables unresolved, for `TaskSpec.worker`."""
        return self._raw

    @property
    def exactly_once(self) -> bool:
        """Return whether sources may deliver exactly once."""
        return self.exactly_once_source_support == "enabled"

    @property
    def converters(self) -> Mapping[str, str]:
        """Return the raw properties and the default converter classes, for `plugin_chain.converter`."""
        defaults = {
            "key.converter": self.key_converter,
            "value.converter": self.value_converter,
            "header.converter": self.header_converter,
        }
        return {**self._raw, **defaults}

    @property
    def errors(self) -> Mapping[str, str]:
        """Return the `errors.*` properties that connectors inherit."""
        return {name: text for name, text in self._raw.items() if name.startswith("errors.")}

    def topic_settings(self, prefix: Literal["offset.storage.", "status.storage."]) -> dict[str, str]:
        """Return further settings of an internal topic, for its creation (KIP-605). Compaction overrides them."""
        named = {f"{prefix}{name}" for name in ("topic", "partitions", "replication.factor", "file.filename")}
        return {n[len(prefix) :]: t for n, t in self._raw.items() if n.startswith(prefix) and n not in named}

    def clients(self, kind: ClientKind | None) -> list[tuple[str, dict[str, str]]]:
        """Return the worker's layers of client properties for `translate_layers`; a later layer overrides an earlier one.

        The first layer is the top level (servers, security), which all clients use; in Kafka Connect it must be repeated
        under `producer.` and so on. For None, the worker's own clients, it is the only layer.
        """
        shared = {
            n: t for n, t in self._raw.items() if n in SHARED_CLIENT_NAMES or n.startswith(SHARED_CLIENT_PREFIXES)
        }
        layers = [("", shared)]
        if kind is not None:
            prefix = f"{kind}."
            own = {n[len(prefix) :]: t for n, t in self._raw.items() if n.startswith(prefix)}
            layers.append((prefix, own))
        return layers
