"""Sink: JSON records of a topic with one partition through three transforms into a file.

A side is started on a topic with one record; all others are there, too, in a transaction that is still open. When the first
line is in the file, and nothing of the side is still starting, the transaction is committed, so that all records become
readable at once. Records per second are counted from the first to the last byte in the file, CPU seconds from the commit on.
Both sides read `read_committed`, in polls of 5,000 records. Count, content and order are checked afterwards.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from penstock_runtime.discovery import Plugins
from tests.bench import data
from tests.bench.sides import CONVERTERS, Side, Work
from tests.bench.source_work import SETTLE, Figures
from tests.bench.timeline import Timeline
from tests.bench.topics import Hidden, Topic
from tests.bench.tree import PeakMemory

__all__ = ["chain", "run_sink"]

_CLASS: Final = "org.apache.kafka.connect.transforms."


@dataclass(frozen=True)
class Chain:
    """Three transforms: their names, properties, and what they make of a value."""

    names: str
    config: Mapping[str, str]
    becomes: Callable[[dict[str, Any]], dict[str, Any]]


def chain() -> Chain:
    """InsertField, MaskField and ReplaceField; until Penstock has those, two InsertField and RegexRouter."""
    insert = {
        "transforms": "origin,mask,replace",
        "transforms.origin.type": f"{_CLASS}InsertField$Value",
        "transforms.origin.static.field": "origin",
        "transforms.origin.static.value": "bench",
    }
    aliases = {found.alias for found in Plugins.installed().every() if hasattr(found, "alias")}
    if {"MaskField", "ReplaceField"} <= aliases:
        config = {
            **insert,
            "transforms.mask.type": f"{_CLASS}MaskField$Value",
            "transforms.mask.fields": "name",
            "transforms.mask.replacement": "-",
            "transforms.replace.type": f"{_CLASS}ReplaceField$Value",
            "transforms.replace.renames": "amount:price",
        }

        def masked(value: dict[str, Any]) -> dict[str, Any]:
            value["price"] = value.pop("amount")
            return {**value, "name": "-", "origin": "bench"}

        return Chain("InsertField, MaskField, ReplaceField", config, masked)
    config = {
        **insert,
        "transforms.mask.type": f"{_CLASS}InsertField$Value",
        "transforms.mask.topic.field": "topic",
        "transforms.replace.type": f"{_CLASS}RegexRouter",
        "transforms.replace.regex": "bench-.*",
        "transforms.replace.replacement": "routed",
    }
    return Chain("two InsertField, RegexRouter", config, lambda value: {**value, "origin": "bench"})


def run_sink(side: Side, servers: str, lines: Path, count: int, folder: Path) -> Figures:
    """One run of one side.

    Raises:
        RuntimeError: the side failed, or the file holds anything else than it should.
    """
    file = folder / "out.txt"
    transforms = chain()
    name = f"bench-sink-{folder.name}"
    work = Work(
        "sink",
        {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "file": str(file),
            "topics": name,
            **CONVERTERS,
            **transforms.config,
            "consumer.override.max.poll.records": "5000",
            "consumer.override.isolation.level": "read_committed",
        },
    )
    timeline = Timeline()
    with Topic(servers, name) as topic:
        one = Hidden(servers, topic)
        one.write([data.FIRST])
        one.show()
        hidden = Hidden(servers, topic)
        for block in data.read_lines(lines):
            hidden.write(block)
        hidden.flush()
        with side.run(work, folder) as measured:
            measured.await_until("writing", lambda: _size(file) > 0)
            measured.await_up()
            time.sleep(SETTLE)
            empty = _size(file)
            before = measured.tree.cpu_by_role(look=True)
            with PeakMemory(measured.tree) as memory:
                hidden.show()
                timeline.follow(measured, lambda: _size(file), at_least=empty + count)
                while (written := _lines_in(file)) < count + 1:  # it had paused
                    timeline.follow(measured, lambda: _size(file), at_least=timeline.moments[-1].value + 1)
            after = measured.tree.cpu_by_role(look=True)
    _check(file, lines, transforms, name, written)
    first, last = timeline.first(empty + 1), timeline.first(_size(file))
    spent = {role: round(seconds - before.get(role, 0.0), 2) for role, seconds in after.items()}
    return Figures(
        count, last.at - first.at, last.cpu - sum(before.values()), memory.peak, None,
        {"cpu": spent, "memory": memory.roles},
    )  # fmt: skip


def _size(file: Path) -> int:
    try:
        return os.stat(file).st_size  # noqa: PTH116 (asked every few milliseconds)
    except FileNotFoundError:
        return 0


def _lines_in(file: Path) -> int:
    with file.open("rb") as opened:
        return sum(block.count(b"\n") for block in iter(lambda: opened.read(1 << 20), b""))


def _check(file: Path, lines: Path, transforms: Chain, topic: str, written: int) -> None:
    """Every line is the Java text of its record's map. The order of its fields is Connect's hash order, or ours: as in line 1."""
    decode = msgspec.json.Decoder().decode
    order: list[str] = []
    number = 0
    sources = ([data.FIRST], *[]), data.read_lines(lines)
    with file.open(encoding="ascii") as opened:
        for blocks in sources:
            for block in blocks:
                for line in block:
                    must = transforms.becomes(decode(line))
                    if "topic" in transforms.config.get("transforms.mask.topic.field", ""):
                        must["topic"] = topic
                    found = next(opened, "")
                    order = order or [field.partition("=")[0] for field in found.strip("{}\n").split(", ")]
                    text = "{" + ", ".join(f"{name}={must.get(name)}" for name in order) + "}\n"
                    if found != text or len(order) != len(must):
                        raise RuntimeError(f"{file.name}: line {number} of {written} is {found!r}, not {text!r}")
                    number += 1
    if written != number:
        raise RuntimeError(f"{file.name}: {written} lines instead of {number}")
