"""A connector of a case, taken the way that `penstock run` takes a file in Kafka Connect's form: read, planned, set up."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from penstock import Record, RecordBatch
from penstock.worker_config import WorkerConfig
from penstock_runtime.connect_form import connector
from penstock_runtime.discovery import Plugins
from penstock_runtime.engine.chain import Step, transform
from penstock_runtime.engine.setup import Setup
from penstock_runtime.engine.tolerance import ErrorPolicy, Operator
from penstock_runtime.plan import Plan, plan
from penstock_runtime.worker_file import worker_from

__all__ = ["outcomes", "planned", "set_up"]

_SOURCE: Final = {"name": "conformance", "connector.class": "FileStreamSource", "file": "/nowhere/in", "topic": "t"}
_SINK: Final = {"name": "conformance", "connector.class": "FileStreamSink", "file": "/nowhere/out", "topics": "t"}
_WORKER: Final = worker_from({}).config


def planned(config: Mapping[str, Any], worker: WorkerConfig = _WORKER, plugins: Plugins | None = None) -> Plan:
    """The plan of a complete configuration.

    Raises:
        ConfigError: every problem with it.
    """
    return plan(connector(config), worker, plugins or Plugins.installed())


def set_up(config: Mapping[str, Any], *, sink: bool = False) -> Setup:
    """What a task works with, given what a case says of its configuration; a file connector stands around it.

    Raises:
        ConfigError: every problem that the plan or the task has with it.
    """
    given = {name: text for name, text in config.items() if text is not None}
    base = _SINK if sink else _SOURCE
    if "topics.regex" in given:
        base = {name: text for name, text in base.items() if name != "topics"}
    return Setup.of(planned({**base, **given}).tasks[0], slots_dir=Path())


def outcomes(steps: tuple[Step, ...], records: list[Record]) -> list[Record | Exception | None]:
    """What the engine makes of each record of a batch: the next record, None when it was dropped, or what was raised."""
    operator = Operator(ErrorPolicy())
    batch = transform(steps, RecordBatch.of(records), operator)
    found: list[Record | Exception | None] = [None] * len(records)
    for position, record in zip(batch.positions, batch.records(), strict=True):
        found[position] = record
    for failure in operator.failures:
        assert found[failure.position] is None, "a record failed and came out"
        found[failure.position] = failure.error
    return found
