"""PostgreSQL of the shop in a pod: its journal, and Debezium's events of its changes."""

import json
import sys

from command import ROOT, Failed, Kube

sys.path.append(str(ROOT / "examples" / "shared"))
from comparison import Row
from events import event_of, row

__all__ = ["changed", "events", "journal", "psql"]

_PSQL = (
    "exec",
    "--namespace=demo",
    "postgresql-0",
    "--container=postgresql",
    "--",
    "psql",
    "-qtAX",
    "-v",
    "ON_ERROR_STOP=1",
)
_VALUES = """
import os, sys, time, uuid
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
topic, least, end = sys.argv[1], int(sys.argv[2]), time.monotonic() + float(sys.argv[3])
consumer = Consumer({"bootstrap.servers": os.environ["BOOTSTRAP_SERVERS"], "group.id": str(uuid.uuid4()),
    "enable.auto.commit": False, "isolation.level": "read_committed", "log_level": 0})
consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
found, more = 0, True
while more and time.monotonic() < end:
    more = found < least
    for message in consumer.consume(10000, 1.0):
        if message.error() is None:
            found += 1
            print(message.value().decode())
"""
"""Prints the values of a topic with one partition: a minimum number, if they arrive in time, and any further ones."""


def psql(kube: Kube, statement: str, database: str = "shop") -> str:
    """Run a statement with psql, and return the output.

    Raises:
        Failed: it failed.
    """
    return kube.kubectl(*_PSQL, "-c", statement, database).strip()


def changed(kube: Kube, database: str = "shop") -> int:
    """Return the number of changes of orders, including the first orders; 0 if the database is unavailable."""
    try:
        return int(psql(kube, "SELECT count(*) FROM journal", database))
    except Failed:  # its pod is starting
        return 0


def journal(kube: Kube, changes: int, database: str = "shop") -> list[Row]:
    """Return the first changes in commit order: id of the order and number of its change, kind, and the row after it."""
    statement = f"SELECT json_build_array(id, change, op, content) FROM journal ORDER BY number LIMIT {changes:d}"  # noqa: S608
    found = [json.loads(line) for line in psql(kube, statement, database).splitlines()]
    return [((order, change), op, content) for order, change, op, content in found]


def events(kube: Kube, topic: str, changes: int, seconds: float = 60.0) -> list[Row]:
    """Return all records of a topic as rows like those of the journal, once it has `changes` records or times out."""
    words = ("exec", "--namespace=demo", "witness", "--", "python3", "-c", _VALUES, topic, str(changes), str(seconds))
    return [row(event_of(line)) for line in kube.kubectl(*words, limit=seconds + 30).splitlines()]
