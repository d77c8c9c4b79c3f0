"""A sink that keeps offsets with its data, in one transaction of a database: each record is there exactly once."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from outside import FOLDER, PASSWORD, Outside
from penstock import (
    Config,
    Password,
    RecordBatch,
    Reporter,
    RetriableError,
    Sink,
    SinkConnector,
    TopicPartition,
    Writer,
    prop,
)

_TABLES = (
    "create table if not exists records (place integer primary key, part integer, number integer)",
    "create table if not exists offsets (part integer primary key, next integer)",
)


class StoreConfig(Config):
    folder: str = FOLDER
    password: Password = PASSWORD
    database: str = prop("database", doc="The file.")


class OutsideStore(SinkConnector):
    Config: ClassVar[type[Config]] = StoreConfig

    def sink(self, config: StoreConfig) -> Sink:
        return Store(config)

    def writer(self, config: StoreConfig) -> Writer:
        return StoreWriter(config)


class Store(Sink):
    def __init__(self, config: StoreConfig) -> None:
        self._config = config

    def start(self) -> None:
        with opened(self._config.database) as database:
            for table in _TABLES:
                database.execute(table)

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        with opened(self._config.database) as database:
            stored = dict(database.execute("select part, next from offsets"))
        return {p: stored[p.partition] for p in partitions if p.partition in stored}


class StoreWriter(Writer):
    def __init__(self, config: StoreConfig) -> None:
        self._config = config
        self._outside = Outside(config.folder, config.password.reveal())

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        self._outside.meet(sum(b.length for b in batches))
        with opened(self._config.database) as database:
            for b in batches:
                part, offsets = b.original_partition or 0, b.column("offset")
                (stored,) = database.execute("select max(next) from offsets where part = ?", (part,)).fetchone()
                new = [v for o, v in zip(offsets, b.column("value"), strict=True) if o >= (stored or 0)]
                if new:
                    numbers = [(part, int(v.split(":", 2)[1])) for v in new]
                    database.executemany("insert into records (part, number) values (?, ?)", numbers)
                    database.execute("insert or replace into offsets values (?, ?)", (part, offsets[-1] + 1))


@contextmanager
def opened(path: str | Path) -> Iterator[sqlite3.Connection]:
    """One transaction; who wants to write waits for whoever writes."""
    database = sqlite3.connect(path, timeout=10, isolation_level=None)
    try:
        database.execute("begin immediate")
        yield database
        database.execute("commit")
    except sqlite3.OperationalError as e:
        raise RetriableError(f"the database is busy: {e}") from e
    finally:
        database.close()
