"""Strategies that name the artifact of a schema in Apicurio's registry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final
from urllib.parse import quote, unquote

from penstock import DataError
from penstock_registry.class_names import one_class

__all__ = ["Artifact", "artifact_strategy", "strategy_for"]

_DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True)
class Artifact:
    """Artifact: a schema with its versions."""

    group: str
    id: str

    @property
    def path(self) -> str:
        """Return its path, relative to the registry's API."""
        return f"groups/{quote(self.group, safe='')}/artifacts/{quote(self.id, safe='')}"

    @classmethod
    def at(cls, path: str) -> "Artifact":
        """Return the artifact at a path."""
        _, group, _, artifact = path.split("/")
        return cls(unquote(group), unquote(artifact))


def _topic(topic: str, is_key: bool, record: str | None) -> Artifact:
    return Artifact(_DEFAULT, f"{topic}-{'key' if is_key else 'value'}")


def _simple(topic: str, is_key: bool, record: str | None) -> Artifact:
    return Artifact(_DEFAULT, topic)


def _qualified(topic: str, is_key: bool, record: str | None) -> Artifact:
    return Artifact(_DEFAULT, _name(record))


def _record(topic: str, is_key: bool, record: str | None) -> Artifact:
    group, _, name = _name(record).rpartition(".")
    return Artifact(group or _DEFAULT, name)


def _topic_record(topic: str, is_key: bool, record: str | None) -> Artifact:
    found = _record(topic, is_key, record)
    return Artifact(found.group, f"{topic}-{found.id}")


def _name(record: str | None) -> str:
    if record is None:
        raise DataError(
            "cannot name the artifact of a value that is not a record: the strategy uses the name of the record; set "
            "apicurio.registry.artifact-resolver-strategy to TopicIdStrategy"
        )
    return record


_STRATEGIES: Final[Mapping[str, Callable[[str, bool, str | None], Artifact]]] = {
    "TopicIdStrategy": _topic,
    "SimpleTopicIdStrategy": _simple,
    "QualifiedRecordIdStrategy": _qualified,
    "RecordIdStrategy": _record,
    "TopicRecordIdStrategy": _topic_record,
}

artifact_strategy = Annotated[
    str,
    one_class(
        ("io.apicurio.registry.serde.strategy.", "io.apicurio.registry.serde.avro.strategy."),
        tuple(_STRATEGIES),
        "other strategies in Java are not supported",
    ),
]
"""Value of a property that names a strategy, with or without the package of Apicurio's class."""


def strategy_for(name: str, group: str | None, artifact: str | None) -> Callable[[str, bool, str | None], str]:
    """Return the function that names the artifact of a schema by its path.

    Args:
        name: the strategy.
        group: group of all artifacts; None for the strategy's.
        artifact: id of all artifacts; None for the strategy's.
    """
    strategy = _STRATEGIES[name]

    def path(topic: str, is_key: bool, record: str | None) -> str:
        found = Artifact(group or _DEFAULT, artifact) if artifact else strategy(topic, is_key, record)
        return (Artifact(group, found.id) if group else found).path

    return path
