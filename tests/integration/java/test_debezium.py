"""Debezium's PostgreSQL connector, unchanged, with `penstock run`."""

import json
from collections.abc import Sequence

from connectors.sql.tests.conftest import Database

from ..reading import Read, Reader
from ..running import Processes, manifest, new_name
from .capture import CLASS, capture, json_converters
from .plugins import debezium


def events(records: Sequence[Read]) -> list[tuple[str, object, object]]:
    """Operation, row before and row after of each change event."""
    read = [json.loads(r.value) for r in records if r.value is not None]
    return [(event["op"], event["before"], event["after"]) for event in read]


# What a user of Java plugins does first: it belongs to `make test`, though it takes over 5 s.
def test_debezium_captures_rows_and_later_changes(kafka: str, database: Database, processes: Processes) -> None:
    database.run("CREATE TABLE orders (id int PRIMARY KEY, item text)")
    database.run("INSERT INTO orders VALUES (1, 'pump'), (2, 'valve')")
    prefix = new_name("shop")
    connector = manifest(prefix, CLASS, {**capture(database, prefix), **json_converters(schemas=False)})
    run = processes.run([connector], kafka, "--plugin-path", str(debezium("postgres")))
    with Reader(kafka, f"{prefix}.public.orders") as reader:
        reader.count(2)
        database.run("UPDATE orders SET item = 'gate' WHERE id = 2")
        reader.count(3)
        run.stop()
        assert events(reader.to_end()) == [
            ("r", None, {"id": 1, "item": "pump"}),
            ("r", None, {"id": 2, "item": "valve"}),
            ("u", None, {"id": 2, "item": "gate"}),
        ]
