"""Script of the warehouse demo: a table changes, its copy follows, a pod is killed and replaced, and both are compared."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import psycopg
from command import Failed, Kube
from comparison import Comparison, Row, compare
from postgresql import PostgreSQL
from scene import Connector, counted, look_at_connectors, topic_as_created
from screen import Screen

__all__ = ["SINK", "SOURCE", "TABLE", "TOPIC", "Play"]

SOURCE, SINK, TOPIC, POLICY = "shop-tables", "warehouse", "shop.orders", "warehouse-topics"
TABLE = """
CREATE TABLE IF NOT EXISTS orders (
    order_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer text NOT NULL,
    price numeric(10, 2) NOT NULL,
    changes integer NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS orders_in_order ON orders (updated_at, order_id);
"""
SELL = """
INSERT INTO orders (customer, price)
SELECT (ARRAY['Ada', 'Grace', 'Edsger', 'Barbara'])[1 + mod(n, 4)], n * 0.25 FROM generate_series(1, %s) n
"""
CHANGE = """
UPDATE orders SET price = price + 1, changes = changes + 1, updated_at = now()
WHERE order_id IN (SELECT order_id FROM orders ORDER BY random() LIMIT %s)
"""
ROWS = "SELECT order_id, customer, price, changes FROM orders"

PERIOD = 0.25  # seconds between two transactions of the shop
TOLD = 2.0  # seconds between two lines about the rows
CALM = 10.0  # seconds of rows before the fault
PATIENCE = 180.0  # seconds to wait for a start, for a replacement, and for the last row


@dataclass(frozen=True)
class Seen:
    """State of the demo at a time in seconds, monotonic.

    Attributes:
        rows: number of rows of the shop's table.
        changes: number of changes of its rows.
        records: number of records in the topic.
        copied: number of rows of the warehouse's table.
    """

    at: float
    rows: int
    changes: int
    records: int
    copied: int
    connectors: Mapping[str, Connector]

    @property
    def running(self) -> bool:
        """Return whether all tasks of the sink run."""
        return SINK in self.connectors and self.connectors[SINK].ready == "True"

    @property
    def pod(self) -> str:
        """Pod of the sink."""
        return self.connectors[SINK].pod


def look(kube: Kube, server: PostgreSQL) -> Seen:
    """Return the state of the demo.

    Raises:
        Failed: the API server does not answer.
    """
    ((rows, changes),) = server.rows("shop", "SELECT count(*), coalesce(sum(changes), 0) FROM orders")
    copied = sum(count for (count,) in server.rows("warehouse", "SELECT count(*) FROM orders"))
    connectors = {name: c for name, c in look_at_connectors(kube).items() if name in (SOURCE, SINK)}
    return Seen(time.monotonic(), rows, changes, counted(kube).records, copied, connectors)


class Play:
    """Changes the shop's table, kills the sink's pod once, and compares at the end.

    Args:
        kube: the cluster, with connectors.
        screen: the output.
        server: the server of the tables.
        rate: new rows per second.
        seconds: duration from the first new row in the warehouse, but at least until rows come out again after the fault;
            None until it is interrupted.
    """

    def __init__(self, kube: Kube, screen: Screen, server: PostgreSQL, rate: int, seconds: float | None) -> None:
        self._kube, self._screen, self._server = kube, screen, server
        self._rate, self._seconds = rate, seconds
        self._begun = time.monotonic()
        self._sold = self._begun

    def run(self) -> bool:
        """Change the table until the time is over or Ctrl-C; then return whether the copy is equal.

        Raises:
            Failed: rows do not come out in time, at first or after the fault.
        """
        try:
            self._change()
        except KeyboardInterrupt:
            self._screen.say("\nStopped; comparing. (Ctrl-C again: no comparison.)")
        return self._compare()

    def _change(self) -> None:
        before = look(self._kube, self._server).copied
        moving = self._until("rows come out", lambda seen: seen.copied > before)
        self._note(f"Rows move: {SOURCE} -> topic {TOPIC} -> {SINK}.")
        calm = CALM if self._seconds is None else min(CALM, self._seconds / 3)
        pod = self._until(f"{SINK} runs", lambda seen: seen.at >= moving.at + calm and seen.running).pod
        command = ("delete", "pod", pod, "--namespace=demo", "--grace-period=0", "--force")
        self._note(f"Fault: kubectl {' '.join(command)}")
        killed = time.monotonic()
        self._kube.kubectl(*command)
        there = self._until(f"{pod} is replaced", lambda seen: seen.running and seen.pod != pod)
        self._note(f"{there.pod} replaces it, {there.at - killed:.0f} s after the kill.")
        again = self._until("rows come out again", lambda seen: seen.copied > there.copied)
        self._note(
            f"Rows come out again, {again.at - killed:.0f} s after the kill. Ctrl-C ends the changes and compares."
        )
        while self._seconds is None or time.monotonic() < moving.at + self._seconds:
            self._next()

    def _until(self, what: str, claim: Callable[[Seen], bool]) -> Seen:
        end = time.monotonic() + PATIENCE
        while not claim(seen := self._next()):
            connectors = seen.connectors.values()
            if time.monotonic() > end or any(c.stalled for c in connectors):
                waits = "A connector is stalled" if time.monotonic() < end else f"Timed out after {PATIENCE:.0f} s"
                reasons = [f"\n  {c.name}: {c.reason}: {c.message}" for c in connectors]
                raise Failed(
                    f"{waits}, waiting until {what}.{''.join(reasons)}\nSee: kubectl describe connectors --namespace demo"
                )
        return seen

    def _next(self) -> Seen:
        """Change the table for a while, and return the new state."""
        end = time.monotonic() + TOLD
        with self._server.connect("shop") as shop:
            while time.monotonic() < end:
                time.sleep(PERIOD)
                new = int((time.monotonic() - self._sold) * self._rate)
                if new:
                    self._sold += new / self._rate
                    sell(shop, new)
        seen = look(self._kube, self._server)
        self._note(
            f"shop {seen.rows:,} rows, changed {seen.changes:,} times -> topic {seen.records:,} records"
            f" -> warehouse {seen.copied:,} rows"
        )
        return seen

    def _compare(self) -> bool:
        """Wait until the last change has come out, print the comparison, and return whether the tables are equal."""
        end = time.monotonic() + PATIENCE
        while True:
            table, copy = self._server.rows("shop", ROWS), self._server.rows("warehouse", ROWS)
            found = compare(table, copy)
            if found == Comparison() or time.monotonic() > end:
                break
            time.sleep(1)
        say, seen = self._screen.say, look(self._kube, self._server)
        say("The comparison, after the last change:")
        say(f"  table orders of database shop: {seen.rows:,} rows, changed {seen.changes:,} times")
        say(f"  topic {TOPIC} (read_committed): {seen.records:,} records")
        say(f"  created by TopicCreationPolicy {POLICY}: {topic_as_created(self._kube, TOPIC)}")
        versions = ", ".join(f"{c.name} runs {c.versions}" for c in seen.connectors.values())
        say(f"  plugin penstock-sql, from the image of its PluginVersion: {versions}")
        say(f"  table orders of database warehouse: {len(copy):,} rows, {found}")
        return bool(table) and found == Comparison()

    def _note(self, text: str) -> None:
        self._screen.say(f"{time.monotonic() - self._begun:7.1f} s {text}")


def sell(shop: "psycopg.Connection[Row]", orders: int) -> None:
    """Insert rows, and change a quarter as many existing ones, in one transaction."""
    with shop.transaction():
        shop.execute(SELL, [orders])
        shop.execute(CHANGE, [orders // 4])
