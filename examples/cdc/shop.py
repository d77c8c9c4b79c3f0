"""Shop with a changing table of orders, and a journal of the changes, which the database writes."""

from pathlib import Path
from typing import LiteralString

from comparison import Row
from postgresql import PostgreSQL

__all__ = ["NEW_COLUMN", "SEED", "TOPIC", "Shop"]

TOPIC = "shop.public.orders"  # Debezium's name for it

DATABASE: LiteralString = "shop"
SEED = 1000  # orders before the connector starts: its snapshot
NEW_COLUMN: LiteralString = "ALTER TABLE orders ADD COLUMN coupon text"
_TABLES = Path(__file__).parents[1] / "postgresql" / "shop.sql"


class Shop:
    """Database of the shop, with its first orders.

    Attributes:
        changes: number of committed changes, including the first orders.
    """

    def __init__(self, server: PostgreSQL) -> None:
        server.make(DATABASE)
        self._connection = server.connect(DATABASE)
        self._connection.execute(_TABLES.read_bytes())
        self.changes = SEED

    def change(self, changes: int) -> None:
        """Make a number of changes in one transaction: half are new orders, most others updates, some deletions."""
        for (done,) in self._connection.execute("SELECT change_orders(%s)", [changes]):
            self.changes += done

    def add_column(self) -> None:
        """Add a column, which updates set from now on."""
        self._connection.execute(NEW_COLUMN)

    def journal(self) -> list[Row]:
        """Return all changes in commit order: id of the order and number of its change, kind, and the row after it."""
        found = self._connection.execute("SELECT id, change, op, content FROM journal ORDER BY number")
        return [((order, change), op, content) for order, change, op, content in found]
