"""The shop: a table of orders that changes, and a journal of its changes, kept by the database itself."""

import random
from typing import Any, LiteralString

from comparison import Row
from postgresql import PostgreSQL

__all__ = ["NEW_COLUMN", "SEED", "TOPIC", "Shop"]

TOPIC = "shop.public.orders"  # as Debezium names it

DATABASE: LiteralString = "shop"
SEED = 1000  # orders before the connector starts: its snapshot
NEW_COLUMN: LiteralString = "ALTER TABLE orders ADD COLUMN coupon text"

_TABLES: LiteralString = """
CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer text NOT NULL,
    price numeric(10, 2) NOT NULL,
    changes integer NOT NULL DEFAULT 0
);
ALTER TABLE orders REPLICA IDENTITY FULL; -- events have the row as it was before, too
CREATE TABLE journal (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id bigint NOT NULL,
    change integer NOT NULL,
    op text NOT NULL,
    content jsonb
);
CREATE FUNCTION write_journal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO journal (id, change, op) VALUES (OLD.id, OLD.changes + 1, 'd');
    ELSE
        INSERT INTO journal (id, change, op, content)
        VALUES (NEW.id, NEW.changes, CASE TG_OP WHEN 'INSERT' THEN 'c' ELSE 'u' END, to_jsonb(NEW));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER journal AFTER INSERT OR UPDATE OR DELETE ON orders FOR EACH ROW EXECUTE FUNCTION write_journal();
"""
_INSERT: LiteralString = """
INSERT INTO orders (customer, price)
SELECT (ARRAY['Ada', 'Grace', 'Edsger', 'Barbara'])[1 + mod(n, 4)], n * 0.25 + 1 FROM generate_series(1, %s) n
"""
_SOME: LiteralString = "WHERE id IN (SELECT id FROM orders WHERE id >= %s ORDER BY id LIMIT %s)"
_UPDATE: LiteralString = f"UPDATE orders SET price = price + 0.5, changes = changes + 1 {_SOME}"  # noqa: S608
_UPDATE_COUPON: LiteralString = f"UPDATE orders SET coupon = 'SPRING', changes = changes + 1 {_SOME}"  # noqa: S608
_DELETE: LiteralString = f"DELETE FROM orders {_SOME}"  # noqa: S608


class Shop:
    """The database, with its first orders.

    Attributes:
        changes: committed so far, the first orders included.
    """

    def __init__(self, server: PostgreSQL) -> None:
        server.make(DATABASE)
        self._connection = server.connect(DATABASE)
        self._has_coupon = False
        self._connection.execute(_TABLES)
        self._connection.execute(_INSERT, [SEED])
        self._connection.execute("UPDATE journal SET op = 'r'")  # the snapshot reads them
        self._last = self.changes = SEED

    def change(self, changes: int) -> None:
        """Change so many orders in one transaction: half of them are new, most others updated, some deleted."""
        update = _UPDATE_COUPON if self._has_coupon else _UPDATE
        new, deleted = -(-changes // 2), changes // 10
        statements = [(_INSERT, [new]), (update, self._some(changes - new - deleted)), (_DELETE, self._some(deleted))]
        with self._connection.transaction():
            done = sum(self._connection.execute(statement, values).rowcount for statement, values in statements)
        self.changes += done
        self._last += new

    def add_column(self) -> None:
        """Add a column, which updates fill from now on."""
        self._connection.execute(NEW_COLUMN)
        self._has_coupon = True

    def journal(self) -> list[Row]:
        """Return all changes in commit order: id of the order and number of its change, kind, the row afterwards."""
        found = self._connection.execute("SELECT id, change, op, content FROM journal ORDER BY number")
        return [((order, change), op, content) for order, change, op, content in found]

    def _some(self, orders: int) -> list[Any]:
        return [random.randint(1, self._last), orders]  # noqa: S311 (nothing secret)
