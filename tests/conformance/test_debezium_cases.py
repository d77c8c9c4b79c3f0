"""Cases of ExtractNewRecordState are what Debezium's class answers, and random ones get the same answer here."""

import json
import random
from collections.abc import Iterator
from typing import Any, Final

import pytest
from tests.integration.java.plugins import debezium, folder_of

from . import codec
from .debezium_cases import CASES, NAME, answered, cases, envelope, event, record, row, row_schema
from .fuzz.answers import Raised, answers
from .oracle import Oracle

Json = Any

_COUNT: Final = 150


def test_at_least_a_hundred_cases_are_kept() -> None:
    kept = json.loads(CASES.read_text("utf-8"))
    assert len(kept) >= 100
    assert [{n: part for n, part in case.items() if n != "expected"} for case in kept] == cases()


@pytest.mark.slow
def test_kept_cases_are_what_debezium_answers() -> None:
    assert answered(cases()) == json.loads(CASES.read_text("utf-8"))


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle(plugins=folder_of(debezium("postgres")) / "debezium-connector-postgres") as started:
        yield started


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_random_streams_become_the_same_rows_by_each_way_of_the_engine(oracle: Oracle, seed: int) -> None:
    rng = random.Random(seed)
    made = [_case(rng) for _ in range(_COUNT)]
    for case, expected in zip(made, oracle.answers(made), strict=True):
        for way, given in answers(case):
            _check(case, way, given, expected)


def _check(case: Json, way: str, given: Any, expected: Json) -> None:
    for number, (answer, wanted) in enumerate(zip(given, expected["results"], strict=True)):
        if isinstance(answer, Raised):  # which error, the kept cases say: a random record may have several
            assert "error" in wanted, (way, number, answer.shown(), json.dumps(case))
        else:
            assert answer == codec.normal(wanted), (way, number, json.dumps(case))


_REFERENCES: Final = (
    "op", "ts_ms", "table", "lsn", "source.ts_ms", "id", "transaction.total_order", "absent", "op:o", "db:id", "db:a.b"
)  # fmt: skip


def _case(rng: random.Random) -> Json:
    def some(texts: tuple[str, ...]) -> str:
        return ",".join(rng.choices(texts, k=rng.randrange(4)))

    choices = {
        "delete.tombstone.handling.mode": [
            "drop",
            "tombstone",
            "rewrite",
            "rewrite-with-tombstone",
            "delete-to-tombstone",
        ],
        "add.fields": [some(_REFERENCES)],
        "add.headers": [some(_REFERENCES)],
        "add.fields.prefix": ["", "_"],
        "add.headers.prefix": ["h."],
        "route.by.field": ["item", "note", "", "__deleted", "id"],
        "drop.fields.header.name": ["drop"],
        "drop.fields.from.key": ["true", "false"],
        "drop.fields.keep.schema.compatible": ["true", "false"],
        "replace.null.with.default": ["true", "false"],
    }
    chosen = {n: rng.choice(texts) for n, texts in choices.items() if rng.random() < 0.4}
    config = {"transforms": "t", "transforms.t.type": NAME, **{f"transforms.t.{n}": text for n, text in chosen.items()}}
    # One schema of envelopes in each case: Debezium keeps the first one's added fields for all with the same rows.
    changed = {"without": rng.choice([(), (), (), ("transaction",), ("before",), ("op",), ("source",)])}
    attributes: Json = {"optional": rng.random() < 0.9, "doc": rng.choice([None, "d"])}
    shape = envelope(row_schema(**attributes), **changed)
    kinds = rng.choice([(_event,), (_event, _event, _tombstone), (_event, _tombstone, _other)])
    return {
        **({"kind": "sink"} if rng.random() < 0.5 else {}),
        "config": config,
        "input": {"records": [rng.choice(kinds)(rng, shape) for _ in range(rng.randrange(1, 7))]},
    }


def _row(rng: random.Random) -> Json:
    return row(
        item=rng.choice([None, "", " ", "pump"]), region=rng.choice([None, "south"]), note=rng.choice([None, "n"])
    )


def _headers(rng: random.Random) -> list[Json]:
    names = rng.choices(["id", "item", "note", "__deleted", "_op", "absent"], k=rng.randrange(3))
    listed = {"name": rng.choice(["drop", "other"]), "schema": None, "value": names}
    return rng.choice([[], [], [listed]])


def _event(rng: random.Random, shape: Json) -> Json:
    op = rng.choice("crudt")
    before = _row(rng) if op in "ud" else None
    after = _row(rng) if op in "cru" else None
    values = {}
    if rng.random() < 0.5:
        values["transaction"] = {"$struct": {
            "id": "7", "total_order": {"$int64": 1}, "data_collection_order": {"$int64": 2}
        }}  # fmt: skip
    return event(op, before, after, shape, values=values, headers=_headers(rng), topic=rng.choice(["a", "b"]))


def _tombstone(rng: random.Random, _: Json) -> Json:
    return record(None, None, headers=_headers(rng))


def _other(rng: random.Random, _: Json) -> Json:
    return record({"type": "string", "optional": True}, rng.choice(["text", None]), headers=_headers(rng))
