"""The worker configuration, with the names of Kafka Connect's `worker.properties`.

It says how to reach Kafka, where offsets and states are kept, and what connectors inherit.
`penstock_cli.manifests.worker_file` reads its file; `worker_warnings` reports properties of Kafka Connect's workers that
Penstock does not have.
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
    """The parsed properties of a worker. `parse` makes it, and keeps the texts for `raw`."""

    bootstrap_servers: Annotated[str, not_blank] | None = prop(
        "bootstrap.servers",
        None,
        doc="host:port pairs of the Kafka cluster. Without it `penstock run` starts an embedded Kafka.",
        importance=Importance.HIGH,
    )
    group_id: Annotated[str, not_blank] = prop(
        "group.id", "penstock", doc="The name of this worker group; transactional ids begin with it."
    )
    key_converter: str = prop("key.converter", "JsonConverter", doc="The converter of connectors that name none.")
    value_converter: str = prop("value.converter", "JsonConverter", doc="The converter of connectors that name none.")
    header_converter: str = prop(
        "header.converter", "SimpleHeaderConverter", doc="The header converter of connectors that name none."
    )
    offset_storage_topic: Annotated[str, not_blank] = prop(
        "offset.storage.topic", "connect-offsets", doc="The topic of source offsets."
    )
    offset_storage_partitions: int = prop(
        "offset.storage.partitions", 25, doc="Its partitions. -1: the broker's default."
    )
    offset_storage_replication_factor: int = prop(
        "offset.storage.replication.factor", 3, doc="Its replication factor. -1: the broker's default."
    )
    status_storage_topic: Annotated[str, not_blank] = prop(
        "status.storage.topic", "connect-status", doc="The topic of states and active topics."
    )
    status_storage_partitions: int = prop(
        "status.storage.partitions", 5, doc="Its partitions. -1: the broker's default."
    )
    status_storage_replication_factor: int = prop(
        "status.storage.replication.factor", 3, doc="Its replication factor. -1: the broker's default."
    )
    internal_topics_automatic_creation_enable: bool = prop(
        "internal.topics.automatic.creation.enable",
        default=True,
        doc="Whether internal topics that are missing are created (KIP-1209), `offsets.storage.topic` of a connector too.",
    )
    offset_flush_interval_ms: Annotated[int, at_least(1)] = prop(
        "offset.flush.interval.ms", 60_000, doc="The longest time, in milliseconds, between two commits of offsets."
    )
    offset_flush_timeout_ms: Annotated[int, at_least(1)] = prop(
        "offset.flush.timeout.ms", 5_000, doc="How long, in milliseconds, one commit of offsets may take."
    )
    exactly_once_source_support: Annotated[str, words("enabled", "disabled", "preparing", any_case=True)] = prop(
        "exactly.once.source.support", "enabled", doc="Whether sources may deliver exactly once, and do by default."
    )
    override_policy: Annotated[str, words("all", "none", "principal", "allowlist", any_case=True)] = prop(
        "connector.client.config.override.policy",
        "All",
        doc="Which `producer.override.`, `consumer.override.` and `admin.override.` properties connectors may set.",
        validate_default=True,
    )
    override_allowlist: list[str] = prop(
        "connector.client.config.override.allowlist", [], doc="With policy Allowlist: the properties they may set."
    )
    topic_creation_enable: bool = prop(
        "topic.creation.enable", default=True, doc="Whether sources' topics are created by rule (KIP-158)."
    )
    topic_tracking_enable: bool = prop(
        "topic.tracking.enable", default=True, doc="Whether active topics are recorded (KIP-558)."
    )
    topic_tracking_allow_reset: bool = prop(
        "topic.tracking.allow.reset", default=True, doc="Whether they may be forgotten on request."
    )
    task_shutdown_graceful_timeout_ms: Annotated[int, at_least(0)] = prop(
        "task.shutdown.graceful.timeout.ms", 5_000, doc="How long, in milliseconds, stopping may take in all."
    )
    config_providers: list[str] = prop(
        "config.providers",
        [],
        doc="Names of `${name:..}` variables, each with a `.class`; file, dir, directory and env are always there.",
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
        """As `Config.parse`; also refuses config providers without a class."""
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
        """The same configuration with these texts, whose variables are not resolved, as `raw`."""
        config = self.model_copy()
        config._raw = dict(texts)  # noqa: SLF001 (its own class)
        return config

    @property
    def raw(self) -> Mapping[str, str]:
        """The properties as written, variables unresolved, for `TaskSpec.worker`."""
        return self._raw

    @property
    def exactly_once(self) -> bool:
        """Whether sources may deliver exactly once."""
        return self.exactly_once_source_support == "enabled"

    @property
    def converters(self) -> Mapping[str, str]:
        """The raw properties and the default converter classes, for `plugin_chain.converter`."""
        defaults = {
            "key.converter": self.key_converter,
            "value.converter": self.value_converter,
            "header.converter": self.header_converter,
        }
        return {**self._raw, **defaults}

    @property
    def errors(self) -> Mapping[str, str]:
        """The `errors.*` properties that connectors inherit."""
        return {name: text for name, text in self._raw.items() if name.startswith("errors.")}

    def topic_settings(self, prefix: Literal["offset.storage.", "status.storage."]) -> dict[str, str]:
        """Further settings of an internal topic, for its creation (KIP-605). Compaction overrides them."""
        named = {f"{prefix}{name}" for name in ("topic", "partitions", "replication.factor", "file.filename")}
        return {n[len(prefix) :]: t for n, t in self._raw.items() if n.startswith(prefix) and n not in named}

    def clients(self, kind: ClientKind | None) -> list[tuple[str, dict[str, str]]]:
        """The worker's layers of client properties for `translate_layers`, where a later layer overrides an earlier one.

        The first layer is the top level (servers, security), which all clients take; in Kafka Connect it has to be repeated
        under `producer.` and so on. For None, the worker's own clients, it is the only one.
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
