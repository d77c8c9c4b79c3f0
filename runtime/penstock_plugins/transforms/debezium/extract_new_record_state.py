"""ExtractNewRecordState: replace Debezium's change events with the rows that they contain."""

from functools import reduce
from operator import itemgetter
from typing import Any, Final

from penstock import DataError, Header, Record, RecordBatch, Schema, Transform, Type
from penstock.fields import Column
from penstock.schema import STRING
from penstock_java_compat.property_text import trimmed
from penstock_plugins.structs.header_columns import appended_headers, header_column
from penstock_plugins.structs.schema_cache import SchemaCache
from penstock_plugins.transforms.debezium.change_events import ChangeEvents, RowPlan, is_envelope
from penstock_plugins.transforms.debezium.event_columns import event_columns, listed, rows_of, with_rows
from penstock_plugins.transforms.debezium.extract_new_record_state_config import ExtractNewRecordStateConfig
from penstock_plugins.transforms.debezium.field_references import read_references
from penstock_plugins.transforms.debezium.listed_fields import ListedFields

__all__ = ["ExtractNewRecordState"]

_MOST_GROUPS: Final = 16
"""Maximum number of schemas in a batch; records of a batch with more are changed one by one."""


class ExtractNewRecordState(Transform):
    """Replace each change event of Debezium with the row that it contains; other records do not change."""

    Config = ExtractNewRecordStateConfig
    java_names = ("io.debezium.transforms.ExtractNewRecordState",)

    def configure(self, config: ExtractNewRecordStateConfig) -> None:
        self._deletes = config.deletes
        self._fields = read_references(config.fields, config.field_prefix)
        self._headers = read_references(config.headers, config.header_prefix)
        self._of_tombstones = tuple(Header(r.name, "d", STRING) for r in self._headers if r.field == "op")
        self._route = config.route
        self._drop_header = None if _is_blank(config.drop_header) else config.drop_header
        self._listed = ListedFields(from_key=config.drop_from_key, only_optional=config.keep_compatible)
        self._fill = config.replace_null
        self._events = SchemaCache(self._events_of)

    def _events_of(self, schema: Schema) -> ChangeEvents:
        rewrites = self._deletes.delete == "rewrite"
        return ChangeEvents(schema, self._fields, self._headers, rewrites=rewrites, fill=self._fill)

    def apply(self, record: Record) -> Record | None:
        """Return the row of a change event; None for a record that is dropped.

        Raises:
            DataError: the row is not a struct, a required field is null, or the topic's field is absent or not a string.
            SchemaBuilderError: the row already has a field that would be added.
            TypeError: the envelope lacks the struct of a field or header to add (NullPointerException in Java).
            ValueError: the envelope has no row.
        """
        event, schema = record.value, record.value_schema
        if event is None:
            if self._deletes.drops_tombstones:
                return None
            return record.replace(headers=record.headers + self._of_tombstones) if self._of_tombstones else record
        if schema is None or not is_envelope(schema):
            return record
        events = self._events[schema]
        if not isinstance(event, dict):
            raise DataError("Only Struct objects supported for [field extraction]")
        if events.headers:
            added = tuple([Header(a.name, a.value(event), a.schema) for a in events.headers])
            record = record.replace(headers=record.headers + added)
        row = _or_default(event.get("after"), events.after.schema)
        if row is not None:
            return self._live(record, events.live, event, row)
        row = _or_default(event.get("before"), events.before.schema)
        return None if row is None else self._gone(record, events, event, row)

    def _live(self, record: Record, plan: RowPlan, event: dict[str, Any], row: Any) -> Record:
        new = plan.row(row)
        topic = self._topic(record.topic, plan.base_schema, new) if self._route else record.topic
        for added in plan.added:
            new[added.name] = added.value(event)
        return self._without_listed(record.replace(topic=topic, value=new, value_schema=plan.schema))

    def _gone(self, record: Record, events: ChangeEvents, event: dict[str, Any], row: Any) -> Record | None:
        match self._deletes.delete:
            case "drop":
                return None
            case "null":
                record = record.replace(value=None, value_schema=events.after.schema)
            case "tombstone":
                record = record.replace(value=None, value_schema=None)
            case _:
                record = record.replace(value=events.gone.row(row), value_schema=events.gone.base_schema)
        if self._route:
            topic = self._topic(record.topic, events.before.schema, event.get("before"))
            record = record.replace(topic=topic)
        record = self._without_listed(record)
        if record.value is None or record.value_schema is None:
            return record
        plan = events.gone
        schema = plan.schema if record.value_schema is plan.base_schema else plan.with_added(record.value_schema)
        new = {**record.value, **{a.name: a.value(event) for a in plan.added}}
        return record.replace(value=new, value_schema=schema)

    def _topic(self, topic: str | None, schema: Schema, row: dict[str, Any] | None) -> str | None:
        self._check_route(schema)
        if row is None:
            raise TypeError(f"cannot route by field {self._route}: the row is null")
        text = row.get(self._route)
        return topic if _is_blank(text) else text

    def _check_route(self, schema: Schema) -> None:
        field = schema.field(self._route) if schema.type is Type.STRUCT else None
        if field is None or field.schema.type is not Type.STRING:
            raise DataError(
                f"route.by.field: {self._route} is not a valid field name"
                if field is None
                else f"Field '{self._route}' is not of type STRING"
            )

    def _without_listed(self, record: Record) -> Record:
        """Return the record without the fields that its header lists."""
        if self._drop_header is not None:
            header = next((h for h in record.headers if h.name == self._drop_header), None)
            if header is not None and header.value is not None:
                return self._listed.removed(record, header.value)
        return record

    def apply_batch(self, batch: RecordBatch) -> RecordBatch:
        """Change as `apply` does, by columns for the records of each schema."""
        if self._drop_header is not None and batch.has_header(self._drop_header) is not False:
            return self._one_by_one(batch)
        if batch.fields is not None and not isinstance(batch.value_schema, list):
            return self._of_schema(batch, batch.value_schema)
        values = batch.value
        if values is None:
            return self._tombstones(batch)
        if not isinstance(batch.value_schema, list) and None not in values:
            return self._of_schema(batch, batch.value_schema)
        groups: dict[int, tuple[Schema | None, bool, list[int]]] = {}
        for row, (schema, value) in enumerate(zip(batch.column("value_schema"), values, strict=True)):
            key = 0 if value is None else id(schema)
            groups.setdefault(key, (schema, value is None, []))[2].append(row)
        if len(groups) > _MOST_GROUPS:
            return self._one_by_one(batch)
        parts = []
        for schema, null, rows in groups.values():
            part = batch.take(rows)
            parts.append(self._tombstones(part) if null else self._of_schema(part.replace(value_schema=schema), schema))
        return reduce(RecordBatch.merged, parts)

    def _one_by_one(self, batch: RecordBatch) -> RecordBatch:
        made = zip(map(self.apply, batch.records()), batch.positions, strict=True)
        kept = [(record, position) for record, position in made if record is not None]
        return RecordBatch.of([r for r, _ in kept], like=batch, positions=[position for _, position in kept])

    def _tombstones(self, batch: RecordBatch) -> RecordBatch:
        if self._deletes.drops_tombstones:
            return batch.take(())
        return reduce(RecordBatch.with_header, self._of_tombstones, batch)

    def _of_schema(self, batch: RecordBatch, schema: Schema | None) -> RecordBatch:
        """Change records of one schema, whose values are not null."""
        if schema is None or not is_envelope(schema):
            return batch
        try:
            return self._by_columns(batch, self._events[schema])
        except KeyError:  # a row has no fields, or lacks one
            return self._one_by_one(batch)

    def _by_columns(self, batch: RecordBatch, events: ChangeEvents) -> RecordBatch:
        columns, length = event_columns(batch), len(batch)
        if events.headers:
            added = [header_column(length, a.name, a.schema, a.column(columns, length)) for a in events.headers]
            batch = batch.replace(headers=appended_headers(batch, added))
        afters = rows_of(columns["after"], events.after.schema, length)
        if None not in afters:
            return self._live_rows(batch, events.live, afters)
        befores = rows_of(columns[events.before.name], events.before.schema, length)
        live = [i for i, row in enumerate(afters) if row is not None]
        gone = [i for i, row in enumerate(befores) if row is not None and afters[i] is None]
        parts = []
        if live:
            parts.append(self._live_rows(batch.take(live), events.live, [afters[i] for i in live]))
        if gone and self._deletes.delete != "drop":
            parts.append(self._gone_rows(batch.take(gone), events, [befores[i] for i in gone]))
        return reduce(RecordBatch.merged, parts) if parts else batch.take(())

    def _live_rows(self, batch: RecordBatch, plan: RowPlan, rows: list[Any]) -> RecordBatch:
        fields = plan.rows(rows)
        if self._route:
            self._check_route(plan.base_schema)
            batch = self._routed(batch, fields.columns[self._route])
        return with_rows(batch, plan, fields)

    def _gone_rows(self, batch: RecordBatch, events: ChangeEvents, rows: list[Any]) -> RecordBatch:
        if self._route:
            self._check_route(events.before.schema)
            stored = listed(event_columns(batch)["before"], len(batch))
            batch = self._routed(batch, list(map(itemgetter(self._route), stored)))
        match self._deletes.delete:
            case "null":
                return batch.replace(value=None, value_schema=events.after.schema)
            case "tombstone":
                return batch.replace(value=None, value_schema=None)
            case _:
                return with_rows(batch, events.gone, events.gone.rows(rows))

    def _routed(self, batch: RecordBatch, texts: Column) -> RecordBatch:
        pairs = zip(batch.column("topic"), listed(texts, len(batch)), strict=True)
        return batch.replace(topic=[topic if _is_blank(text) else text for topic, text in pairs])


def _or_default(value: Any, schema: Schema) -> Any:
    return schema.default if value is None else value


def _is_blank(text: str | None) -> bool:
    return text is None or not trimmed(text)
