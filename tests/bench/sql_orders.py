"""A PostgreSQL with the rows that must come, and a table that is made anew for each run."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
from connectors.sql.tests.conftest import Server
from tests.bench.sql_data import TABLE, write_csv
from tests.bench.tree import Tree

__all__ = ["PASSWORD", "USER", "Orders", "orders"]

USER: Final = "postgres"
PASSWORD: Final = "secret"


@dataclass(frozen=True)
class Orders:
    """A server whose table `expected` has the rows that must come, which are in a CSV file as well."""

    server: Server
    count: int
    csv: Path
    connection: psycopg.Connection

    def one(self, query: str) -> Any:
        """The first row of an answer."""
        return self.connection.execute(query.encode()).fetchone()

    def empty(self, mode: str) -> None:
        """A new table `orders`, with what must be there before the rows come."""
        self.connection.execute("DROP TABLE IF EXISTS orders")
        self.connection.execute(TABLE.format(name="orders").encode())
        if mode == "upsert":
            self.connection.execute(
                "INSERT INTO orders SELECT id, customer, country, amount, quantity + 1, paid, created, note "
                "FROM expected WHERE id % 2 = 0"
            )
        self.connection.execute("VACUUM ANALYZE orders")
        self.connection.execute("CHECKPOINT")

    def cpu(self) -> float:
        """CPU seconds of the server until now."""
        pid = int((self.server.data / "postmaster.pid").read_text().split()[0])
        return Tree(pid).cpu(look=True)

    def psql(self, commands: list[str]) -> None:
        """Let psql carry out commands.

        Raises:
            RuntimeError: it failed.
        """
        url = self.server.url().removeprefix("jdbc:")
        words = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", USER, url]
        words += [word for command in commands for word in ("-c", command)]
        environment = {**os.environ, "PGPASSWORD": PASSWORD}
        done = subprocess.run(words, env=environment, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"psql failed: {done.stderr}")

    def check(self, who: str) -> None:
        """Raise RuntimeError unless the rows are those that were to come."""
        query = "SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM {} t WHERE id >= 0"
        found, must = (self.one(query.format(name)) for name in ("orders", "expected"))
        if found != must:
            raise RuntimeError(f"{who}: {found[0]} rows of {must[0]}, or others than COPY's")


@contextmanager
def orders(parent: Path, count: int) -> Iterator[Orders]:
    """A server of its own, below a folder into which its user may look."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-postgresql-", dir=parent) as name:
        server = Server(Path(name))
        csv = Path(name, "orders.csv")
        write_csv(csv, count)
        server.start()
        try:
            with server.connect() as connection:
                connection.execute(TABLE.format(name="expected").encode())
                made = Orders(server, count, csv, connection)
                made.psql([f"\\copy expected FROM '{csv}' CSV"])
                yield made
        finally:
            server.stop()
