"""The suite of sinks for a sink that is made of good and bad parts."""

import itertools
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from tests.unit.api.suites.good_sinks import CommitWriter, Database, StoringConnector, StoringSink, StoringWriter

from penstock import SinkConnector
from penstock.testing import SinkSuite

__all__ = ["suite_of"]


def suite_of(
    folder: Path,
    sink: type[StoringSink] = StoringSink,
    writer: type[StoringWriter] = StoringWriter,
    database: type[Database] = Database,
) -> type[SinkSuite]:
    """The suite, with a new database for each test."""
    numbers = itertools.count()

    class Connector(StoringConnector):
        staged: ClassVar[bool] = issubclass(writer, CommitWriter)
        sink_class = sink
        writer_class = writer
        database_class = database

    class Suite(SinkSuite):
        plugin: ClassVar[type[SinkConnector]] = Connector
        exactly_once = True

        def __init__(self) -> None:
            self.properties = {"database": str(folder / f"{next(numbers)}.db")}

        def stored(self, properties: Mapping[str, str]) -> list[Any]:
            if not Path(properties["database"]).exists():
                return []
            with closing(sqlite3.connect(properties["database"])) as database:
                return [value for (value,) in database.execute("select value from rows order by rowid")]

    return Suite
