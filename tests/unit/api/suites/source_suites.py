"""The suite of sources for a source that is made of good and bad parts."""

from typing import Any, ClassVar

from tests.unit.api.suites.good_sources import PolledRows, Rows, RowsConnector, RowsReader

from penstock import SourceConnector
from penstock.testing import SourceSuite

__all__ = ["suite_of"]


def suite_of(part: type[Any]) -> type[SourceSuite]:
    """With this connector, or with this half in a good connector."""

    class Connector(RowsConnector):
        source_class = part if issubclass(part, Rows | PolledRows) else Rows
        reader_class = part if issubclass(part, RowsReader) else RowsReader

    class Suite(SourceSuite):
        plugin: ClassVar[type[SourceConnector]] = part if issubclass(part, RowsConnector) else Connector

    return Suite
