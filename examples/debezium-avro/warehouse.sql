-- The warehouse: a copy of the shop's orders, and a shipment for each of them.
CREATE TABLE orders (
    id bigint PRIMARY KEY,
    customer text NOT NULL,
    price numeric(10, 2) NOT NULL,
    changes integer NOT NULL
);

CREATE TABLE shipments (
    order_id bigint PRIMARY KEY,
    state text NOT NULL,
    changes integer NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX shipments_in_order ON shipments (updated_at, order_id);

-- A shipment changes with its order, and is cancelled when the order is deleted.
CREATE FUNCTION ship() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        UPDATE shipments SET state = 'cancelled', updated_at = clock_timestamp() WHERE order_id = OLD.id;
    ELSE
        INSERT INTO shipments VALUES (NEW.id, 'packed', NEW.changes, clock_timestamp())
        ON CONFLICT (order_id) DO UPDATE SET changes = EXCLUDED.changes, updated_at = EXCLUDED.updated_at;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER ship AFTER INSERT OR UPDATE OR DELETE ON orders FOR EACH ROW EXECUTE FUNCTION ship();
