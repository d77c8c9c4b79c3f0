"""A chain that tells when each object is configured and closed, and a sink that fails once in each Spark worker."""

import os
import uuid
from collections.abc import Sequence
from typing import Any

from penstock import (
    Config,
    Converter,
    Header,
    HeaderConverter,
    Plugin,
    Predicate,
    Record,
    RecordBatch,
    Reporter,
    RetriableError,
    Schema,
    Transform,
    Writer,
    prop,
)
from scripted_sinks import RecordingSink, RecordingWriter, SinkConfig
from telling import JOURNAL, Teller, in_driver


class StepConfig(Config):
    journal: str = JOURNAL
    refuses: bool = prop("refuses", default=False, doc="Raise an error in `close`.")


class Life:
    """Tells of one object: it is there, it is closed."""

    def __init__(self, plugin: Plugin, config: StepConfig) -> None:
        self._refuses = config.refuses
        self._tell = Teller(config.journal)
        self._of = {"object": uuid.uuid4().hex, "place": plugin.context.place, "process": os.getpid()}
        self._tell("configured", driver=in_driver(), **self._of)

    def end(self) -> None:
        self._tell("closed", **self._of)
        if self._refuses:
            raise RuntimeError("the connection was closed already")


class Passing(Transform):
    """Passes records on."""

    Config = StepConfig

    def configure(self, config: StepConfig) -> None:
        self._life = Life(self, config)

    def apply(self, record: Record) -> Record | None:
        return record

    def close(self) -> None:
        self._life.end()


class Always(Predicate):
    """Matches every record."""

    Config = StepConfig

    def configure(self, config: StepConfig) -> None:
        self._life = Life(self, config)

    def test(self, record: Record) -> bool:
        return True

    def close(self) -> None:
        self._life.end()


class Texts(Converter):
    """Texts."""

    Config = StepConfig

    def configure(self, config: StepConfig, *, is_key: bool) -> None:
        self._life = Life(self, config)

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else str(value).encode()

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return None, None if data is None else data.decode()

    def close(self) -> None:
        self._life.end()


class TextHeaders(HeaderConverter):
    """Texts."""

    Config = StepConfig

    def configure(self, config: StepConfig) -> None:
        self._life = Life(self, config)

    def from_connect(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else str(value).encode()

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Header:
        return Header(name, None if data is None else data.decode())

    def close(self) -> None:
        self._life.end()


class OnceFailingSink(RecordingSink):
    """Asks for another try at the first write in each of Spark's workers, which make their chain again then."""

    def writer(self, config: SinkConfig) -> Writer:
        return OnceFailingWriter(config)


_failed: list[bool] = []


class OnceFailingWriter(RecordingWriter):
    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        if not in_driver() and not _failed:
            _failed.append(True)
            raise RetriableError("not yet", retry_after=0.1)
        return super().write(batches, report)
