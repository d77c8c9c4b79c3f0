"""What a source does while a table that it reads is not there: in PostgreSQL and in MariaDB."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from penstock import ConnectError, Limits, PluginContext, RetriableError
from penstock.testing import run_source
from penstock.testing._making import make, parsed
from penstock.testing._source_run import SourceRun
from penstock_sql.source import SqlSource

BY_ID = {"mode": "incrementing", "incrementing.column.name": "id", "topic.prefix": "shop.", "poll.interval.ms": "0"}
BOTH = {**BY_ID, "table.whitelist": "a,b"}


class Shop:
    """A database of either kind, with two tables.

    Attributes:
        requests: for new tasks, as a running task has made them.
        now: seconds, by the clock of the running task.
    """

    def __init__(self, database: Any) -> None:
        self._database = database
        self.properties: dict[str, str] = getattr(database, "reading", database.properties)
        self.requests: list[str] = []
        self.now = 0.0
        for name in ("a", "b"):
            self.create(name)

    def create(self, name: str) -> None:
        self.run(f"CREATE TABLE {name} (id SERIAL PRIMARY KEY, w INT)")
        self.add(name)

    def run(self, statement: str) -> None:
        self._database.run(statement)

    def add(self, name: str) -> None:
        self.run(f"INSERT INTO {name} (w) VALUES (1)")

    @contextmanager
    def session(self) -> Iterator[Any]:
        with self._database.server.connect(self._database.name) as connection, connection.cursor() as cursor:
            yield cursor

    @contextmanager
    def reading(self, offsets: Any = None, **more: str) -> Iterator[SourceRun]:
        """The first of its tasks, as it is planned with all tables there."""
        given = {**self.properties, **BOTH, **more}
        task = make(SqlSource).task_configs(parsed(SqlSource, given), given, 1)[0]
        with self.started(task, offsets) as run:
            yield run

    @contextmanager
    def started(self, task: Any, offsets: Any = None) -> Iterator[SourceRun]:
        run = SourceRun(SqlSource, task, offsets or {}, context=PluginContext(on_request=self.requests.append))
        run.source._clock = lambda: self.now  # type: ignore[union-attr]
        with run:
            yield run


@pytest.fixture(params=["database", "maria"])
def shop(request: Any) -> Shop:
    return Shop(request.getfixturevalue(request.param))


def look(run: SourceRun) -> None:
    """Several times, since the server of MariaDB tells who runs ten times a second at most."""
    for _ in range(4):
        run.step(Limits(100, 10_000_000))


def found(run: SourceRun) -> dict[str, list[int]]:
    """The ids of each topic."""
    ids: dict[str, list[int]] = {}
    for record in (record for stream in run.streams.values() for record in stream):
        ids.setdefault(str(record.topic), []).append(record.value["id"])
    return ids


def test_a_dropped_table_is_logged_periodically_and_does_not_block_others(shop: Shop, caplog: Any) -> None:
    with shop.reading() as run:
        look(run)
        shop.run("DROP TABLE a")
        shop.add("b")
        look(run)
        assert found(run) == {"shop.a": [1], "shop.b": [1, 2]}
        lines = [record.getMessage() for record in caplog.records]
        assert len(lines) == 1
        assert lines[0].endswith(".a; create the table, grant SELECT on it, or remove it from table.whitelist"), lines
        shop.now = 599
        look(run)
        assert len(caplog.records) == 1
        shop.now = 600
        look(run)
        assert len(caplog.records) == 2


def test_a_task_that_starts_without_one_of_its_tables_reads_the_others(shop: Shop) -> None:
    with shop.reading() as run:
        look(run)
    shop.run("DROP TABLE a")
    shop.add("b")
    with shop.started(run.properties, run.at) as again:
        look(again)
        assert found(again) == {"shop.b": [2]}


def test_new_tasks_are_requested_while_a_table_is_missing_and_once_it_is_back(shop: Shop, caplog: Any) -> None:
    """So that planning tells what is missing, and later that nothing is."""
    caplog.set_level("INFO")
    with shop.reading() as run:
        look(run)
        assert shop.requests == []
        shop.run("DROP TABLE a")
        shop.now = 60
        look(run)
        shop.now = 120
        look(run)
        assert len(shop.requests) == 2
        assert len(set(shop.requests)) == 1
        shop.create("a")
        shop.add("a")
        for shop.now in (180, 240):
            look(run)
        assert shop.requests[2:] == [run.properties["task.state"]]
        assert found(run) == {"shop.a": [1, 2], "shop.b": [1]}, "offsets stay"
        assert caplog.messages[-1].endswith(".a exists again; reading continues at its offset")


def test_a_name_that_no_table_has_is_refused_when_the_connector_is_planned(shop: Shop) -> None:
    given = {**shop.properties, **BY_ID, "table.whitelist": "a,nowhere"}
    with pytest.raises(ConnectError, match=r"table\.whitelist names nowhere"):
        make(SqlSource).task_configs(parsed(SqlSource, given), given, 1)


@pytest.mark.parametrize("mode", ["incrementing", "bulk"])
def test_a_table_dropped_between_poll_and_read_is_skipped_by_the_next_poll(shop: Shop, mode: str) -> None:
    with shop.reading(mode=mode) as run:
        parts, _ = run.parts(run.source, Limits(100, 10_000_000))  # type: ignore[arg-type]
        while len(parts) < 2:
            parts, _ = run.parts(run.source, Limits(100, 10_000_000))  # type: ignore[arg-type]
        shop.run("DROP TABLE a")
        with pytest.raises(RetriableError, match="a: it does not exist"):
            [list(run.read(part)) for part in parts]
        look(run)
        assert found(run).keys() == {"shop.b"}


def test_of_a_backlog_that_is_read_in_ranges_the_rest_is_passed_over(shop: Shop) -> None:
    for _ in range(13):
        shop.run("INSERT INTO a (w) SELECT 1 FROM a")
    with shop.reading(**{"backlog.ranges": "2"}) as run:
        parts, _ = run.parts(run.source, Limits(100_000, 1 << 30))  # type: ignore[arg-type]
        while len(parts) < 3:
            parts, _ = run.parts(run.source, Limits(100_000, 1 << 30))  # type: ignore[arg-type]
        at = {**run.at, **next(part.offsets for part in parts if "range" in next(iter(part.offsets)))}
    shop.run("DROP TABLE a")
    with shop.started(run.properties, at) as again:
        look(again)
        assert found(again) == {"shop.b": [1]}


def test_what_the_other_tables_wait_for_is_kept(shop: Shop) -> None:
    """A transaction that begins later holds nothing back."""
    with shop.reading() as run, shop.session() as early, shop.session() as later:
        look(run)
        shop.run("DROP TABLE a")
        early.execute("BEGIN")
        early.execute("INSERT INTO b (w) VALUES (2)")
        shop.add("b")
        look(run)
        later.execute("BEGIN")
        later.execute("SELECT * FROM b")
        look(run)
        assert found(run)["shop.b"] == [1]
        early.execute("COMMIT")
        look(run)
        assert found(run)["shop.b"] == [1, 2, 3]
        later.execute("COMMIT")


def test_rows_of_a_table_that_is_gone_wait_for_nobody(shop: Shop, caplog: Any) -> None:
    """Also if they had waited for a transaction when the connection was lost."""
    with shop.reading() as run, shop.session() as early:
        look(run)
        early.execute("BEGIN")
        early.execute("INSERT INTO b (w) VALUES (2)")
        shop.add("a")
        look(run)
        with pytest.raises(ConnectionResetError), run.source._errors("Looking"):  # type: ignore[union-attr]
            raise ConnectionResetError
        shop.run("DROP TABLE a")
        for shop.now in (1, 62):
            look(run)
        assert ["New rows of" in line for line in caplog.messages] == [False]


def test_a_task_none_of_whose_tables_is_there_reports_it_and_waits(shop: Shop) -> None:
    with shop.reading() as run:
        look(run)
        shop.run("DROP TABLE a")
        shop.run("DROP TABLE b")
        for _ in range(2):
            with pytest.raises(
                RetriableError, match=r"cannot read any table of this task: all are missing.*: .*\.a, .*\.b; "
            ) as e:
                run.step()
            assert e.value.retry_after == 60
            assert str(e.value).endswith("or remove it from table.whitelist")
        shop.create("b")
        shop.add("b")
        look(run)
        assert found(run) == {"shop.a": [1], "shop.b": [1, 2]}


def test_a_table_that_would_share_a_topic_stops_no_task_that_runs(database: Any) -> None:
    """Planning refuses it, and the tasks go on."""
    shop = Shop(database)
    with shop.reading(**{"table.whitelist": ""}) as run:
        look(run)
        shop.run("CREATE SCHEMA other")
        shop.run("CREATE TABLE other.a (id INT PRIMARY KEY)")
        shop.add("a")
        shop.now = 60
        look(run)
        assert found(run) == {"shop.a": [1, 2], "shop.b": [1]}
        assert len(shop.requests) == 1
    with pytest.raises(ConnectError, match=r"other\.a and public\.a would both be written to topic shop\.a"):
        run_source(SqlSource, {**shop.properties, **BY_ID})
