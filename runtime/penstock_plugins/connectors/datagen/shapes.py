"""Kinds of records that Datagen generates, in blocks of rows from one random generator.

A shape draws the same number of values in the same order for every row, and only with `Draw`. Python guarantees that a seed
produces the same random numbers in later versions, so the data of a seed is part of Datagen's contract.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeVar

from penstock import Instant, Schema
from penstock.schema import (
    BOOLEAN,
    FLOAT64,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    TIMESTAMP,
    array_of,
    decimal,
    struct,
)

__all__ = ["SHAPES", "Draw", "Shape"]

_DAY: Final = 86_400_000
_CENTS: Final = tuple(Decimal(n).scaleb(-2) for n in range(1, 20_001))
_CITIES: Final = ("Aarhus", "Bergen", "Córdoba", "Dakar", "Enschede", "Fukuoka", "Gdańsk", "Hà Nội", "Izmir", "Łódź")
_NAMES: Final = ("Ada", "Alan", "Barbara", "Edsger", "Grace", "John", "Katherine", "Ken", "Margaret", "Radia")
_TAGS: Final[Sequence[Sequence[str]]] = ([], ["new"], ["gift"], ["gift", "express"], ["return"], ["express", "fragile"])
_PAGES: Final = ("/", "/search", "/product", "/cart", "/checkout", "/account", "/help", "/about")
_AGENTS: Final = ("Firefox", "Chrome", "Safari", "curl", None)

T = TypeVar("T")


class Draw:
    """Generator of columns of random values, one value for each row."""

    __slots__ = ("_random", "rows")

    def __init__(self, seed: str, rows: int) -> None:
        self._random = random.Random(seed).random  # noqa: S311 (data for tests)
        self.rows = rows

    def whole(self, below: int, *, least: int = 0) -> list[int]:
        """Return integers from `least` up to, but not including, `least + below`."""
        draw = self._random
        return [least + int(draw() * below) for _ in range(self.rows)]

    def some(self, choices: Sequence[T]) -> list[T]:
        """Return one of the choices for each row."""
        draw, count = self._random, len(choices)
        return [choices[int(draw() * count)] for _ in range(self.rows)]

    def share(self) -> list[float]:
        """Return floats from 0 up to, but not including, 1."""
        draw = self._random
        return [draw() for _ in range(self.rows)]

    def times(self, epoch: int, first: int, step: int) -> list[Instant]:
        """Return increasing instants: the instant of row n is in the n-th interval of `step` milliseconds after `epoch`."""
        draw = self._random
        return [Instant(epoch + int((n + draw()) * step)) for n in range(first, first + self.rows)]


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of record.

    Attributes:
        schema: schema of the records, a struct.
        rows: function that makes the values from a generator, the index of the first row, the time of row 0 and the
            interval between two rows (both in milliseconds).
    """

    schema: Schema
    rows: Callable[[Draw, int, int, int], list[dict[str, Any]]]


def _orders(draw: Draw, first: int, epoch: int, step: int) -> list[dict[str, Any]]:
    columns = zip(
        range(first, first + draw.rows),
        draw.times(epoch, first, step),
        draw.whole(10_000),
        draw.whole(9, least=1),
        draw.some(_CENTS),
        draw.share(),
        draw.share(),
        draw.some(_TAGS),
        draw.some(_CITIES),
        strict=True,
    )
    return [
        {
            "order_id": number,
            "ordered_at": moment,
            "customer_id": customer,
            "quantity": quantity,
            "price": price,
            "discount": discount if discount < 0.25 else None,
            "paid": paid < 0.9,
            "tags": [*tags],
            "city": city,
        }
        for number, moment, customer, quantity, price, discount, paid, tags, city in columns
    ]


def _customers(draw: Draw, first: int, epoch: int, step: int) -> list[dict[str, Any]]:
    columns = zip(
        range(first, first + draw.rows),
        draw.some(_NAMES),
        draw.whole(1_000_000),
        draw.some(_CITIES),
        draw.whole(20 * 365),
        draw.share(),
        draw.share(),
        strict=True,
    )
    return [
        {
            "customer_id": number,
            "name": name,
            "email": f"{name.lower()}.{mail}@example.com" if known < 0.8 else None,
            "address": {"city": city, "code": mail % 100_000},
            "since": Instant(epoch - days * _DAY),
            "score": score,
        }
        for number, name, mail, city, days, score, known in columns
    ]


def _clickstream(draw: Draw, first: int, epoch: int, step: int) -> list[dict[str, Any]]:
    columns = zip(
        draw.times(epoch, first, step),
        draw.whole(1000),
        draw.some(_PAGES),
        draw.some(_PAGES),
        draw.share(),
        draw.some(_AGENTS),
        draw.share(),
        strict=True,
    )
    return [
        {
            "at": moment,
            "session": f"s{session:04}",
            "page": page,
            "referrer": referrer if page != "/" else None,
            "seconds": seconds * 60,
            "agent": agent,
            "signed_in": signed < 0.5,
        }
        for moment, session, page, referrer, seconds, agent, signed in columns
    ]


SHAPES: Final[Mapping[str, Shape]] = {
    "orders": Shape(
        struct(
            {
                "order_id": INT64,
                "ordered_at": TIMESTAMP,
                "customer_id": INT64,
                "quantity": INT32,
                "price": decimal(2),
                "discount": FLOAT64.as_optional(),
                "paid": BOOLEAN,
                "tags": array_of(STRING),
                "city": STRING,
            },
            name="penstock.datagen.Order",
        ),
        _orders,
    ),
    "customers": Shape(
        struct(
            {
                "customer_id": INT64,
                "name": STRING,
                "email": OPTIONAL_STRING,
                "address": struct({"city": STRING, "code": INT32}, name="penstock.datagen.Address"),
                "since": TIMESTAMP,
                "score": FLOAT64,
            },
            name="penstock.datagen.Customer",
        ),
        _customers,
    ),
    "clickstream": Shape(
        struct(
            {
                "at": TIMESTAMP,
                "session": STRING,
                "page": STRING,
                "referrer": OPTIONAL_STRING,
                "seconds": FLOAT64,
                "agent": OPTIONAL_STRING,
                "signed_in": BOOLEAN,
            },
            name="penstock.datagen.Click",
        ),
        _clickstream,
    ),
}
