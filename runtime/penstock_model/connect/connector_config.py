"""Framework properties of connectors, with Connect's names, defaults and messages, and a few new ones.

Properties of plugins (`file`, `transforms.hoist.field`) are not here; `plugin_chain` finds those.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Final, Self

from pydantic import field_validator

from penstock.config import Importance, prop
from penstock.errors import ConfigError, Problem
from penstock.rules import at_least, java_regex, long, not_blank, words
from penstock_java_compat.property_text import items, trimmed
from penstock_model.connect.errors_config import ErrorsConfig

__all__ = ["MIB", "CommonConfig", "SinkConfig", "SourceConfig", "config_class"]

MIB: Final = 1 << 20
_INT: Final = 2**31 - 1
_CONVERTER: Final = "Default: the worker's."


class CommonConfig(ErrorsConfig):
    """Properties of both sources and sinks."""

    key_converter: str | None = prop("key.converter", None, doc=f"The converter of record keys. {_CONVERTER}")
    value_converter: str | None = prop("value.converter", None, doc=f"The converter of record values. {_CONVERTER}")
    header_converter: str | None = prop("header.converter", None, doc=f"The converter of headers. {_CONVERTER}")
    transforms: list[str] = prop("transforms", [], doc="Aliases of the transforms, in their order.")
    predicates: list[str] = prop("predicates", [], doc="Aliases of the predicates that transforms may name.")
    config_action_reload: Annotated[str, words("none", "restart")] = prop(
        "config.action.reload",
        "restart",
        doc="Accepted from Kafka Connect. `spec.onSecretChange` sets the action for a changed secret.",
        importance=Importance.LOW,
    )
    tasks_max_enforce: bool = prop(
        "tasks.max.enforce",
        default=True,
        doc="Accepted from Kafka Connect. `spec.tasksMax` is always enforced.",
        importance=Importance.LOW,
    )
    batch_max_records: Annotated[int, at_least(1)] = prop(
        "batch.max.records",
        500_000,
        doc="Maximum number of records that one batch reads. At a low rate batches are small.",
        le=_INT,
    )
    batch_max_bytes: Annotated[int, at_least(1)] = prop(
        "batch.max.bytes",
        64 * MIB,
        doc="Maximum number of bytes that one batch reads. A single larger record is accepted.",
        le=2**40,
    )
    batch_max_ms: Annotated[int, at_least(1)] = prop(
        "batch.max.ms",
        5_000,
        doc="Maximum duration of one batch in milliseconds. A sink that takes Spark DataFrames "
        "collects records for that long.",
        le=_INT,
    )
    batch_linger_ms: Annotated[int, at_least(0)] = prop(
        "batch.linger.ms",
        80,
        doc="Maximum time in milliseconds that records wait for more records of their batch at a low rate. The first record "
        "after a pause does not wait, nor does a full batch. 0: no record waits, and each small batch costs a commit or a "
        "write.",
        le=60_000,
    )

    @field_validator("transforms", "predicates")
    @classmethod
    def _aliases(cls, aliases: list[str]) -> list[str]:
        if len(set(aliases)) != len(aliases):
            duplicate = next(a for a in aliases if aliases.count(a) > 1)
            raise ValueError(f"Duplicate alias provided. {duplicate or 'An empty alias'} occurs more than once.")
        return aliases

    @classmethod
    def combined_problems(cls, texts: Mapping[str, str]) -> Iterable[Problem]:
        """Return problems of several properties together, which are reported even if one of them cannot be parsed."""
        return ()

    @classmethod
    def parse(cls, texts: Mapping[str, str], prefix: str = "") -> Self:
        """Parse like `Config.parse`, and report `combined_problems`, too."""
        problems = list(cls.combined_problems(texts))
        try:
            config = super().parse(texts, prefix)
        except ConfigError as e:
            raise ConfigError([*e.problems, *problems]) from None
        if problems:
            raise ConfigError(problems)
        return config


class SourceConfig(CommonConfig):
    """Framework properties of a source."""

    delivery_guarantee: Annotated[str | None, words("exactly-once", "at-least-once")] = prop(
        "delivery.guarantee",
        None,
        doc="`exactly-once`: records and offsets in one transaction; `at-least-once`: offsets after the records. "
        "Default: exactly once if the worker enables it.",
        importance=Importance.HIGH,
    )
    exactly_once_support: Annotated[str, words("required", "requested", any_case=True)] = prop(
        "exactly.once.support",
        "requested",
        doc="`required`: reject the configuration if exactly once is not supported (KIP-618).",
    )
    transaction_boundary: Annotated[str, words("poll", "interval", "connector", any_case=True)] = prop(
        "transaction.boundary",
        "poll",
        doc="`poll`: a transaction per batch; `interval`: all batches of an interval in one; "
        "`connector`: the connector ends them itself, if it can.",
    )
    transaction_boundary_interval_ms: Annotated[int | None, long, at_least(0)] = prop(
        "transaction.boundary.interval.ms",
        None,
        doc="The interval in milliseconds. Default: the worker's `offset.flush.interval.ms`.",
        importance=Importance.LOW,
    )
    offsets_storage_topic: Annotated[str | None, not_blank] = prop(
        "offsets.storage.topic",
        None,
        doc="Separate topic for this connector's offsets. Default: the worker's.",
        importance=Importance.LOW,
    )

    @classmethod
    def combined_problems(cls, texts: Mapping[str, str]) -> Iterable[Problem]:
        """Yield problems of delivery guarantees that contradict each other."""
        text = {name: value.strip().lower() for name, value in texts.items()}
        if text.get("exactly.once.support") == "required" and text.get("delivery.guarantee") == "at-least-once":
            yield Problem("exactly.once.support", "required contradicts delivery.guarantee=at-least-once; remove one")


class SinkConfig(CommonConfig):
    """Framework properties of a sink."""

    topics: list[str] = prop("topics", [], doc="The topics to consume.", importance=Importance.HIGH)
    topics_regex: Annotated[str, java_regex] = prop(
        "topics.regex",
        "",
        doc="Instead of `topics`: a Java regular expression that must match whole topic names; later topics are included.",
        importance=Importance.HIGH,
    )
    sink_retry_timeout_ms: Annotated[int, at_least(-1)] = prop(
        "sink.retry.timeout.ms",
        -1,
        doc="How long, in milliseconds, a batch is retried on the sink's request. -1: forever; 0: never.",
        le=2**63 - 1,
    )
    sink_retry_delay_max_ms: Annotated[int, at_least(0)] = prop(
        "sink.retry.delay.max.ms", 60_000, doc="Maximum delay between these retries in milliseconds.", le=_INT
    )

    @classmethod
    def combined_problems(cls, texts: Mapping[str, str]) -> Iterable[Problem]:
        """Return problems of `topics` and `topics.regex`: both, neither, a topic twice, or the dead letter queue in them."""
        topics = items(texts.get("topics", ""))
        pattern = trimmed(texts.get("topics.regex", ""))
        dlq = trimmed(texts.get("errors.deadletterqueue.topic.name", ""))
        if bool(topics) == bool(pattern):
            yield from (
                Problem(
                    name,
                    "topics and topics.regex are mutually exclusive options, but both are set."
                    if topics
                    else "Must configure one of topics or topics.regex",
                )
                for name in ("topics", "topics.regex")
            )
        if "" in topics:
            yield Problem("topics", "Configuration 'topics' values must not be empty; remove the extra comma.")
        if len(set(topics)) != len(topics):
            yield Problem("topics", "Configuration 'topics' values must not be duplicated.")
        if dlq and dlq in topics:
            yield Problem(
                "topics",
                f"The DLQ topic '{dlq}' may not be included in the list of topics ('topics=[{', '.join(topics)}]') "
                f"consumed by the connector",
            )
        if dlq and pattern and _matches(pattern, dlq):
            yield Problem(
                "topics.regex",
                f"The DLQ topic '{dlq}' may not be matched by the regex for the topics ('topics.regex={pattern}') "
                f"consumed by the connector",
            )


def config_class(kind: str) -> type[SourceConfig] | type[SinkConfig]:
    """Return the framework properties of a `source` or a `sink`."""
    return SourceConfig if kind == "source" else SinkConfig


def _matches(pattern: str, topic: str) -> bool:
    from penstock_java_compat.regex import compile_java

    try:
        return compile_java(pattern).matches(topic)
    except ValueError:
        return False  # reported as a problem of the pattern itself
