"""Predicates on a record's topic, on its headers, and on tombstones."""

from operator import attrgetter
from typing import Final

from pydantic import field_validator

from penstock import Config, Importance, Predicate, Record, RecordBatch, prop
from penstock_java_compat.regex import compile_java

__all__ = ["HasHeaderKey", "RecordIsTombstone", "TopicNameMatches"]


_NAME_OF: Final = attrgetter("name")


class TopicNameMatchesConfig(Config):
    pattern: str = prop(
        "pattern",
        doc="A Java regular expression for matching against the name of a record's topic.",
        importance=Importance.MEDIUM,
        valid="a Java regular expression, not empty",
    )

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, text: str) -> str:
        if not text:
            raise ValueError("String must be non-empty")
        compile_java(text)
        return text


class TopicNameMatches(Predicate):
    """True for records whose topic's whole name matches the pattern; a record without a topic never matches."""

    Config = TopicNameMatchesConfig
    java_names = ("org.apache.kafka.connect.transforms.predicates.TopicNameMatches",)

    def configure(self, config: TopicNameMatchesConfig) -> None:
        self._pattern = compile_java(config.pattern)

    def test(self, record: Record) -> bool:
        """Return whether the whole name of the topic matches."""
        return record.topic is not None and self._pattern.matches(record.topic)

    def test_batch(self, batch: RecordBatch) -> bool | list[bool]:
        """Test as `test` does; match each topic once."""
        topics = batch.topic
        if not isinstance(topics, list):
            return topics is not None and self._pattern.matches(topics)
        answers = {t: t is not None and self._pattern.matches(t) for t in set(topics)}
        return [answers[t] for t in topics]


class HasHeaderKeyConfig(Config):
    name: str = prop("name", doc="The header name.", importance=Importance.MEDIUM, valid="not empty")

    @field_validator("name")
    @classmethod
    def _not_empty(cls, text: str) -> str:
        if not text:
            raise ValueError("String must be non-empty")
        return text


class HasHeaderKey(Predicate):
    """True for records with at least one header of that name, with any value."""

    Config = HasHeaderKeyConfig
    java_names = ("org.apache.kafka.connect.transforms.predicates.HasHeaderKey",)

    def configure(self, config: HasHeaderKeyConfig) -> None:
        self._name = config.name

    def test(self, record: Record) -> bool:
        """Return whether the record has a header of that name."""
        return self._name in map(_NAME_OF, record.headers)

    def test_batch(self, batch: RecordBatch) -> bool | list[bool]:
        """Test as `test` does; return one result if no record has headers."""
        return batch.has_header(self._name)


class RecordIsTombstone(Predicate):
    """True for records with a null value, with any schema and key."""

    java_names = ("org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",)

    def test(self, record: Record) -> bool:
        """Return whether the value is null."""
        return record.value is None

    def test_batch(self, batch: RecordBatch) -> bool | list[bool]:
        """Test as `test` does; return a single result only if all values are null, or if no value is null."""
        if batch.fields is not None:
            return False
        values = batch.value
        if values is None:
            return True
        if type(None) not in set(map(type, values)):
            return False
        return [v is None for v in values]
