"""A connector of a case, taken the way that `penstock run` takes a file in Kafka Connect's form: read, planned, set up."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from penstock import Header, Record, RecordBatch, Schema, TopicPartition
from penstock_cli.manifests.connect_forms import connector
from penstock_model.connect.worker_config import WorkerConfig
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.pipeline.chain import Step, transform
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.pipeline.converters import Converters, convert_consumed, convert_outgoing
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, RetryWithToleranceOperator
from penstock_runtime.plan import Plan, plan
from penstock_runtime.plan.worker_check import worker_from
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.task.context import task_context

__all__ = ["PLUGINS", "Place", "consumed", "outcomes", "outgoing", "planned", "set_up", "worker_of"]

Place = Literal["key", "value", "header"]

_SOURCE: Final = {"name": "conformance", "connector.class": "FileStreamSource", "file": "/nowhere/in", "topic": "t"}
_SINK: Final = {"name": "conformance", "connector.class": "FileStreamSink", "file": "/nowhere/out", "topics": "t"}
PLUGINS: Final = Plugins(dataclasses.replace(entry, version="4.3.1") for entry in Plugins.installed().entries)
"""What is installed, in the version of what it stands for, which cases ask for."""
_WORKER: Final = worker_from({}).config


def worker_of(given: Mapping[str, str]) -> WorkerConfig:
    """A case's worker. Standalone ones check no guarantee; distributed ones have it off unless told otherwise."""
    worker = dict(given)
    standalone = worker.pop("mode") == "standalone"
    worker.setdefault("exactly.once.source.support", "enabled" if standalone else "disabled")
    return worker_from(worker).config


def planned(config: Mapping[str, Any], worker: WorkerConfig = _WORKER) -> Plan:
    """The plan of a complete configuration.

    Raises:
        ConfigError: every problem with it.
    """
    return plan(connector(config), worker, PLUGINS)


def set_up(config: Mapping[str, Any], *, sink: bool = False) -> TaskContext:
    """What a task works with, given what a case says of its configuration; a file connector stands around it.

    Raises:
        ConfigError: every problem that the plan or the task has with it.
    """
    given = {name: text for name, text in config.items() if text is not None}
    base = _SINK if sink else _SOURCE
    if "topics.regex" in given:
        base = {name: text for name, text in base.items() if name != "topics"}
    return task_context(planned({**base, **given}).tasks[0], slots_dir=Path())


def outcomes(steps: tuple[Step, ...], records: list[Record]) -> list[Record | Exception | None]:
    """What the engine makes of each record of a batch: the next record, None when it was dropped, or what was raised."""
    operator = RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
    batch = transform(steps, RecordBatch.of(records), operator)
    found: list[Record | Exception | None] = [None] * len(records)
    for position, record in zip(batch.positions, batch.records(), strict=True):
        found[position] = record
    for failure in operator.failures:
        assert found[failure.position] is None, "a record failed and came out"
        found[failure.position] = failure.error
    return found


def outgoing(converters: Converters, place: Place, topic: str, header: str, given: tuple[Schema | None, Any]) -> Any:
    """The bytes that the engine makes of one key, value or header.

    Raises:
        Exception: what the converter raised.
    """
    schema, value = given
    match place:
        case "key":
            record = Record(topic=topic, value=None, key=value, key_schema=schema)
        case "value":
            record = Record(topic=topic, value=value, value_schema=schema)
        case "header":
            record = Record(topic=topic, value=None, headers=(Header(header, value, schema),))
    operator = RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
    made = convert_outgoing(converters, RecordBatch.of([record, record]), operator)
    _raise_first(operator)
    columns: dict[Place, Any] = {"key": made.key, "value": made.value, "header": made.headers}
    column = columns[place] or [None, None]
    assert column[0] == column[1], "one record twice gives different bytes"
    return column[0][0][1] if place == "header" and column[0] is not None else column[0]


def consumed(
    converters: Converters, place: Place, topic: str, header: str, data: bytes | None
) -> tuple[Schema | None, Any]:
    """Schema and value that the engine makes of the bytes of one key, value or header.

    Raises:
        Exception: what the converter raised.
    """
    raw = Consumed(
        TopicPartition(topic, 0),
        offset=[0, 1],
        value=[data if place == "value" else None] * 2,
        key=[data, data] if place == "key" else None,
        headers=[[(header, data)]] * 2 if place == "header" else None,
        timestamp=[None, None],
    )
    operator = RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
    records = [*convert_consumed(converters, raw, operator).records()]
    _raise_first(operator)
    found = [
        (r.headers[0].schema, r.headers[0].value)
        if place == "header"
        else (getattr(r, f"{place}_schema"), getattr(r, place))
        for r in records
    ]
    assert len(found) == 2
    assert found[0][0] == found[1][0], "one record twice gives different schemas"
    return found[0]


def _raise_first(operator: RetryWithToleranceOperator) -> None:
    if operator.failures:
        raise operator.failures[0].error
