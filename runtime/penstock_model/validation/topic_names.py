"""Check names of topics that a configuration writes literally. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from penstock.errors import Problem
from penstock_java_compat.property_text import items, trimmed

__all__ = ["is_topic_name", "topic_name_problems"]

_NAME: Final = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")
_TOPICS: Final = ("errors.deadletterqueue.topic.name", "offsets.storage.topic")
_LONGEST_SHOWN: Final = 60


def is_topic_name(text: str) -> bool:
    """Return whether Kafka accepts a topic of this name."""
    return _NAME.fullmatch(text) is not None


def topic_name_problems(config: Mapping[str, str], more: tuple[str, ...] = ()) -> Iterator[Problem]:
    """Yield a problem for each name that Kafka refuses.

    Args:
        config: properties without variables.
        more: further properties that hold the name of a topic.
    """
    for name in (*_TOPICS, *more):
        text = trimmed(config.get(name, ""))
        if text and not is_topic_name(text):
            yield Problem(name, _message(text))
    for text in items(config.get("topics", "")):
        if text and not is_topic_name(text):
            yield Problem("topics", _message(text))


def _message(text: str) -> str:
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    return (
        f"Kafka accepts no topic named '{shown}'; use up to 249 ASCII letters, digits, '.', '_' and '-', and neither '.' "
        "nor '..'"
    )
