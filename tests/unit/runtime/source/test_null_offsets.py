"""A source may reset the position of a source partition by a null offset, on every path of offsets."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from penstock import InputPartition, SourcePartition
from penstock.offsets import updated
from penstock_runtime.kafka.offsets_topic import StoredOffsets
from penstock_runtime.source.spark_worker import payload

A, B = SourcePartition({"p": "a"}), SourcePartition({"p": "b"})


def test_a_forgotten_partition_is_absent_from_then_on_and_comes_back_with_its_next_offset() -> None:
    assert updated({A: {"i": 1}, B: {"i": 2}}, {A: None}) == {B: {"i": 2}}
    assert updated({B: {"i": 2}}, {A: None}) == {B: {"i": 2}}
    assert updated({B: {"i": 2}}, {A: {"i": 3}}) == {A: {"i": 3}, B: {"i": 2}}


def test_a_null_offset_is_a_tombstone() -> None:
    stored = StoredOffsets("c", {A: {"i": 1}})
    assert stored.entries({A: None}) == [(b'["c",{"p":"a"}]', None)]
    stored.advance({A: None})
    assert stored.offsets == {}


def test_payload_of_a_spark_worker_contains_null_offsets() -> None:
    setup = cast("Any", SimpleNamespace(spec_text="{}", sent_secrets={}, slots_dir=Path("slots")))
    part = InputPartition({"n": 1}, {A: None, B: {"i": 2}})
    found = msgspec.msgpack.decode(payload(setup, None, [(part, [(b"k", None)])], None))
    assert found["work"] == [[{"n": 1}, [[{"p": "a"}, None], [{"p": "b"}, {"i": 2}]], [[b"k", None]]]]
