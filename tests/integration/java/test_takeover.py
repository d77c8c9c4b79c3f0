"""A Debezium connector moves from Kafka Connect to Penstock by `penstock import`, and back."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from connectors.sql.tests.conftest import Database

from penstock_cli.embedded import EmbeddedKafka

from ..cli.test_import_command import imported
from ..connect_worker import ConnectWorker
from ..reading import Read, Reader
from ..running import Processes, until
from .capture import CLASS, capture, json_converters
from .plugins import DEBEZIUM, debezium, folder_of

pytestmark = pytest.mark.slow

ROWS: Final = 2_000
OFFSETS: Final = "moved-offsets"
WORKER: Final = {
    "group.id": "penstock",
    "offset.storage.topic": OFFSETS,
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
}


class Stock:
    """A table whose rows count their updates, and the events that it must have caused."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.run("CREATE TABLE stock (id int PRIMARY KEY, version int)")
        database.run(f"INSERT INTO stock SELECT n, 0 FROM generate_series(1, {ROWS}) n")
        self.events = [("r", number, 0) for number in range(1, ROWS + 1)]
        self._version = 0

    def update(self, count: int) -> None:
        """Update so many rows in one transaction, and ten others in one each."""
        self._version += 1
        self._database.run(f"UPDATE stock SET version = {self._version} WHERE id <= {count}")
        self.events += [("u", number, self._version) for number in range(1, count + 1)]
        for number in range(1, 11):
            self._database.run(f"UPDATE stock SET version = {self._version} WHERE id = {ROWS - number}")
            self.events.append(("u", ROWS - number, self._version))


def by_row(events: Sequence[tuple[str, int, int]]) -> dict[int, list[tuple[str, int, int]]]:
    """The events of each row, in order."""
    found: dict[int, list[tuple[str, int, int]]] = {}
    for event in events:
        found.setdefault(event[1], []).append(event)
    return found


def events(records: Sequence[Read]) -> list[tuple[str, int, int]]:
    """Operation, id and version of each change event."""
    read = [json.loads(r.value or b"") for r in records]
    return [(event["op"], event["after"]["id"], event["after"]["version"]) for event in read]


@pytest.mark.timeout(600)
def test_debezium_continues_in_penstock_and_comes_back_to_kafka_connect(
    own_kafka: EmbeddedKafka, database: Database, processes: Processes, tmp_path: Path
) -> None:
    servers, archive = own_kafka.bootstrap_servers, debezium("postgres")
    config = {**capture(database, "moved"), **json_converters(schemas=False)}
    stock = Stock(database)
    worker = {
        "plugin_path": str(folder_of(archive)),
        "exactly_once_source_support": "enabled",
        "offset_storage_topic": OFFSETS,
    }
    with Reader(servers, "moved.public.stock") as reader:

        def all_came() -> bool:
            reader.count(len(stock.events))
            # PostgreSQL chooses the order of the rows of one statement.
            return by_row(events(reader.to_end())) == by_row(stock.events)

        with ConnectWorker(servers, tmp_path / "connect", **worker) as connect:
            connect.do("POST", "/connectors", {"name": "moved", "config": {"connector.class": CLASS, **config}})
            reader.count(ROWS)
            stock.update(300)
            assert all_came()
            connect.do("PUT", "/connectors/moved/stop")
            until(lambda: connect.ask("GET", "/connectors/moved/status")["tasks"] == [])
            stock.update(200)  # while neither runs

            release, secrets = tmp_path / "penstock.properties", str(tmp_path / "secrets")
            release.write_text("".join(f"{n}={t}\n" for n, t in {**WORKER, "bootstrap.servers": servers}.items()))
            ((made,), report) = imported(
                *("--connect-url", connect.url, "--connect-worker", str(connect.file)),
                *("--worker", str(release), "--secrets-to", secrets),
                code=1,  # Debezium is to be brought first
            )
            spec = made["spec"]
            assert (spec["class"], spec["state"], spec.get("version")) == (CLASS, "Stopped", None)
            assert spec["config"]["database.password"] == "${secret:moved-imported:database.password}"
            assert f"for {CLASS} version {DEBEZIUM}" in report
            assert f"/debezium-connector-postgres/{DEBEZIUM}/{archive.name}" in report
            assert "transactional ids connect-cluster-moved-0 are recorded in topic connect-status" in report
            spec["state"] = "Running"
            run = processes.run([made], servers, "--plugin-path", str(archive), "--secrets", secrets, worker=WORKER)
            assert all_came()
            stock.update(500)
            assert all_came()
            run.stop()
            stock.update(100)
            connect.do("PUT", "/connectors/moved/resume")
            assert all_came()
            stock.update(400)
            assert all_came()
    with Reader(servers, OFFSETS, partitions=25) as offsets:
        assert {r.key for r in offsets.to_end()} == {b'["moved",{"server":"moved"}]'}
