"""Penstock's side of a case, by each of the ways in which the engine may go."""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from penstock import (
    ConfigError,
    Converter,
    Fields,
    Header,
    HeaderConverter,
    Record,
    RecordBatch,
    Schema,
)
from penstock_runtime.pipeline.chain import Step, transform
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, RetryWithToleranceOperator

from .. import codec
from ..connectors import set_up
from ..expecting import is_counterpart

__all__ = ["Answer", "Raised", "answers"]

Json = Any


class Raised:
    """An error and the phase that raised it."""

    def __init__(self, phase: str, error: Exception) -> None:
        self.phase = phase
        self.error = error

    def is_like(self, expected: Mapping[str, Any]) -> bool:
        """Whether Kafka Connect's error has this one for its counterpart.

        A configuration is refused by a `ConfigError`, which holds every problem, whatever class of theirs came first.
        """
        if self.phase != expected["phase"]:
            return False
        if self.phase == "config":
            return isinstance(self.error, ConfigError)
        return is_counterpart(self.error, expected["class"])

    def shown(self) -> Json:
        """As `expected` would show it."""
        return {"error": {"phase": self.phase, "class": type(self.error).__name__, "message": str(self.error)}}


Answer = Raised | Json
"""An error, or JSON in the normal form."""


def answers(case: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Answer]]]:
    """What Penstock makes of the case's records, or of its one message: by the name of each way, one answer each.

    An error of the configuration is one answer for all of them.
    """
    return _of_converter(case) if "source" in case else _of_chain(case)


def _caught(phase: str, work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as e:  # noqa: BLE001 (what a plugin raises is the answer)
        return Raised(phase, e)


# Chains


def _of_chain(case: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Answer]]]:
    nodes = case["input"]["records"]
    records = [codec.record(node, sink=case.get("kind") == "sink") for node in nodes]
    for way, run in (("record by record", _singly), ("as a batch", _as_batch), ("as columns", _as_columns)):
        # Each way has a chain of its own: some transforms remember what they have seen.
        steps = _caught("config", lambda: set_up(case["config"], sink=case.get("kind") == "sink").steps)
        if isinstance(steps, Raised):
            yield way, [steps]
            return
        made = run(steps, records)
        if made is not None:
            yield way, made


def _singly(steps: tuple[Step, ...], records: Sequence[Record]) -> list[Answer]:
    return [_caught("apply", lambda r=record: _json(_one(steps, r))) for record in records]  # type: ignore[misc]


def _one(steps: tuple[Step, ...], given: Record) -> Record | None:
    record: Record | None = given
    for step in steps:
        assert record is not None
        if step.predicate is None or step.predicate.test(record) is not step.negate:
            record = step.transform.apply(record)
        if record is None:
            break
    return record


def _as_batch(steps: tuple[Step, ...], records: Sequence[Record]) -> list[Answer]:
    return _through(steps, RecordBatch.of(records), len(records))


def _as_columns(steps: tuple[Step, ...], records: Sequence[Record]) -> list[Answer] | None:
    """None where the values are not alike enough to be held as columns."""
    batch = RecordBatch.of(records)
    fields = Fields.of(batch.value or ())
    if fields is None or isinstance(batch.value_schema, list):
        return None
    return _through(steps, batch.replace(value=Fields(fields.columns, len(fields)), owned=True), len(records))


def _through(steps: tuple[Step, ...], batch: RecordBatch, length: int) -> list[Answer]:
    operator = RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
    made: list[Answer] = [{"record": None}] * length
    left = transform(steps, batch, operator)
    for position, record in zip(left.positions, left.records(), strict=True):
        made[position] = _json(record)
    for failure in operator.failures:
        made[failure.position] = Raised("apply", failure.error)
    return made


def _json(record: Record | None) -> Json:
    return {"record": None if record is None else codec.record_json(record)}


# Converters


def _of_converter(case: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Answer]]]:
    plugin = _caught("config", lambda: _configured(case))
    if isinstance(plugin, Raised):
        yield "one message", [plugin]
        return
    yield "one message", [_caught("apply", lambda: _converted(plugin, case["input"]))]
    if isinstance(plugin, Converter):
        for way, some in _converted_batch(plugin, case["input"]):
            yield way, [some]


def _configured(case: Mapping[str, Any]) -> Converter | HeaderConverter:
    given = case["input"]
    place = "header" if "header" in given else "key" if given.get("isKey") else "value"
    properties = {f"{place}.converter.{name}": text for name, text in case["config"].items()}
    found: Converter | HeaderConverter = getattr(
        set_up({f"{place}.converter": case["source"], **properties}).converters, place
    )
    return found


def _given(node: Mapping[str, Any]) -> tuple[Schema | None, Any]:
    schema = codec.schema(node["data"]["schema"])
    return schema, codec.value(schema, node["data"]["value"])


def _message(node: Mapping[str, Any]) -> bytes | None:
    return None if node["bytes"] is None else base64.b64decode(node["bytes"]["$bytes"])


def _converted(plugin: Converter | HeaderConverter, node: Mapping[str, Any]) -> Json:
    topic = node["topic"]
    if "data" in node:
        schema, value = _given(node)
        if isinstance(plugin, HeaderConverter):
            return _bytes(plugin.from_connect(topic, node["header"], schema, value))
        return _bytes(plugin.from_connect(topic, schema, value))
    if isinstance(plugin, HeaderConverter):
        found: Header = plugin.to_connect(topic, node["header"], _message(node))
        return _data(found.schema, found.value)
    return _data(*plugin.to_connect(topic, _message(node)))


def _converted_batch(plugin: Converter, node: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    """The same message twice; a batch that raises goes message by message, which is told above."""
    topic = node["topic"]
    if "data" not in node:
        made = _caught("apply", lambda: plugin.to_connect_batch(topic, [_message(node)] * 2))
        if not isinstance(made, Raised):
            schemas, read = made
            first, second = schemas if isinstance(schemas, list) else [schemas] * 2
            yield "first of two", _data(first, read[0])
            yield "second of two", _data(second, read[1])
        return
    schema, value = _given(node)
    forms: list[tuple[str, Any]] = [("two values", [value, value])]
    if (fields := Fields.of([value, value])) is not None:
        forms.append(("two rows of columns", Fields(fields.columns, 2)))
    for way, column in forms:
        made = _caught("apply", lambda c=column: plugin.from_connect_batch(topic, schema, c))  # type: ignore[misc]
        if not isinstance(made, Raised):
            yield way, _bytes(made[0])
            yield way, _bytes(made[1])


def _bytes(made: bytes | None) -> Json:
    return {"bytes": None if made is None else {"$bytes": base64.b64encode(made).decode()}}


def _data(schema: Schema | None, value: Any) -> Json:
    return {"data": {"schema": codec.schema_json(schema), "value": codec.value_json(schema, value)}}
