"""Whatever the chain: a batch becomes what its records become one by one, and the same ones fail, for the same reasons."""

import copy
from collections.abc import Sequence
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import DataError, Header, Int32, Predicate, Record, RecordBatch, Schema, Transform
from penstock.fields import Fields
from penstock.schema import INT32, INT64, OPTIONAL_STRING, STRING, struct
from penstock.testing import exactly
from penstock_plugins.predicates import HasHeaderKey, RecordIsTombstone, TopicNameMatches
from penstock_plugins.transforms.cast import Cast
from penstock_plugins.transforms.drop_headers import DropHeaders
from penstock_plugins.transforms.extract_field import ExtractField
from penstock_plugins.transforms.filter import Filter
from penstock_plugins.transforms.flatten import Flatten
from penstock_plugins.transforms.header_from import HeaderFrom
from penstock_plugins.transforms.hoist_field import HoistField
from penstock_plugins.transforms.insert_field import InsertField
from penstock_plugins.transforms.insert_header import InsertHeader
from penstock_plugins.transforms.mask_field import MaskField
from penstock_plugins.transforms.regex_router import RegexRouter
from penstock_plugins.transforms.replace_field import ReplaceField
from penstock_plugins.transforms.set_schema_metadata import SetSchemaMetadata
from penstock_plugins.transforms.timestamp_converter import TimestampConverter
from penstock_plugins.transforms.timestamp_router import TimestampRouter
from penstock_plugins.transforms.value_to_key import ValueToKey
from penstock_runtime.pipeline.chain import Step, transform
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, RetryWithToleranceOperator

Given = tuple[type[Transform] | type[Predicate], dict[str, str]]

TRANSFORMS: Final[Sequence[Given]] = (
    (Cast, {"spec": "a:int32"}),
    (Cast, {"spec": "a:string,n:int8"}),
    (Cast, {"spec": "int64"}),
    (MaskField, {"fields": "a"}),
    (MaskField, {"fields": "a,n", "replacement": "7"}),
    (ReplaceField, {"exclude": "a"}),
    (ReplaceField, {"include": "a,n", "renames": "a:b,n:a"}),
    (ReplaceField, {"renames": "b:a"}),
    (InsertField, {"static.field": "s", "static.value": "x"}),
    (InsertField, {"topic.field": "a", "timestamp.field": "at"}),
    (InsertField, {"offset.field": "o", "partition.field": "n"}),
    (TimestampConverter, {"field": "a", "target.type": "Timestamp", "format": "yyyy"}),
    (TimestampConverter, {"field": "n", "target.type": "string", "format": "yyyy-MM-dd"}),
    (ExtractField, {"field": "a"}),
    (ExtractField, {"field": "m.a", "field.syntax.version": "V2"}),
    (HoistField, {"field": "a"}),
    (Flatten, {}),
    (SetSchemaMetadata, {"schema.name": "named", "schema.version": "3"}),
    (ValueToKey, {"fields": "a"}),
    (ValueToKey, {"fields": "n,a"}),
    (HeaderFrom, {"fields": "a", "headers": "h", "operation": "move"}),
    (HeaderFrom, {"fields": "n", "headers": "i", "operation": "copy"}),
    (InsertHeader, {"header": "h", "value.literal": "1"}),
    (DropHeaders, {"headers": "h"}),
    (RegexRouter, {"regex": "t(.*)", "replacement": "u$1"}),
    (TimestampRouter, {"topic.format": "${topic}-${timestamp}", "timestamp.format": "yyyy"}),
    (Filter, {}),
)
"""What fails for some records and not for others, what drops, what writes into the values of a batch that owns them."""


class Single(Predicate):
    """Matches values that have a field `a`; fails for texts. It has no batch form."""

    def test(self, record: Record) -> bool:
        if isinstance(record.value, str):
            raise DataError("cannot tell")
        return isinstance(record.value, dict) and "a" in record.value


class Together(Single):
    """The same with a batch form."""

    def test_batch(self, batch: RecordBatch) -> bool | list[bool]:
        return [self.test(record) for record in batch.records()]


PREDICATES: Final[Sequence[Given | None]] = (
    None,
    None,
    (TopicNameMatches, {"pattern": "t1"}),
    (HasHeaderKey, {"name": "h"}),
    (RecordIsTombstone, {}),
    (Single, {}),
    (Together, {}),
)

PLAIN = struct({"a": OPTIONAL_STRING, "n": Schema(INT64.type, optional=True)})
NESTED = struct({"a": STRING, "m": Schema(PLAIN.type, optional=True, fields=PLAIN.fields)})
NUMBERS = struct({"a": INT32, "n": INT32}, name="numbers")

