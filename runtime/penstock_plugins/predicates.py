"""Predicates on a record's topic and on tombstones."""

from pydantic import field_validator

from penstock import Config, Importance, Predicate, Record, RecordBatch, prop
from penstock.java_regex import compile_java

__all__ = ["RecordIsTombstone", "TopicNameMatches"]


class TopicNameMatchesConfig(Config):
    """The properties of TopicNameMatches."""

    pattern: str = prop(
        "pattern",
        doc="A Java regular expression for matching against the name of a record's topic.",
        importance=Importance.MEDIUM,
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
        """Take the parsed `Config`."""
        self._pattern = compile_java(config.pattern)

    def test(self, record: Record) -> bool:
        """Whether the whole topic name matches."""
        return record.topic is not None and self._pattern.matches(record.topic)

    def test_batch(self, batch: RecordBatch) -> bool | list[bool]:
        """One answer for a batch of one topic; each topic is tried once."""
        topics = batch.topic
        if not isinstance(topics, list):
            return topics is not None and self._pattern.matches(topics)
        answers = {t: t is not None and self._pattern.matches(t) for t in set(topics)}
        return [answers[t] for t in topics]


class RecordIsTombstone(Predicate):
    """True for records with a null value, whatever their schema and key."""

    java_names = ("org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",)

    def test(self, record: Record) -> bool:
        """Whether the value is null."""
        return record.value is None

    def test_batch(self, batch: RecordBatch) -> bool | list[bool]:
        """One answer where no value is null, or all are."""
        if batch.fields is not None:
            return False
        values = batch.value
        if values is None:
            return True
        if type(None) not in set(map(type, values)):
            return False
        return [v is None for v in values]
