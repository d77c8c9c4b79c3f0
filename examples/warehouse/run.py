"""Warehouse demo: rows of a growing table are copied through a real Kafka into a table of another database.

`make demo-warehouse` runs it, on SQLite. Ctrl-C stops it. Kill it at any time and start it again: each row is in the
warehouse exactly once. It prints the progress once per second, and counts at the end. With `--cluster`,
examples/cluster/warehouse.py runs instead.
"""

import argparse
import os
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from penstock.errors import ConnectError
from penstock_cli.demo.connectors import penstock_run
from penstock_cli.demo.screen import say
from penstock_cli.demo.stop_signal import StopSignal
from penstock_cli.embedded import EmbeddedKafka

FOLDER = Path("penstock-warehouse")
SHOP, WAREHOUSE = FOLDER / "shop.db", FOLDER / "warehouse.db"
CUSTOMERS = ("Ada", "Grace", "Edsger", "Barbara")
ORDERS = "SELECT id, customer, price FROM orders ORDER BY id"
DRAINED = 60.0  # seconds


def main() -> int:
    """Run until Ctrl-C, or for `--seconds`. The exit code is 0 if the count is right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200, help="rows per second (default %(default)s)")
    parser.add_argument("--seconds", type=float, help="stop this many seconds after the first row has arrived")
    parser.add_argument("--cluster", action="store_true", help="PostgreSQL, on the cluster of `make demo`")
    options = parser.parse_args()
    if options.cluster:
        words = [f"--{name}={value}" for name in ("rate", "seconds") if (value := getattr(options, name)) is not None]
        program = Path(__file__).parents[1] / "cluster" / "warehouse.py"
        os.execv(sys.executable, [sys.executable, str(program), *words])  # noqa: S606
    stopping = StopSignal()
    FOLDER.mkdir(exist_ok=True)
    with closing(sqlite3.connect(SHOP)) as shop, shop:
        shop.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, price REAL)")
    try:
        with EmbeddedKafka(FOLDER / "kafka") as kafka:
            say(f"Kafka listens on {kafka.bootstrap_servers}; topic shop.orders connects the two tables.")
            demonstrate(kafka.bootstrap_servers, options.rate, options.seconds, stopping)
    except ConnectError as e:
        say(f"{e}\nRows in transit arrive after the next start.")
        return 5
    say("Stopped. The count:")
    good = report()
    say("Run `make demo-warehouse` again to continue where it stopped. `rm -r penstock-warehouse` removes all data.")
    return 0 if good else 1


def demonstrate(servers: str, rate: int, seconds: float | None, stopping: StopSignal) -> None:
    """Insert rows while `penstock run` moves them, then wait until all have arrived."""
    with penstock_run(Path(__file__).with_name("connectors.yaml"), servers=servers, folder=FOLDER) as process:
        begun = shown = time.monotonic()
        came: float | None = None
        due = 0.0
        while not stopping.is_set() and process.poll() is None:
            now = time.monotonic()
            if came is not None and seconds is not None and now - came >= seconds:
                break
            due += rate * 0.05
            sell(int(due))
            due -= int(due)
            if now - shown >= 1:
                shown, there = now, count(WAREHOUSE)
                came = now if came is None and there else came
                say(f"{now - begun:7.1f} s  shop {count(SHOP):,} rows -> warehouse {there:,} rows")
            stopping.wait(0.05)
        if process.poll() is not None:
            say(f"`penstock run` has exited ({process.returncode}); rows in transit arrive after the next start.")
        deadline = time.monotonic() + DRAINED
        while count(WAREHOUSE) < count(SHOP) and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.1)


def sell(orders: int) -> None:
    """Insert rows in one transaction."""
    if not orders:
        return
    with closing(sqlite3.connect(SHOP, timeout=60)) as shop, shop:
        first = (shop.execute("SELECT max(id) FROM orders").fetchone()[0] or 0) + 1
        rows = [(n, CUSTOMERS[n % len(CUSTOMERS)], n * 0.25) for n in range(first, first + orders)]
        shop.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)


def count(path: Path) -> int:
    """Return the number of orders in a database."""
    found = asked(path, "SELECT count(*) FROM orders")
    return int(found[0][0]) if found else 0


def asked(path: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query about orders, or no rows if the table does not exist yet."""
    with closing(sqlite3.connect(path, timeout=60)) as database:
        there = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'orders'").fetchone()
        return database.execute(query).fetchall() if there else []


def report() -> bool:
    """Compare the orders of the warehouse with those of the shop; print the counts, and return whether all is right."""
    sold, stored = asked(SHOP, ORDERS), asked(WAREHOUSE, ORDERS)
    missing, wrong = len(set(sold) - set(stored)), len(set(stored) - set(sold))
    say(f"  {SHOP}: {len(sold)} orders")
    bad = len(stored) - len(set(stored)) + wrong
    say(f"  {WAREHOUSE}: {len(stored)} orders, {missing} missing, {bad} duplicated or wrong")
    return bool(sold) and sold == stored


if __name__ == "__main__":
    sys.exit(main())
