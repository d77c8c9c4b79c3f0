"""Check topic names that a configuration contains literally. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from penstock.errors import Problem
from penstock_java_compat.property_text import items, trimmed

__all__ = ["TopicNameProblem", "is_topic_name", "topic_name_problems"]

_NAME: Final = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")
_TOPICS: Final = ("errors.deadletterqueue.topic.name", "offsets.storage.topic")
_CERTAIN: Final[Mapping[str | None, frozenset[str]]] = {
    "source": frozenset(_TOPICS),
    "sink": frozenset((_TOPICS[0], "topics")),
}
"""Properties whose values Kafka certainly receives as topic names, by kind of connector."""
_LONGEST_SHOWN: Final = 60


class TopicNameProblem(NamedTuple):
    """Topic name that Kafka rejects.

    Attributes:
        problem: the property and the cause.
        is_certain: whether Kafka certainly receives the name.
    """

    problem: Problem
    is_certain: bool


def is_topic_name(text: str) -> bool:
    """Return whether Kafka accepts a topic with this name."""
    return _NAME.fullmatch(text) is not None


def topic_name_problems(
    kind: str | None, config: Mapping[str, str], *, is_built_in: bool
) -> Iterator[TopicNameProblem]:
    """Yield a problem for each topic name that Kafka rejects.

    Args:
        kind: `source`, `sink`, or None if unknown.
        config: properties without variables.
        is_built_in: whether the connector is built in. For others, `topic` may be a topic of another system.
    """
    certain = _CERTAIN.get(kind, frozenset())
    for name in (*_TOPICS, *(("topic",) if is_built_in and kind == "source" else ())):
        text = trimmed(config.get(name, ""))
        if text and not is_topic_name(text):
            # A transform may replace the topic of each record.
            is_certain = name in certain if name != "topic" else "transforms" not in config
            yield TopicNameProblem(Problem(name, _message(text)), is_certain)
    for text in items(config.get("topics", "")) if kind != "source" else ():
        if text and not is_topic_name(text):
            yield TopicNameProblem(Problem("topics", _message(text)), "topics" in certain)


def _message(text: str) -> str:
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    return (
        f"Kafka accepts no topic named '{shown}'; use up to 249 ASCII letters, digits, '.', '_' and '-', and neither '.' "
        "nor '..'"
    )
