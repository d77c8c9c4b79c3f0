"""A table with a column of every type that Debezium knows well, a second table, and changes to both."""

from typing import Final

from connectors.sql.tests.conftest import Database

__all__ = ["LAST_NOTE", "RECORDS", "SNAPSHOT", "change", "fill"]

SNAPSHOT: Final = {"wide": 3_003, "notes": 200}
"""Rows of each table after `fill`."""
RECORDS: Final = {"wide": 5_941, "notes": 321}
"""Records of each table after `change`: a deletion makes two, a row with another key three."""
LAST_NOTE: Final = 1_000_000
"""The id of the last change, in `notes`."""

_TABLES: Final = """
CREATE TYPE mood AS ENUM ('calm', 'wild');
CREATE TABLE wide (
    id int PRIMARY KEY, small int2, big int8, price numeric(10, 2), amount numeric, ok bool, note text, code varchar(20),
    fixed char(6), raw bytea, day date, moment time, moment_ms time(3), moment_tz timetz, at timestamp, at_ms timestamp(3),
    at_tz timestamptz, span interval, ref uuid, doc jsonb, doc_text json, numbers int[], words text[], single real,
    twice double precision, feeling mood, address inet, net cidr, bits bit(5), place point, paid money, long_text text
);
CREATE TABLE notes (id bigint PRIMARY KEY, note text);
ALTER TABLE notes REPLICA IDENTITY FULL;
"""
# Every seventh row has nulls alone.
_ROWS: Final = """
INSERT INTO wide (id) SELECT n FROM generate_series({first}, {last}) n WHERE n % 7 = 0;
INSERT INTO wide SELECT
    n, n % 30000, n * 1000000007::bigint, n * 1.37, n / 7.0, n % 2 = 0, 'row ' || n || ' "\\/' || chr(8232) || chr(128516),
    md5(n::text)::varchar(20), 'f' || n % 100, decode(md5(n::text), 'hex'), '1969-01-01'::date + n,
    '00:00'::time + n * interval '17.001001 s', '00:00'::time + n * interval '17.001 s', '12:30:00.5+02'::timetz,
    '1960-02-29 01:02:03.004005'::timestamp + n * interval '1 day 1.000001 s', '2024-01-01'::timestamp + n * interval '1 ms',
    '2024-06-01 12:00+02'::timestamptz + n * interval '1.000001 s', n * interval '1 month 2 days 3.5 s',
    md5(n::text)::uuid, jsonb_build_object('n', n, 'list', jsonb_build_array(1, null, 'x')), '{{ "a" :  1.50 }}',
    ARRAY[n, NULL, -n], ARRAY['a"b', NULL, n::text], n / 3.0, n / 3.0, (ARRAY['calm', 'wild'])[1 + n % 2]::mood,
    '10.0.0.1', '10.0.0.0/8', (n % 32)::bit(5), point(n, n / 3.0), n * 1.5, NULL
FROM generate_series({first}, {last}) n WHERE n % 7 <> 0;
"""
_EXTREMES: Final = """
INSERT INTO wide (id, small, big, price, amount, single, twice, day, at, at_tz, note, raw, numbers) VALUES
    (-1, -32768, -9223372036854775808, -99999999.99, -1e-30, '1.4e-45', '4.9e-324', '0001-01-01', '0001-01-01',
     '0001-01-01Z', '', '', '{}'),
    (-2, 32767, 9223372036854775807, 99999999.99, 123456789012345678901234567890.5, '3.4e38', '1.7e308', '9999-12-31',
     '9999-12-31 23:59:59.999999', '9999-12-31 23:59:59.999999Z', E'\\t\\u0001\\u007f', '\\x00ff',
     '{2147483647,-2147483648}'),
    (-3, 0, 0, 0, 0, 'NaN', '-Infinity', 'infinity', 'infinity', 'infinity', 'null', NULL, NULL);
"""


def fill(database: Database) -> None:
    """Create the tables and the rows of the snapshot."""
    database.run(_TABLES)
    database.run(_ROWS.format(first=1, last=3_000))
    database.run(_EXTREMES)
    database.run("INSERT INTO notes SELECT n, 'note ' || n FROM generate_series(1, 200) n")


def change(database: Database) -> None:
    """Insert, update and delete in transactions of one row to thousands, and add a column in between."""
    run = database.run
    run(_ROWS.format(first=3_001, last=3_500))
    run("UPDATE wide SET small = 1 - small, note = NULL WHERE id > 2000")
    run("DELETE FROM wide WHERE id BETWEEN 100 AND 199")
    # A value that is stored apart (TOAST) is not in the log of an update of another column.
    run("ALTER TABLE wide ALTER long_text SET STORAGE EXTERNAL")
    run("UPDATE wide SET long_text = repeat('long', 2000) WHERE id < 20")
    run("UPDATE wide SET ok = NULL WHERE id < 20")
    run("UPDATE wide SET id = id + 100000 WHERE id BETWEEN 300 AND 310")
    run("UPDATE notes SET note = note || '!' WHERE id <= 50; DELETE FROM notes WHERE id > 180")
    run("ALTER TABLE wide ADD COLUMN added numeric(6, 3) NOT NULL DEFAULT 1.5")
    run("UPDATE wide SET added = 2.25 WHERE id BETWEEN 400 AND 900")
    run(_ROWS.format(first=3_501, last=3_600).replace("NULL\n", "NULL, 7\n"))
    for number in range(30):
        run(f"INSERT INTO notes VALUES ({1_000 + number}, NULL); DELETE FROM wide WHERE id = {2_000 + number}")
    run(f"INSERT INTO notes VALUES ({LAST_NOTE}, 'the last')")
