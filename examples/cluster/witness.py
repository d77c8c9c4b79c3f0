"""Count orders in the topic: a separate program, which runs in the pod `witness`.

It reads committed records only (read_committed), from the beginning, and writes a line of JSON to standard output when it
has found more, at most twice per second: `records`; `first` and `last`, the lowest and highest order id; of the ids between
them, `missing`, and `duplicated`, the number of duplicates. It restarts with each demo. If several streams write the same
ids, COPIES is their number, and each id counts so often.

It does not join a consumer group: after a broker was frozen, a group would reassign the partitions, from the beginning.
"""

import json
import os
import re
import sys
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition

ORDER = re.compile(rb'"%s":\s*(\d+)' % os.environ.get("NUMBER", "order_id").encode())
PERIOD = 0.5  # seconds


def main() -> None:
    """Read until the pod ends."""
    topic, copies = os.environ["TOPIC"], int(os.environ.get("COPIES", "1"))
    consumer = Consumer(
        {
            "bootstrap.servers": os.environ["BOOTSTRAP_SERVERS"],
            "group.id": "demo-witness",  # never joined
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "allow.auto.create.topics": False,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions(consumer, topic)])
    following: dict[int, int] = {}  # the offset after the last counted record, by partition
    times: list[int] = []  # number of records of each id, from `first` on
    first = records = told = 0
    due = time.monotonic()
    while True:
        for message in consumer.consume(1000, PERIOD):
            number = order_id(message)
            if number is None or message.offset() < following.get(message.partition(), 0):
                continue
            following[message.partition()] = message.offset() + 1
            if not records:
                first = number
            records += 1
            if number < first:
                times[:0] = [0] * (first - number)
                first = number
            times.extend([0] * (number - first + 1 - len(times)))
            times[number - first] += 1
        if records > told and time.monotonic() >= due:
            told, due = records, time.monotonic() + PERIOD
            missing = sum(times.count(found) * (copies - found) for found in range(copies))
            found = {
                "records": records,
                "first": first,
                "last": first + len(times) - 1,
                "missing": missing,
                "duplicated": records - (len(times) * copies - missing),
            }
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


def partitions(consumer: Consumer, topic: str) -> list[int]:
    """Wait until the topic exists, and return its partitions."""
    while True:
        try:
            found = consumer.list_topics(topic, timeout=10).topics[topic]
        except KafkaException:
            continue
        if found.error is None and found.partitions:
            return sorted(found.partitions)
        time.sleep(PERIOD)


def order_id(message: Message) -> int | None:
    """Return the order id of a record; None for an error of the client, or another kind of record."""
    found = ORDER.search(message.value() or b"") if message.error() is None else None
    return int(found[1]) if found else None


main()
