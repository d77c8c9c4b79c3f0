-- The shop: a changing table of orders, and a journal of its changes, written by triggers, for comparison with the records.
SELECT pg_advisory_lock(7); -- this file may be executed repeatedly and concurrently

CREATE TABLE IF NOT EXISTS orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer text NOT NULL,
    price numeric(10, 2) NOT NULL,
    changes integer NOT NULL DEFAULT 0
);
ALTER TABLE orders REPLICA IDENTITY FULL; -- events also have the row before the change

-- In commit order: the order, the number of its change, r (read by the snapshot), c, u or d, and the row after the change.
CREATE TABLE IF NOT EXISTS journal (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id bigint NOT NULL,
    change integer NOT NULL,
    op text NOT NULL,
    content jsonb
);

CREATE OR REPLACE FUNCTION write_journal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO journal (id, change, op) VALUES (OLD.id, OLD.changes + 1, 'd');
    ELSE
        INSERT INTO journal (id, change, op, content)
        VALUES (NEW.id, NEW.changes, CASE TG_OP WHEN 'INSERT' THEN 'c' ELSE 'u' END, to_jsonb(NEW));
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER journal AFTER INSERT OR UPDATE OR DELETE ON orders
FOR EACH ROW EXECUTE FUNCTION write_journal();

CREATE OR REPLACE FUNCTION insert_orders(wanted integer) RETURNS void LANGUAGE sql AS $$
    INSERT INTO orders (customer, price)
    SELECT (ARRAY['Ada', 'Grace', 'Edsger', 'Barbara'])[1 + mod(n, 4)], n * 0.25 + 1 FROM generate_series(1, wanted) n
$$;

-- Change a number of orders: insert half of them, delete a tenth, and update the others. Return the number of changes.
CREATE OR REPLACE FUNCTION change_orders(wanted integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    deleted CONSTANT integer := floor(wanted / 10.0 + random());
    inserted CONSTANT integer := (wanted + 1) / 2;
    before CONSTANT bigint := coalesce((SELECT max(number) FROM journal), 0);
    somewhere CONSTANT bigint := random() * coalesce((SELECT max(id) FROM orders), 0);
    coupon CONSTANT text := CASE WHEN EXISTS (
        SELECT FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attname = 'coupon'
    ) THEN $coupon$, coupon = 'SPRING'$coupon$ ELSE '' END;
BEGIN
    PERFORM insert_orders(inserted);
    EXECUTE 'UPDATE orders SET price = price + 0.5, changes = changes + 1' || coupon
        || ' WHERE id IN (SELECT id FROM orders WHERE id >= $1 ORDER BY id LIMIT $2)'
        USING somewhere, greatest(0, wanted - inserted - deleted);
    DELETE FROM orders WHERE id IN (SELECT id FROM orders WHERE id >= somewhere ORDER BY id LIMIT deleted);
    RETURN (SELECT max(number) FROM journal) - before;
END $$;

-- The first orders, which the snapshot of a connector reads.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM journal) THEN
        PERFORM insert_orders(1000);
        UPDATE journal SET op = 'r';
    END IF;
END $$;
SELECT pg_advisory_unlock(7);
