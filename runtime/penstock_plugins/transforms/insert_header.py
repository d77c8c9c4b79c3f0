"""InsertHeader: add one header, the same on every record."""

from penstock import Config, Header, Importance, Record, RecordBatch, Transform, prop
from penstock_plugins.connect.literals.reader import parse_literal

__all__ = ["InsertHeader"]


class InsertHeaderConfig(Config):
    header: str = prop("header", doc="The name of the header.", importance=Importance.HIGH)
    literal: str = prop(
        "value.literal",
        doc="The literal value that is to be set as the header value on all records.",
        importance=Importance.HIGH,
    )


class InsertHeader(Transform):
    """Add a header to each record, after the existing ones; the literal determines the type of its value."""

    Config = InsertHeaderConfig
    java_names = ("org.apache.kafka.connect.transforms.InsertHeader",)

    def configure(self, config: InsertHeaderConfig) -> None:
        """Take the parsed `Config`, and read the literal as header converters do."""
        schema, value = parse_literal(config.literal)
        self._header = Header(config.header, value, schema)

    def apply(self, record: Record) -> Record:
        """Return the record with the header."""
        return record.replace(headers=(*record.headers, self._header))

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        return batch.with_header(self._header)
