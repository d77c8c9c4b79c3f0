"""The bytes of records in Kafka's batches, and the portions that fit into one."""

from typing import Any

import pytest
from confluent_kafka import KafkaError

from penstock_runtime.kafka.producer_losses import Losses
from penstock_runtime.kafka.producer_records import Outgoing, slices


@pytest.mark.parametrize(
    ("columns", "size"),
    [
        (
            {"value": [b"x" * 49_928]},
            50_000,
        ),  # what a broker took with max.message.bytes=50000, and one more it did not
        ({"value": [None]}, 61 + 1 + 6),
        ({"value": [b""], "key": [b""]}, 61 + 1 + 6),
        ({"value": [b"v"], "key": [b"k"], "headers": [[("h", b"1"), ("i", None)]]}, 61 + 1 + 8 + 4 + 3),
    ],
)
def test_a_single_record_has_the_size_that_a_broker_counts(columns: dict[str, Any], size: int) -> None:
    outgoing = Outgoing(length=1, topic="t", **columns)
    assert outgoing.alone(0) == size
    assert outgoing.largest() >= size


def test_rows_are_taken_with_all_their_columns() -> None:
    outgoing = Outgoing(
        length=3,
        topic=["a", "b", "c"],
        value=[b"1", b"2", b"3"],
        key=None,
        headers=[[], [("h", b"")], []],
        partition=[0, None, 2],
        timestamp=7,
        positions=[10, 12, 14],
    )
    taken = outgoing.take([1, 2])
    assert (taken.length, taken.topic, taken.value, taken.key) == (2, ["b", "c"], [b"2", b"3"], None)
    assert (taken.headers, taken.partition, taken.timestamp) == ([[("h", b"")], []], [None, 2], 7)
    assert (list(taken.positions), taken.size(), taken.at(1)) == ([12, 14], 3, ("c", 2))


@pytest.mark.parametrize("most", [1, 70, 500, 1_000, 100_000])
def test_portions_fit_and_hold_every_row_in_order(most: int) -> None:
    outgoing = Outgoing(length=50, topic="t", value=[b"x" * (n * 7 % 300) for n in range(50)])
    portions = list(slices(outgoing, most))
    assert [row for rows in portions for row in rows] == list(range(50))
    for rows in portions:
        together = sum(outgoing.alone(row) - 61 for row in rows) + 61
        assert together <= most or len(rows) == 1


def test_two_letters_that_hold_the_same_are_both_kept_to_be_sent_again() -> None:
    losses, refused = Losses(), KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
    letters = [Outgoing(length=1, topic="dead", value=[b"same"]) for _ in range(2)]
    for letter in letters:
        losses.add(refused, Told(), letter)
    losses.add(refused, Told(), letters[1])  # another record of the same portion
    assert [kept is letter for kept, letter in zip(losses.kept, letters, strict=True)] == [True, True]


class Told:
    """What the client says of a record."""

    def topic(self) -> str:
        return "dead"

    def partition(self) -> int:
        return 0
