"""RegexRouter: rename topics with a Java regular expression."""

from pydantic import field_validator

from penstock import Config, Importance, Record, RecordBatch, Transform, prop
from penstock_java_compat.regex import compile_java

__all__ = ["RegexRouter"]


class RegexRouterConfig(Config):
    regex: str = prop(
        "regex",
        doc="Regular expression to use for matching.",
        importance=Importance.HIGH,
        valid="a Java regular expression",
    )
    replacement: str = prop("replacement", doc="Replacement string.", importance=Importance.HIGH)

    @field_validator("regex")
    @classmethod
    def _compiles(cls, text: str) -> str:
        compile_java(text)
        return text


class RegexRouter(Transform):
    """Update the record topic using the configured regular expression and replacement string.

    If the expression matches the whole topic, the first match of a new search is replaced, as in Java: `foo|foobar` on
    `foobar` replaces only `foo`.
    """

    Config = RegexRouterConfig
    java_names = ("org.apache.kafka.connect.transforms.RegexRouter",)

    def configure(self, config: RegexRouterConfig) -> None:
        self._pattern = compile_java(config.regex)
        self._replacement = config.replacement

    def apply(self, record: Record) -> Record:
        """Return the record with its new topic; the partition stays.

        Raises:
            TypeError: the record has no topic.
            ValueError, IndexError: the replacement refers to a group that the expression does not have.
        """
        return record.replace(topic=self._routed(record.topic))

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """Change as `apply` does, once for each topic."""
        topics = batch.topic
        if not isinstance(topics, list):
            return batch.replace(topic=self._routed(topics)) if len(batch) else batch
        routed = {t: self._routed(t) for t in set(topics)}
        return batch.replace(topic=[routed[t] for t in topics])

    def _routed(self, topic: str | None) -> str:
        if topic is None:
            raise TypeError("cannot route a record without a topic")
        if not self._pattern.matches(topic):
            return topic
        return self._pattern.replace_first(topic, self._replacement)
