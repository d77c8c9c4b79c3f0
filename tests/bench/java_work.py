"""Java connectors, unchanged, on both sides: records made in the JVM, a Debezium snapshot, Debezium's stream, a file sink.

CPU seconds and memory are those of the side alone, not PostgreSQL's. Orders and snapshot: from the start of the processes to
the moment at which a `read_committed` reader could read the last record, so the start counts. Stream: from the first commit
of the changes on. Sink: as `sink_work` has it, by Kafka's own FileStreamSinkConnector. Both sides have the same heap.
"""

import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
import psycopg
from connectors.sql.tests.conftest import Server
from tests.bench.results import AtMost, Measure, NoMoreThan, Times
from tests.bench.sides import CONVERTERS, Connect, Penstock, Side, Work
from tests.bench.source_work import Figures, spent
from tests.bench.timeline import Timeline
from tests.bench.topics import Topic
from tests.bench.tree import PeakMemory
from tests.integration.java.plugins import apache_connectors, debezium

from penstock_runtime.java_home import Java
from penstock_runtime.java_plugins.host_jar import compile_jar
from penstock_runtime.java_plugins.jars import fetched_jars

__all__ = ["JAVA_WORK", "debezium_config", "java_rows", "java_sides", "make_orders", "postgresql", "run_java"]

HEAP: Final = "512m"
JAVA_WORK: Final = ("orders", "snapshot", "stream")
_TABLE: Final = """
DROP TABLE IF EXISTS orders;
CREATE TABLE orders (
  id bigint PRIMARY KEY, customer text NOT NULL, country text NOT NULL, amount double precision NOT NULL,
  quantity int NOT NULL, paid boolean NOT NULL, created bigint NOT NULL, note text, channel text NOT NULL,
  discount double precision
)
"""
_ROWS: Final = """
INSERT INTO orders SELECT i, 'customer-' || i * 7919 % 100003, CASE WHEN i % 3 = 0 THEN 'DE' ELSE 'NL' END,
  i * 31 % 1000000 + 0.25, i % 100, i % 2 = 0, 1700000000000 + i,
  CASE WHEN i % 4 = 0 THEN NULL ELSE 'the quick brown fox ' || i % 1000 END, 'web', CASE WHEN i % 10 = 0 THEN 0.5 END
FROM generate_series({}, {}) i
"""
_TRANSACTION: Final = 1_000


def java_sides(java: Java, sides: Sequence[Side], folder: Path) -> list[Side]:
    """Both sides with Debezium and the connector of orders on their plugin path, and with the same heap."""
    plugins = folder / "plugins"
    plugins.mkdir()
    subprocess.run(["tar", "xzf", debezium("postgres"), "-C", plugins], check=True)
    (plugins / "orders").mkdir()
    (plugins / "kafka").symlink_to(apache_connectors())
    compile_jar(java, fetched_jars(java, print), Path(__file__).with_name("java"), plugins / "orders" / "orders.jar")
    found: list[Side] = []
    for side in sides:
        if isinstance(side, Penstock):
            options, heap = ["--plugin-path", str(plugins)], [f"PENSTOCK_JAVA_HEAP={HEAP}"]
            found.append(replace(side, spark_start="OnDemand", options=options, environment=heap))
        else:
            assert isinstance(side, Connect)
            found.append(replace(side, plugins=plugins, heap=HEAP))
    return found