texts = st.sampled_from(["", "1", "300", "1999", "x", "true"])
longs = st.sampled_from([0, 1, 300, -5, 2**40])
ints = st.sampled_from([0, 1, 300, -5])
atoms = st.none() | texts | longs | st.sampled_from([1.5, True, Int32(7), b"x"])
plain = st.fixed_dictionaries({"a": st.none() | texts, "n": st.none() | longs})
shaped = st.one_of(
    plain.map(lambda v: (PLAIN, v)),
    st.fixed_dictionaries({"a": texts, "m": st.none() | plain}).map(lambda v: (NESTED, v)),
    st.fixed_dictionaries({"a": ints, "n": ints}).map(lambda v: (NUMBERS, v)),
)
bare = st.one_of(
    st.fixed_dictionaries({"a": atoms, "n": atoms}),
    st.dictionaries(
        st.sampled_from("abn"), atoms | st.dictionaries(st.sampled_from("an"), atoms, max_size=2), max_size=3
    ),
    atoms,
).map(lambda v: (None, v))
pairs = st.sampled_from([shaped, plain.map(lambda v: (PLAIN, v)), bare, shaped | bare])


@st.composite
def batches(draw: st.DrawFn) -> RecordBatch:
    """Records of one kind or of several, as columns where that is possible, of a source or a sink."""
    chosen = draw(pairs)
    sink, owned, columns = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    records = []
    for number in range(draw(st.integers(1, 6))):
        schema, value = draw(chosen)
        records.append(
            Record(
                topic=draw(st.sampled_from(["t1", "t1", "t2"])),
                partition=0 if sink else None,
                value=copy.deepcopy(value),
                value_schema=schema,
                key=draw(st.none() | texts),
                timestamp=draw(st.sampled_from([None, 5, 10**12])),
                headers=draw(st.sampled_from([(), (), (Header("h", "x", STRING),)])),
                offset=10 + number if sink else None,
            )
        )
    batch = RecordBatch.of(records)
    changes: dict[str, Any] = {"owned": owned}
    if sink:
        changes |= {"original_topic": "t", "original_partition": 0}
    fields = Fields.of(batch.value or []) if columns else None
    if fields is not None:
        changes["value"] = fields
    return batch.replace(**changes)


@st.composite
def chains(draw: st.DrawFn) -> list[tuple[Given, str, Given | None, bool]]:
    """Up to four steps: a transform and its side, a predicate, and whether it is negated."""
    return [
        (
            draw(st.sampled_from(TRANSFORMS)),
            draw(st.sampled_from(["value", "value", "value", "key"])),
            draw(st.sampled_from(PREDICATES)),
            draw(st.booleans()),
        )
        for _ in range(draw(st.integers(1, 4)))
    ]


def configured(chain: list[tuple[Given, str, Given | None, bool]]) -> list[Step]:
    steps = []
    for number, (which, side, guard, negate) in enumerate(chain):
        step: Any = which[0]()
        step.side = side
        step.configure(step.Config.parse(which[1]))
        predicate: Any = None if guard is None else guard[0]()
        if guard is not None:
            predicate.configure(predicate.Config.parse(guard[1]))
        steps.append(Step(f"s{number}", step, f"s{number}", predicate, negate and guard is not None))
    return steps


def one_by_one(steps: list[Step], records: list[Record]) -> dict[int, Any]:
    """What becomes of each record that is not dropped: the record, or where and why it failed."""
    found: dict[int, Any] = {}
    for row, record in enumerate(records):
        current: Record | None = record
        for step in steps:
            assert current is not None
            try:
                if step.predicate is not None and step.predicate.test(current) is step.negate:
                    continue
                current = step.transform.apply(current)
            except Exception as e:  # noqa: BLE001 (any exception is a record's failure)
                found[row] = (step.name, type(e), str(e))
                break
            if current is None:
                break
        else:
            found[row] = exactly(current)
    return found


@settings(max_examples=150, deadline=None)
@given(chains(), batches())
def test_a_batch_becomes_what_its_records_become(
    chain: list[tuple[Given, str, Given | None, bool]], batch: RecordBatch
) -> None:
    records = copy.deepcopy(list(batch.replace(owned=False).records()))
    expected = one_by_one(configured(chain), records)
    before = exactly(records)
    operator = RetryWithToleranceOperator(ErrorPolicy(tolerate=True))
    made = transform(configured(chain), batch, operator)
    failed = {f.position: (f.plugin, type(f.error), str(f.error)) for f in operator.failures}
    assert len(failed) == len(operator.failures)
    kept = {p: exactly(r) for p, r in zip(made.positions, made.records(), strict=True)}
    assert {**kept, **failed} == expected
    assert list(kept) == sorted(kept)
    if not batch.owned:
        assert exactly(list(batch.records())) == before, "a chain changed values that are not its own"


@settings(max_examples=60, deadline=None)
@given(chains(), batches())
def test_without_tolerance_the_first_failing_record_is_found(
    chain: list[tuple[Given, str, Given | None, bool]], batch: RecordBatch
) -> None:
    records = copy.deepcopy(list(batch.replace(owned=False).records()))
    expected = one_by_one(configured(chain), records)
    failures = [(row, *e) for row, e in sorted(expected.items()) if e[0] in {f"s{n}" for n in range(4)}]
    operator = RetryWithToleranceOperator(ErrorPolicy())
    transform(configured(chain), batch, operator)
    found = min(operator.failures, key=lambda f: f.position, default=None)
    assert (found and (found.position, found.plugin, type(found.error), str(found.error))) == next(iter(failures), None)
