"""Conversion of records to rows: the columns of the records of a batch, and their values. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from penstock import DataError, Fields, RecordBatch, Same, Schema, Type
from penstock_sql.dialects.base import Place
from penstock_sql.names import OFFSETS, TableName
from penstock_sql.sink.config import KAFKA_COLUMNS, SqlSinkConfig
from penstock_sql.sink.debezium.events import is_event, opened

__all__ = ["Refused", "Rows", "rows_of"]


class Refused(NamedTuple):
    """Record that cannot become a row, and the reason."""

    place: Place
    error: DataError


@dataclass(frozen=True, slots=True)
class Rows:
    """Records that become rows with the same columns.

    Attributes:
        table: the table of all rows.
        keys: the columns of the primary key, which come first.
        columns: the values of each column, primary key first.
        schemas: the schema of each column; None if records have no schema.
        places: the record of each row.
        delete: whether the rows with these keys are deleted.
        kept: columns that keep their stored value, since the records have no value for them.
    """

    table: TableName
    keys: tuple[str, ...]
    columns: Mapping[str, list[Any]]
    schemas: Mapping[str, Schema | None]
    places: Sequence[Place]
    delete: bool = False
    kept: tuple[str, ...] = ()

    def without(self, rows: Iterable[int]) -> "Rows":
        """Return all rows except these."""
        gone = set(rows)
        return self.keeping([row for row in range(len(self.places)) if row not in gone], self.kept)

    def keeping(self, rows: Sequence[int], kept: tuple[str, ...]) -> "Rows":
        """Return only these rows, without the columns that keep their stored value."""
        columns = {name: [column[row] for row in rows] for name, column in self.columns.items() if name not in kept}
        return replace(self, columns=columns, places=[self.places[row] for row in rows], kept=kept)


_Column = tuple[list[Any], Schema | None]


def rows_of(number: int, batch: RecordBatch, config: SqlSinkConfig, refused: list[Refused]) -> Iterator[Rows]:
    """Yield the rows of a batch, grouped by columns. Records that cannot become rows are added to `refused`."""
    for rows in _alike(batch, keyed=config.pk_mode == "record_key", events=config.envelopes):
        part = batch if len(rows) == batch.length else batch.take(rows)
        places = [Place(number, row) for row in rows]
        try:
            if (found := _rows(part, places, config)) is not None:
                yield found
        except DataError as e:
            refused += (Refused(place, e) for place in places)


def _alike(batch: RecordBatch, *, keyed: bool, events: bool) -> Iterable[Sequence[int]]:
    """Group the indexes of records by topic, schema and set of fields.

    Args:
        batch: the records.
        keyed: group by the fields of keys, too.
        events: group Debezium's change events by the operation and by the fields of the row.
    """
    keys = (batch.key if keyed else None) or [None] * batch.length
    same = not any(isinstance(column, list) for column in (batch.topic, batch.key_schema, batch.value_schema))
    whole = batch.fields is not None and not (events and is_event(batch.fields.columns))
    if same and whole and len(kinds := set(map(type, keys))) == 1 and dict not in kinds:
        return [range(batch.length)]
    groups: dict[Any, list[int]] = {}
    columns = (batch.column(name) for name in ("topic", "key_schema", "value_schema"))
    values = (batch.value if batch.fields is None or whole else batch.column("value")) or [None] * batch.length
    for row, (topic, key_schema, value_schema, key, value) in enumerate(zip(*columns, keys, values, strict=True)):
        form = (topic, id(key_schema), id(value_schema), _form(key), *_form_of_value(value, events=events))
        groups.setdefault(form, []).append(row)
    return groups.values()


def _form(value: Any) -> Any:
    return tuple(value) if type(value) is dict else type(value)


def _form_of_value(value: Any, *, events: bool) -> tuple[Any, ...]:
    return (value["op"], _form(value["after"])) if events and is_event(value) else (_form(value),)


def _rows(part: RecordBatch, places: Sequence[Place], config: SqlSinkConfig) -> Rows | None:
    """Convert records of one form to rows; return None if they are skipped.

    Raises:
        DataError: they cannot become rows.
    """
    topic = (part.topic[0] if isinstance(part.topic, list) else part.topic) or ""
    table = config.table(topic)
    if table.name == OFFSETS:
        raise DataError(
            f"cannot write records to table {OFFSETS}, which stores the connectors' offsets; change "
            f"{config.name_of('table.name.format')}"
        )
    schema = _one(part.value_schema)
    values = None if part.fields is not None else part.column("value")
    if config.envelopes and is_event(part.fields.columns if part.fields is not None else part.column("value")[0]):
        values, schema = opened(part.column("value"), schema)
        if not values:
            return None
    delete = values is not None and values[0] is None
    if delete and not config.delete_enabled:
        if config.skips_deletes:
            return None
        raise DataError(
            "cannot build a row: the record has no value; set delete.enabled: true, with pk.mode: record_key, to delete its "
            "row"
        )
    fields = {} if delete else _fields(values or part.fields, schema, "value")
    keys = _keys(part, fields, config)
    others = {name: column for name, column in fields.items() if name not in keys and config.takes(topic, name)}
    if not keys and not others:
        raise DataError(
            "cannot build a row: no field of the record becomes a column; check the record and fields.whitelist"
        )
    columns = {**keys, **({} if delete else others)}
    return Rows(
        table,
        tuple(keys),
        {name: column for name, (column, _) in columns.items()},
        {name: schema for name, (_, schema) in columns.items()},
        places,
        delete,
    )


def _keys(part: RecordBatch, fields: Mapping[str, _Column], config: SqlSinkConfig) -> dict[str, _Column]:
    """Return the columns of the primary key."""
    names = config.pk_fields
    match config.pk_mode:
        case "none":
            return {}
        case "kafka":
            place = (part.original_topic, part.original_partition)
            held: tuple[list[Any], ...] = ([place[0]] * part.length, [place[1]] * part.length, part.column("offset"))
            return {
                name: (column, Schema(of))
                for name, column, of in zip(
                    names or KAFKA_COLUMNS, held, (Type.STRING, Type.INT32, Type.INT64), strict=True
                )
            }
        case "record_value":
            return _chosen(fields, config, "value")
        case _:
            return _record_key(part, config)


def _record_key(part: RecordBatch, config: SqlSinkConfig) -> dict[str, _Column]:
    keys, schema, names = part.column("key"), _one(part.key_schema), config.pk_fields
    if keys[0] is None:
        raise DataError(
            f"cannot build the primary key: the record has no key, but {config.name_of('pk.mode')} is record_key; change "
            "it, or add keys with the transform ValueToKey"
        )
    if isinstance(keys[0], dict):
        return _chosen(_fields(keys, schema, "key"), config, "key")
    if len(names) != 1:
        raise DataError(
            f"cannot build the primary key: the key is a single value, for which {config.name_of('pk.fields')} must name "
            f"one column, not {list(names)}"
        )
    return {names[0]: (keys, schema)}


def _chosen(fields: Mapping[str, _Column], config: SqlSinkConfig, side: str) -> dict[str, _Column]:
    names = config.pk_fields
    missing = [name for name in names if name not in fields]
    if missing:
        raise DataError(
            f"cannot build the primary key: the record's {side} has no field {', '.join(missing)}, which "
            f"{config.name_of('pk.fields')} names; it has {', '.join(fields)}"
        )
    return {name: fields[name] for name in names or fields}


def _fields(values: Sequence[Any] | None, schema: Schema | None, side: str) -> dict[str, _Column]:
    """Return the fields of maps or structs of one form as columns."""
    assert values
    first: Any = values.columns if isinstance(values, Fields) else values[0]
    if not isinstance(first, Mapping):
        raise DataError(
            f"cannot build a row: the record's {side} is neither struct nor map, but a {type(first).__name__}; wrap it "
            "in a struct with the transform HoistField"
        )
    named: dict[str, Schema | None] = {} if schema is None else {field.name: field.schema for field in schema.fields}
    if schema is not None and schema.type is Type.MAP:
        named = dict.fromkeys(first, schema.values)
    if any(not isinstance(name, str) or not name for name in first):
        raise DataError(f"cannot build a row: a field of the record's {side} has a name that is empty or not a string")
    if isinstance(values, Fields):
        return {
            name: ([column.value] * len(values) if isinstance(column, Same) else column, named.get(name))
            for name, column in values.columns.items()
        }
    return {name: ([value[name] for value in values], named.get(name)) for name in first}


def _one(schema: Any) -> Schema | None:
    found: Schema | None = schema[0] if isinstance(schema, list) else schema
    return found
