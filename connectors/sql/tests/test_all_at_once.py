"""One wrong value hides no other problem, also where it cannot be read at all."""

from typing import Any

import pytest

from penstock import ConfigError
from penstock.testing._making import parsed
from penstock_sql.sink import SqlSink
from penstock_sql.sink.debezium.connector import DebeziumSqlSink
from penstock_sql.source import SqlSource

URL = "jdbc:sqlserver://h;user=sa;password=hidden"


@pytest.mark.parametrize(
    ("plugin", "given", "names"),
    [
        (SqlSink, {"db.timezone": "Mars", "quote.sql.identifiers": "never"}, "db.timezone quote.sql.identifiers"),
        (SqlSource, {"mode": "often", "topic.prefix": "t.", "timestamp.initial": "1", "query.suffix": "LIMIT 1"},
         "mode timestamp.initial query.suffix"),
        (SqlSource, {"mode": "incrementing", "topic.prefix": "t.", "table.types": "SYNONYM"},
         "connection.url incrementing.column.name table.types"),
        (DebeziumSqlSink, {"use.time.zone": "Mars", "quote.identifiers": "false"}, "use.time.zone quote.identifiers"),
    ],
)  # fmt: skip
def test_a_wrong_value_hides_no_property_that_is_refused(plugin: Any, given: dict[str, str], names: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parsed(plugin, {"connection.url": URL, **given})
    assert {each.property for each in raised.value.problems} >= set(names.split())
    assert "hidden" not in str(raised.value)
