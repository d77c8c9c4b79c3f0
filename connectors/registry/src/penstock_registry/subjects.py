"""Subjects of schemas in a registry, and the strategies that name them."""

from collections.abc import Callable, Mapping
from typing import Annotated, Final

from penstock import DataError
from penstock_registry.class_names import one_class

__all__ = ["Strategy", "strategy_named", "subject_strategy"]

Strategy = Callable[[str, bool, str | None], str]
"""Function that returns the subject for a topic, a flag whether the value is a key, and the record's full name or None."""


def _topic(topic: str, is_key: bool, record: str | None) -> str:
    return f"{topic}-{'key' if is_key else 'value'}"


def _record(topic: str, is_key: bool, record: str | None) -> str:
    if record is None:
        side = "key" if is_key else "value"
        raise DataError(
            f"cannot name the subject of a {side} that is not a record: RecordNameStrategy and TopicRecordNameStrategy use "
            f"the name of the record; set {side}.subject.name.strategy to TopicNameStrategy"
        )
    return record


def _topic_record(topic: str, is_key: bool, record: str | None) -> str:
    return f"{topic}-{_record(topic, is_key, record)}"


_STRATEGIES: Final[Mapping[str, Strategy]] = {
    "TopicNameStrategy": _topic,
    "RecordNameStrategy": _record,
    "TopicRecordNameStrategy": _topic_record,
}


def strategy_named(name: str) -> Strategy:
    """Return the strategy with this name, which `subject_strategy` has accepted."""
    return _STRATEGIES[name]


subject_strategy = Annotated[
    str,
    one_class(
        ("io.confluent.kafka.serializers.subject.",), tuple(_STRATEGIES), "other strategies in Java are not supported"
    ),
]
"""Value of a property that names a strategy, with or without the package of Confluent's class."""
