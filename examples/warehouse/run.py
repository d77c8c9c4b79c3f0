"""The warehouse: a table of a shop that grows, through a real Kafka, into a table of another database.

`make demo-warehouse` runs it, on SQLite. Ctrl-C stops it; kill it as hard as you like, and start it again: each row is in
the warehouse exactly once. It tells once a second how far each end has come, and counts at the end. With `--cluster` it is
examples/cluster/warehouse.py that runs.
"""

import argparse
import os
import sqlite3
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from penstock.errors import ConnectError
from penstock_cli.embedded import EmbeddedKafka

sys.path.append(str(Path(__file__).parents[1] / "shared"))
from local import penstock_run, say, stop_event

FOLDER = Path("penstock-warehouse")
SHOP, WAREHOUSE = FOLDER / "shop.db", FOLDER / "warehouse.db"
CUSTOMERS = ("Ada", "Grace", "Edsger", "Barbara")
ORDERS = "SELECT id, customer, price FROM orders ORDER BY id"
DRAINED = 60.0  # seconds


def main() -> int:
    """Run until Ctrl-C, or for `--seconds`; the exit code is 0 when the count is right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200, help="rows a second (default %(default)s)")
    parser.add_argument("--seconds", type=float, help="stop by itself so long after the first row has come out")
    parser.add_argument("--cluster", action="store_true", help="PostgreSQL, on the cluster of `make demo`")
    options = parser.parse_args()
    if options.cluster:
        words = [f"--{name}={value}" for name in ("rate", "seconds") if (value := getattr(options, name)) is not None]
        program = Path(__file__).parents[1] / "cluster" / "warehouse.py"
        os.execv(sys.executable, [sys.executable, str(program), *words])  # noqa: S606
    stopping = stop_event()
    FOLDER.mkdir(exist_ok=True)
    with closing(sqlite3.connect(SHOP)) as shop, shop:
        shop.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, price REAL)")
    try:
        with EmbeddedKafka(FOLDER / "kafka") as kafka:
            say(f"Kafka listens on {kafka.bootstrap_servers}; topic shop.orders lies between the two tables.")
            demonstrate(kafka.bootstrap_servers, options.rate, options.seconds, stopping)
    except ConnectError as e:
        say(f"{e}\nWhat is under way arrives at the next start.")
        return 5
    say("Stopped. The count:")
    good = report()
    say("`make demo-warehouse` again goes on where it stopped. `rm -r penstock-warehouse` forgets everything.")
    return 0 if good else 1


def demonstrate(servers: str, rate: int, seconds: float | None, stopping: threading.Event) -> None:
    """Let the table grow while `penstock run` moves its rows, then let it drain."""
    with penstock_run(Path(__file__).with_name("connectors.yaml"), servers, FOLDER) as process:
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
            say(f"`penstock run` has ended ({process.returncode}); what is under way arrives at the next start.")
        deadline = time.monotonic() + DRAINED
        while count(WAREHOUSE) < count(SHOP) and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.1)


def sell(orders: int) -> None:
    """New rows, in one transaction."""
    if not orders:
        return
    with closing(sqlite3.connect(SHOP, timeout=60)) as shop, shop:
        first = (shop.execute("SELECT max(id) FROM orders").fetchone()[0] or 0) + 1
        rows = [(n, CUSTOMERS[n % len(CUSTOMERS)], n * 0.25) for n in range(first, first + orders)]
        shop.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)


def count(path: Path) -> int:
    """How many orders a database has."""
    found = asked(path, "SELECT count(*) FROM orders")
    return int(found[0][0]) if found else 0


def asked(path: Path, query: str) -> list[tuple[Any, ...]]:
    """What a database answers about its orders; nothing while it has no such table."""
    with closing(sqlite3.connect(path, timeout=60)) as database:
        there = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'orders'").fetchone()
        return database.execute(query).fetchall() if there else []


def report() -> bool:
    """Count, print and judge: what the shop has, and what the warehouse has of it."""
    sold, stored = asked(SHOP, ORDERS), asked(WAREHOUSE, ORDERS)
    missing, wrong = len(set(sold) - set(stored)), len(set(stored) - set(sold))
    say(f"  {SHOP}: {len(sold)} orders")
    say(
        f"  {WAREHOUSE}: {len(stored)} orders, {missing} missing, {len(stored) - len(set(stored)) + wrong} doubled or wrong"
    )
    return bool(sold) and sold == stored


if __name__ == "__main__":
    sys.exit(main())