@contextmanager
def postgresql(parent: Path) -> Iterator[Server]:
    """A PostgreSQL with logical decoding."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-postgresql-", dir=parent) as name:
        server = Server(Path(name))
        with (server.data / "postgresql.conf").open("a") as file:
            file.write("wal_level = logical\nmax_wal_size = 4GB\nmax_replication_slots = 64\nmax_wal_senders = 64\n")
        server.start()
        try:
            yield server
        finally:
            server.stop()


def run_java(side: Side, servers: str, what: str, count: int, server: Server, folder: Path) -> Figures:
    """One run of one side.

    Raises:
        RuntimeError: the side failed, or the topic holds anything else than each record once, in order.
    """
    name = f"bench-java-{folder.name}"
    topic_name = name if what == "orders" else f"{name}.public.orders"
    go = folder / "go"
    config = _orders(name, count, go) if what == "orders" else debezium_config(name, server, what)
    timeline = Timeline()
    with Topic(servers, topic_name) as topic, server.connect() as connection:
        if what == "snapshot":
            make_orders(connection, count)
        elif what == "stream":
            connection.execute(_TABLE.encode())
        with side.run(Work("java", config), folder) as measured, PeakMemory(measured.tree) as memory:
            before: dict[str, float] = {}
            begun = measured.started
            if what == "stream":
                connection.execute(_ROWS.format(0, 0).encode())
                measured.await_until("streaming", lambda: _is_streaming(connection, name, topic))
                time.sleep(2.0)
                before, begun = measured.tree.cpu_by_role(look=True), time.monotonic()
                for first in range(1, count + 1, _TRANSACTION):
                    connection.execute(_ROWS.format(first, min(count, first + _TRANSACTION - 1)).encode())
            else:
                go.touch()
                measured.await_until("writing", lambda: topic.end() > 0)
                measured.tree.look()
            timeline.follow(measured, topic.end, at_least=count + 1)
            roles = spent(before, measured)
            complaints = measured.complaints()
        last = _check(topic, what, count)
        connection.execute(b"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active")
    reached = timeline.first(last + 1)
    detail = {"cpu": roles, "memory": memory.roles, "log": complaints}
    return Figures(count, reached.at - begun, reached.cpu - sum(before.values()), memory.peak, None, detail)


def java_rows(what: str, ours: Sequence[Figures], peer: Sequence[Figures]) -> list[Measure]:
    """The goals of issue "Java connectors, part 1"; the peer delivers at least once."""
    title = {
        "orders": "records made in the JVM",
        "snapshot": "Debezium snapshot",
        "stream": "Debezium stream",
        "sink": "file sink",
    }[what]

    def row(name: str, unit: str, figure: Any, goal: Times | NoMoreThan | AtMost) -> Measure:
        return Measure(f"{title}: {name}", unit, [figure(f) for f in ours], [figure(f) for f in peer], goal)

    return [
        row("throughput", "records/s", lambda f: f.rate, Times(1.3)),
        row("CPU per record", "us", lambda f: f.cpu * 1e6 / f.records, NoMoreThan(0.8)),
        row("peak memory of the task", "MB", lambda f: f.peak.task / 1e6, NoMoreThan(1.1)),
    ]


def _orders(topic: str, count: int, go: Path) -> Mapping[str, str]:
    return {"connector.class": "bench.OrdersSource", "topic": topic, "count": str(count), "go": str(go), **CONVERTERS}


def make_orders(connection: psycopg.Connection, count: int) -> None:
    """Create the table again, with so many rows and one."""
    connection.execute(_TABLE.encode())
    connection.execute(_ROWS.format(0, count).encode())
    connection.execute(b"CLUSTER orders USING orders_pkey")  # rows of other lengths are stored out of order


def debezium_config(name: str, server: Server, what: str) -> Mapping[str, str]:
    """The properties of Debezium on that table: `stream` reads changes alone."""
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": "127.0.0.1",
        "database.port": str(server.port),
        "database.user": "postgres",
        "database.password": "secret",
        "database.dbname": "postgres",
        "topic.prefix": name,
        "table.include.list": "public.orders",
        "plugin.name": "pgoutput",
        "slot.name": name.replace("-", "_"),
        "slot.drop.on.stop": "true",
        "snapshot.mode": "no_data" if what == "stream" else "initial",
        **CONVERTERS,
    }


def _is_streaming(connection: psycopg.Connection, name: str, topic: Topic) -> bool:
    """Whether the slot is read: changes committed from then on are in the stream. One row proves it."""
    query = "SELECT active FROM pg_replication_slots WHERE slot_name = %s"
    row = connection.execute(query, [name.replace("-", "_")]).fetchone()
    if row is None or not row[0]:
        return False
    if topic.end() == 0:
        connection.execute(b"UPDATE orders SET quantity = quantity WHERE id = 0")
        time.sleep(0.2)
    return topic.end() > 0


def _check(topic: Topic, what: str, count: int) -> int:
    """Check that each record is there once, in order, and return the offset of the last one."""
    decode = msgspec.json.Decoder().decode
    expected = last = 0
    for offsets, values in topic.read():
        for offset, value in zip(offsets, values, strict=True):
            record = decode(value)
            number = (record if what == "orders" else record["after"])["id"]
            if what == "stream" and number == 0:
                expected, last = 1, offset
                continue
            if number != expected:
                raise RuntimeError(f"{topic.name}: record {number} at offset {offset}, not {expected}")
            expected, last = expected + 1, offset
    if expected != count + 1:
        raise RuntimeError(f"{topic.name}: {expected} records, not {count + 1}")
    return last
