"""TimestampRouter: put the record's timestamp into the name of its topic."""

from penstock import Config, DataError, Importance, Record, RecordBatch, Transform, prop
from penstock_java_compat.date_format import PatternError, SimpleDateFormat

__all__ = ["TimestampRouter"]

_TOPIC, _TIMESTAMP = "${topic}", "${timestamp}"


class TimestampRouterConfig(Config):
    topic_format: str = prop(
        "topic.format",
        "${topic}-${timestamp}",
        doc="Format string which can contain ${topic} and ${timestamp} as placeholders for the topic and timestamp, "
        "respectively.",
        importance=Importance.HIGH,
    )
    timestamp_format: str = prop(
        "timestamp.format",
        "yyyyMMdd",
        doc="Format string for the timestamp that is compatible with java.text.SimpleDateFormat.",
        importance=Importance.HIGH,
    )


class TimestampRouter(Transform):
    """Update the record's topic field as a function of the original topic value and the record timestamp, in UTC.

    This is mainly useful for sink connectors, since the topic field is often used to determine the equivalent entity name
    in the destination system. An invalid `timestamp.format` fails at the first record that has a timestamp, as in Kafka
    Connect.
    """

    Config = TimestampRouterConfig
    java_names = ("org.apache.kafka.connect.transforms.TimestampRouter",)

    def configure(self, config: TimestampRouterConfig) -> None:
        self._topic_format = config.topic_format
        self._format: SimpleDateFormat | PatternError
        try:
            self._format = SimpleDateFormat(config.timestamp_format)
        except PatternError as e:
            self._format = e

    def apply(self, record: Record) -> Record:
        """Return the record with its new topic; the partition stays.

        Raises:
            DataError: the record has no timestamp.
            ValueError: `timestamp.format` is not a valid pattern.
            TypeError: the record has no topic.
        """
        if record.timestamp is None:
            raise _no_timestamp()
        text = self._pattern().format(record.timestamp)
        return record.replace(topic=self._with_topic(record.topic).replace(_TIMESTAMP, text))

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """Change as `apply` does, once for each topic and formatted time."""
        if not len(batch):
            return batch
        stamps = batch.timestamp
        if stamps is None or (isinstance(stamps, list) and None in stamps):
            raise _no_timestamp()
        texts = self._pattern().format_all(stamps if isinstance(stamps, list) else [stamps])  # type: ignore[arg-type]
        if isinstance(batch.topic, list):
            templates = {topic: self._with_topic(topic) for topic in set(batch.topic)}
            every = texts if isinstance(stamps, list) else texts * len(batch)
            pairs = zip(batch.topic, every, strict=True)
            return batch.replace(topic=[templates[topic].replace(_TIMESTAMP, text) for topic, text in pairs])
        template = self._with_topic(batch.topic)
        topics = {text: template.replace(_TIMESTAMP, text) for text in set(texts)}
        if len(topics) == 1:
            return batch.replace(topic=next(iter(topics.values())))
        return batch.replace(topic=[topics[text] for text in texts])

    def _pattern(self) -> SimpleDateFormat:
        if isinstance(self._format, PatternError):
            raise PatternError(f"timestamp.format: {self._format}")
        return self._format

    def _with_topic(self, topic: str | None) -> str:
        if topic is None:
            raise TypeError("cannot route a record without a topic")
        return self._topic_format.replace(_TOPIC, topic)


def _no_timestamp() -> DataError:
    return DataError(
        "Timestamp missing on record: TimestampRouter needs it. Give the records timestamps, or guard the transform "
        "with a predicate."
    )
