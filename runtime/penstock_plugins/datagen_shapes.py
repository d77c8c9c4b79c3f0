"""The kinds of records that Datagen makes, each as columns of some thousand rows drawn from one random generator.

A shape draws the same number of values in the same order for every row, and only through `Draw`, whose numbers Python
keeps the same from version to version: what a seed gives is part of Datagen's contract.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from penstock import Instant, Schema
from penstock.schema import BOOLEAN, FLOAT64, INT32, INT64, OPTIONAL_STRING, STRING, TIMESTAMP, array_of, decimal, struct

__all__ = ["SHAPES", "Draw", "Shape"]

_DAY: Final = 86_400_000
_CENTS: Final = tuple(Decimal(n).scaleb(-2) for n in range(1, 20_001))
_CITIES: Final = ("Aarhus", "Bergen", "Córdoba", "Dakar", "Enschede", "Fukuoka", "Gdańsk", "Hà Nội", "Izmir", "Łódź")
_NAMES: Final = ("Ada", "Alan", "Barbara", "Edsger", "Grace", "John", "Katherine", "Ken", "Margaret", "Radia")
_TAGS: Final = ([], ["new"], ["gift"], ["gift", "express"], ["return"], ["express", "fragile"])
_PAGES: Final = ("/", "/search", "/product", "/cart", "/checkout", "/account", "/help", "/about")
_AGENTS: Final = ("Firefox", "Chrome", "Safari", "curl", None)


class Draw:
    """Columns of random values."""

    __slots__ = ("_random", "rows")

    def __init__(self, seed: str, rows: int) -> None:
        self._random = random.Random(seed).random  # noqa: S311 (data for tests)
        self.rows = rows

    def whole(self, below: int, *, least: int = 0) -> list[int]:
        """Whole numbers from `least` on, `below` different ones."""
        draw = self._random
        return [least + int(draw() * below) for _ in range(self.rows)]

    def some[T](self, choices: Sequence[T]) -> list[T]:
        """One of the choices each."""
        draw, count = self._random, len(choices)
        return [choices[int(draw() * count)] for _ in range(self.rows)]

    def share(self) -> list[float]:
        """Numbers from 0 to below 1."""
        draw = self._random
        return [draw() for _ in range(self.rows)]

    def times(self, epoch: int, first: int, step: int) -> list[Instant]:
        """The time of row n: `step` milliseconds after that of the row before, give or take half a step."""
        draw = self._random
        return [Instant(epoch + int((n + draw()) * step)) for n in range(first, first + self.rows)]


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of record.

    Attributes:
        schema: a struct.
        rows: the values, given a generator, the number of the first row, and the time of row 0 in milliseconds.
    """

    schema: Schema
    rows: Callable[[Draw, int, int], list[dict[str, Any]]]
