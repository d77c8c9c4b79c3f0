"""The shop: a table of orders that changes, and a journal of its changes, kept by the database itself."""

from pathlib import Path
from typing import LiteralString

from comparison import Row
from postgresql import PostgreSQL

__all__ = ["NEW_COLUMN", "SEED", "TOPIC", "Shop"]

TOPIC = "shop.public.orders"  # as Debezium names it

DATABASE: LiteralString = "shop"
SEED = 1000  # orders before the connector starts: its snapshot
NEW_COLUMN: LiteralString = "ALTER TABLE orders ADD COLUMN coupon text"
_TABLES = Path(__file__).parents[1] / "postgresql" / "shop.sql"


class Shop:
    """The database, with its first orders.

    Attributes:
        changes: committed so far, the first orders included.
    """

    def __init__(self, server: PostgreSQL) -> None:
        server.make(DATABASE)
        self._connection = server.connect(DATABASE)
        self._connection.execute(_TABLES.read_bytes())
        self.changes = SEED

    def change(self, changes: int) -> None:
        """Change so many orders in one transaction: half of them are new, most others updated, some deleted."""
        for (done,) in self._connection.execute("SELECT change_orders(%s)", [changes]):
            self.changes += done

    def add_column(self) -> None:
        """Add a column, which updates fill from now on."""
        self._connection.execute(NEW_COLUMN)

    def journal(self) -> list[Row]:
        """Return all changes in commit order: id of the order and number of its change, kind, the row afterwards."""
        found = self._connection.execute("SELECT id, change, op, content FROM journal ORDER BY number")
        return [((order, change), op, content) for order, change, op, content in found]
