"""A sink that takes its time, and a transform that asks another system; both wait while that is away."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock import Config, Record, RecordBatch, Reporter, RetriableError, Sink, SinkConnector, Transform, Writer, prop
from telling import JOURNAL, Teller, in_driver


class SlowConfig(Config):
    journal: str = JOURNAL
    out: str = prop("out", "", doc="Write `<partition> <offset>` lines to this file.")
    each: float = prop("each", 0.0, doc="How long, in seconds, a record takes, wherever it is written.")
    away: str = prop("away", "", doc="While this file exists every write in a worker asks to wait.")
    hang: str = prop("hang", "", doc="Where this file exists a write in a worker removes it, and does not end.")


class SlowSink(SinkConnector):
    Config = SlowConfig

    def sink(self, config: SlowConfig) -> Sink:
        return Sunk()

    def writer(self, config: SlowConfig) -> Writer:
        return SlowWriter(config)


class Sunk(Sink):
    pass


class SlowWriter(Writer):
    def __init__(self, config: SlowConfig) -> None:
        self._config = config
        self._tell = Teller(config.journal)
        self._out = os.open(config.out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        config = self._config
        if not in_driver() and config.hang and Path(config.hang).exists():
            Path(config.hang).unlink()
            time.sleep(3600)
        if config.away and Path(config.away).exists():
            self._tell("asked to wait", worker=not in_driver())
            raise RetriableError("The store is away", retry_after=0.5)
        lines = [f"{b.original_partition} {o}\n" for b in batches for o in b.column("offset")]
        time.sleep(config.each * len(lines))
        os.write(self._out, "".join(lines).encode())
        size = sum(len(v) for b in batches for v in b.column("value"))
        self._tell("wrote", worker=not in_driver(), process=os.getpid(), records=len(lines), bytes=size)


class LookupConfig(Config):
    away: str = prop("away", "", doc="While this file exists nothing is found out.")
    slow: str = prop("slow", "", doc="While this file exists each record takes 5 ms.")
    slow_after: int = prop("slow.after", 0, doc="Only workers of Spark are slow, each after so many records.")


class Lookup(Transform):
    """Asks another system about each record."""

    Config = LookupConfig

    def configure(self, config: LookupConfig) -> None:
        self._config = config
        self._on_spark = 0

    def apply(self, record: Record) -> Record | None:
        if self._config.away and Path(self._config.away).exists():
            raise RetriableError("The other system is away", retry_after=0.5)
        if self._config.slow and self._may_be_slow() and Path(self._config.slow).exists():
            time.sleep(0.005)
        return record

    def _may_be_slow(self) -> bool:
        if self._config.slow_after:
            self._on_spark += not in_driver()
        return self._on_spark >= self._config.slow_after
