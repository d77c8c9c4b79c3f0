"""Transforms at a source: a file's lines, HoistField and two InsertField, what is measured, JSON with a schema, a topic.

As in the measure `source`, but that a first portion of lines warms the side up, and that both sides must have written the
same bytes.
"""

import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.bench import data
from tests.bench.sides import Side, Work
from tests.bench.source_work import append, spent
from tests.bench.timeline import Timeline
from tests.bench.topics import Topic
from tests.bench.transform_cases import PREDICATES, TRANSFORMS, Case, Form
from tests.bench.transform_work import Point, TransformFigures

__all__ = ["run_at_source", "source_points"]

_LINES: Final = Form("lines", schema=True)
_BASE: Final = {
    "transforms": "hoist,amount,shop",
    "transforms.hoist.type": f"{TRANSFORMS}HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.amount.type": f"{TRANSFORMS}InsertField$Value",
    "transforms.amount.static.field": "amount",
    "transforms.amount.static.value": "12.50",
    "transforms.shop.type": f"{TRANSFORMS}InsertField$Value",
    "transforms.shop.static.field": "shop",
    "transforms.shop.static.value": "corner",
}
_GUARDS: Final = {
    "predicates": "ours,tombs",
    "predicates.ours.type": f"{PREDICATES}TopicNameMatches",
    "predicates.ours.pattern": "raw-.*",
    "predicates.tombs.type": f"{PREDICATES}RecordIsTombstone",
}


def _case(name: str, *steps: tuple[str, Mapping[str, str]], **more: str) -> Case:
    """The base and these transforms."""
    config = {**_BASE, **more}
    for number, (kind, properties) in enumerate(steps):
        config["transforms"] += f",t{number}"
        config[f"transforms.t{number}.type"] = TRANSFORMS + kind
        config.update({f"transforms.t{number}.{key}": text for key, text in properties.items()})
    return Case(name, config, content="lines", schemaless=False)


_CAST: Final = ("Cast$Value", {"spec": "amount:float64"})
_MARK: Final = ("InsertHeader", {"header": "origin", "value.literal": "bench"})
_MASK: Final = ("MaskField$Value", {"fields": "line", "replacement": "-"})
_RENAME: Final = ("ReplaceField$Value", {"exclude": "shop", "renames": "amount:price"})
_ROUTE: Final = ("RegexRouter", {"regex": "raw-(.*)", "replacement": "$1"})
_CASES: Final[Sequence[Case]] = (
    _case("HoistField, 2 InsertField"),
    _case("and Cast", _CAST),
    _case("and ExtractField", ("ExtractField$Value", {"field": "line"})),
    _case("and HeaderFrom", ("HeaderFrom$Value", {"fields": "shop", "headers": "shop", "operation": "copy"})),
    _case("and InsertHeader", _MARK),
    _case("and MaskField", _MASK),
    _case("and RegexRouter", _ROUTE),
    _case("and ReplaceField", _RENAME),
    _case("and SetSchemaMetadata", ("SetSchemaMetadata$Value", {"schema.name": "bench", "schema.version": "2"})),
    _case(
        "and InsertField, Cast, TimestampConverter",
        ("InsertField$Value", {"static.field": "at", "static.value": "1760000000000"}),
        ("Cast$Value", {"spec": "at:int64"}),
        ("TimestampConverter$Value", {"field": "at", "target.type": "string", "format": "yyyy-MM-dd HH:mm:ss.SSS"}),
    ),
    _case("and ValueToKey", ("ValueToKey", {"fields": "amount"})),
    _case(
        "chain of 8, 2 predicates",
        _CAST,
        (_MASK[0], {**_MASK[1], "predicate": "ours"}),
        _MARK,
        ("ValueToKey", {"fields": "amount"}),
        (_ROUTE[0], {**_ROUTE[1], "predicate": "tombs", "negate": "true"}),
        **_GUARDS,
    ),
)


def source_points(only: Sequence[str] = ()) -> list[Point]:
    """What is measured; `only` takes parts of names, and the base with them."""
    base, *others = _CASES
    chosen = [case for case in others if not only or any(part.lower() in case.name.lower() for part in only)]
    return [Point(case, _LINES) for case in (base, *chosen)]


def run_at_source(side: Side, servers: str, lines: Path, point: Point, count: int, folder: Path) -> TransformFigures:
    """One run of one side: the file `lines`, of `count` lines, twice; the second time counts.

    Raises:
        RuntimeError: the side failed, or wrote too much or too little.
    """
    file = folder / "in.txt"
    file.write_text(data.FIRST + "\n")
    name = f"bench-transforms-{folder.name}"
    timeline = Timeline()
    with Topic(servers, name) as topic:
        with side.run(Work("transforms", _config(file, name, point)), folder) as measured:
            measured.await_until("writing", lambda: topic.end() > 0)
            measured.await_up()
            append(lines, file)
            Timeline().follow(measured, topic.end, at_least=count + 1)
            before = measured.tree.cpu_by_role(look=True)
            begun = time.monotonic()
            append(lines, file)
            timeline.follow(measured, topic.end, at_least=2 * count + 1)
            roles = spent(before, measured)
            complaints = measured.complaints()
        written, last, found = 0, 0, 0
        for offsets, values in topic.read():
            for offset, value in zip(offsets, values, strict=True):
                written, last, found = zlib.crc32(value, written), offset, found + 1
    if found != 2 * count + 1:
        raise RuntimeError(f"{point.name}, {side.name}: {found} records of {2 * count + 1}\n{complaints}")
    reached = timeline.first(last + 1)
    detail: dict[str, Any] = {"cpu": roles, "log": complaints}
    seconds, cpu = reached.at - begun, reached.cpu - sum(before.values())
    return TransformFigures(point.name, count, seconds, cpu, written, detail)


def _config(file: Path, topic: str, point: Point) -> dict[str, str]:
    routed = "RegexRouter" in str(point.case.config)
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "file": str(file),
        "topic": f"raw-{topic}" if routed else topic,
        **point.form.converters,
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        **point.case.config,
    }
