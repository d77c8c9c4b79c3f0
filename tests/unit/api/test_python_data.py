"""Schemas of dataclasses, and their instances as values of records."""

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Annotated, Any, Optional

import pytest

from penstock import (
    DataError,
    Float32,
    Instant,
    Int8,
    Int16,
    Int32,
    Int64,
    SchemaBuilderError,
    schema_of,
    value_of,
)
from penstock.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    TIME,
    TIMESTAMP,
    Schema,
    array_of,
    decimal,
    map_of,
    struct,
)
from penstock.testing._comparison import misfit


@Integral.register
class Whole:
    """A whole number that is no `int`, as numpy has them."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __int__(self) -> int:
        return self._number

    def __lt__(self, other: int) -> bool:
        return self._number < other


DAY = date(2026, 1, 31)
MOMENT = datetime(2026, 1, 31, 12, 0, 0, 123_456, tzinfo=UTC)


@dataclass
class Address:
    street: str
    floor: Int16 | None = None


@dataclass(slots=True)
class Order:
    id: int
    name: str | None
    price: Annotated[Decimal, decimal(2)]
    placed: datetime
    due: date
    opens: time
    tags: list[str] = field(default_factory=list)
    to: Address = field(default_factory=lambda: Address("High Street"))
    counts: dict[str, Annotated[int, INT32]] = field(default_factory=dict)


ORDER = struct(
    {
        "id": INT64,
        "name": OPTIONAL_STRING,
        "price": decimal(2),
        "placed": TIMESTAMP,
        "due": DATE,
        "opens": TIME,
        "tags": array_of(STRING),
        "to": struct({"street": STRING, "floor": INT16.as_optional()}, name="Address"),
        "counts": map_of(STRING, INT32),
    },
    name="Order",
)


def order(**changes: Any) -> Order:
    return Order(
        **{"id": 1, "name": None, "price": Decimal("9.5"), "placed": MOMENT, "due": DAY, "opens": time(8)} | changes
    )


def test_a_dataclass_has_a_schema_and_its_objects_fit_it() -> None:
    assert schema_of(Order) == ORDER
    assert schema_of(Order, name="shop.Order").name == "shop.Order"
    value = value_of(order(tags=("a",), counts={"x": 3}), ORDER)
    assert value == {
        "id": 1,
        "name": None,
        "price": Decimal("9.50"),
        "placed": Instant(1_769_860_800_123),
        "due": Instant(20_484 * 86_400_000),
        "opens": Instant(8 * 3_600_000),
        "tags": ["a"],
        "to": {"street": "High Street", "floor": None},
        "counts": {"x": 3},
    }
    assert list(value) == [f.name for f in ORDER.fields]
    assert str(value["price"]) == "9.50"
    assert misfit(ORDER, value) is None


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (bool, BOOLEAN),
        (bytes, BYTES),
        (float, FLOAT64),
        (Int8, INT8),
        (Int32, INT32),
        (Int64, INT64),
        (Float32, FLOAT32),
        (Instant, TIMESTAMP),
        (Annotated[int, "a remark"], INT64),
        (Annotated[str, struct({})], struct({})),
        (Optional[int], INT64.as_optional()),  # noqa: UP045 (what older code has)
        (tuple[int, ...], array_of(INT64)),
        (list[dict[str, bytes | None]], array_of(map_of(STRING, BYTES.as_optional()))),
    ],
)
def test_each_type_has_its_schema(annotation: Any, schema: Schema) -> None:
    assert schema_of(annotation) == schema


@dataclass
class Tree:
    below: "list[Tree]"


@dataclass
class Vague:
    what: Any


@dataclass
class Outer:
    inner: Vague


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (Decimal, "Decimal has no scale: use Annotated[Decimal, decimal(2)]"),
        (int | str, "int | str has no schema"),
        (tuple[int, str], "tuple[int, str] has no schema"),
        (complex, "complex has no schema: use Annotated[..., SCHEMA], or bool, int"),
        (Outer, "Outer.inner: Vague.what: Any has no schema"),
        (list, "list has no schema"),
        (Annotated[complex, {"a": 1}], "complex has no schema"),
        (Tree, "Tree.below: Tree contains itself; schemas cannot be recursive"),
    ],
)
def test_what_has_no_schema_is_reported_with_its_field(annotation: Any, message: str) -> None:
    with pytest.raises(SchemaBuilderError, match=re.escape(message)):
        schema_of(annotation)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": None}, "id is null"),
        ({"id": "1"}, "id is of type str, not int64"),
        ({"id": True}, "id is of type bool, not int64"),
        ({"id": 1 << 63}, "id is out of range for int64"),
        ({"price": 9.5}, "price is of type float, not a Decimal"),
        ({"price": Decimal("9.999")}, "price has more than 2 decimal places"),
        ({"price": Decimal("1E+20000")}, "price has more than 10000 digits"),
        ({"price": Decimal("NaN")}, "price is not a finite number"),
        ({"placed": datetime(2026, 1, 1)}, "placed is a datetime without a time zone"),  # noqa: DTZ001 (the point)
        ({"placed": DAY}, "placed is of type date, not a datetime or an Instant"),
        ({"due": MOMENT}, "due is of type datetime, not a date"),
        ({"opens": time(8, tzinfo=UTC)}, "opens is a time with a time zone"),
        ({"tags": "abc"}, "tags is of type str, not an array"),
        ({"to": Address("x", Int16(1 << 15))}, "to.floor is out of range for int16"),
        ({"to": {"street": "x", "flor": 1}}, "to has the field flor, which is not in the schema"),
        ({"to": 7}, "to is of type int, not a dataclass or a mapping"),
        ({"counts": {"x": 1 << 31}}, "counts is out of range for int32"),
    ],
)
def test_what_does_not_fit_is_reported_with_its_field_and_nothing_is_lost(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=re.escape(message)) as raised:
        value_of(order(**changes), ORDER)
    assert raised.type is DataError


@dataclass(slots=True)
class Base:
    name: str


@dataclass
class Child(Base):
    fixed: str = field(init=False, default="f")
    late: int = 0


def test_every_field_of_a_dataclass_counts_however_it_is_held() -> None:
    schema = schema_of(Child)
    assert value_of(Child("a"), schema) == {"name": "a", "fixed": "f", "late": 0}
    with pytest.raises(DataError, match="has the field late, which is not in the schema"):
        value_of(Child("a"), struct({"name": STRING, "fixed": STRING}))


@pytest.mark.parametrize(
    ("number", "schema", "message"),
    [
        (2**53 + 1, FLOAT64, "cannot be represented as float64"),
        (10**400, FLOAT64, "cannot be represented as float64"),
        (1e300, FLOAT32, "cannot be represented as float32"),
        (3.4028235677973366e38, FLOAT32, "cannot be represented as float32"),  # rounds to infinity
        (True, FLOAT64, "is of type bool, not float64"),
    ],
)
def test_a_number_that_a_float_cannot_hold_is_reported(number: Any, schema: Schema, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        value_of(number, schema)


def test_numbers_of_other_classes_are_numbers() -> None:
    assert type(value_of(Whole(7), INT32)) is int
    assert type(value_of(Fraction(1, 2), FLOAT32)) is float
    assert value_of(float("inf"), FLOAT32) == float("inf")


def test_a_mapping_is_a_struct_whose_missing_fields_are_null() -> None:
    schema = struct({"street": STRING, "floor": INT16.as_optional()})
    assert value_of({"street": "x"}, schema) == {"street": "x", "floor": None}
    with pytest.raises(DataError, match="street is null"):
        value_of({"floor": 1}, schema)
    with pytest.raises(DataError, match="The value is null"):
        value_of(None, schema)
    assert value_of(None, schema.as_optional()) is None


def test_moments_of_any_zone_and_before_the_epoch_are_the_same_moments() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    assert value_of(MOMENT.astimezone(east), TIMESTAMP) == Instant.of(MOMENT)
    assert value_of(datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC), TIMESTAMP) == Instant(-1)
    assert value_of(date(1, 1, 1), DATE) == Instant(-719_162 * 86_400_000)
    assert value_of(time(23, 59, 59, 999_999), TIME) == Instant(86_399_999)
    assert value_of(Instant(7), DATE) == Instant(7)


def test_decimals_of_any_size_get_the_digits_of_their_schema() -> None:
    large = Decimal(f"1{'0' * 60}.5")
    assert str(value_of(large, decimal(3))) == "1" + "0" * 60 + ".500"
    assert str(value_of(1200, decimal(-2))) == "1.2E+3"
    assert value_of(memoryview(b"ab"), BYTES) == b"ab"
    assert value_of(3, FLOAT64) == 3.0
