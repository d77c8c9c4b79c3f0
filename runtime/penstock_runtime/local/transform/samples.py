"""Reads the sample records of `penstock transform`: JSON, one record in each line.

    {"topic": "orders", "key": "a1", "value": {"id": 7}, "headers": {"source": "web"}, "timestamp": 1463716800123}
    {"id": 7}                                    the value alone
    {"value": {"schema": {...}, "payload": {...}}}   the value with its schema, as JsonConverter writes it

Keys, values and the values of headers are read by JsonConverter itself, so that a number is what it would be in a task.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from penstock import Converter, Header, Original, Record, Schema
from penstock.config import nearest
from penstock_runtime.plugins.discovery import Plugins

__all__ = ["NAMES", "Reader", "Sample", "Schemas", "texts"]

NAMES: Final = ("topic", "key", "value", "headers", "timestamp", "partition", "offset")
"""The parts of a record. An object with other names, and without `value`, is a value alone."""


class Schemas(StrEnum):
    """Whether keys and values stand in JsonConverter's envelope of `schema` and `payload`."""

    DETECT = "detect"
    """Objects with these two fields and no other are envelopes."""
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Sample:
    """One record of the input.

    Attributes:
        number: from 1 on.
        place: its place in the input, for messages: `line 3`.
        read: the record, or a sentence that says why it cannot be read.
    """

    number: int
    place: str
    read: Record | str


@dataclass(frozen=True, slots=True)
class _Text:
    place: str
    node: Any = None
    wrong: str | None = None


def texts(lines: Iterable[str]) -> Iterator[_Text]:
    """The JSON values of a text: one in each line, as they come; or one JSON array; or JSON over several lines."""
    source = iter(lines)
    ahead: list[str] = []
    for line in source:
        ahead.append(line if ahead else line.removeprefix("\ufeff"))
        if line.strip():
            break
    if ahead and _is_one(ahead[-1]):
        yield from _by_line(ahead, 1)
        yield from _by_line(source, len(ahead) + 1)
        return
    ahead += source
    try:
        found = list(_anywhere("".join(ahead)))
    except ValueError as e:
        if any(_is_one(line) for line in ahead):
            yield from _by_line(ahead, 1)
        else:
            yield _Text("the input", wrong=f"this is no JSON: {e}")
        return
    if len(found) == 1 and isinstance(found[0], list):
        yield from (_Text(f"element {n}", node) for n, node in enumerate(found[0], 1))
    else:
        yield from (_Text(f"value {n}", node) for n, node in enumerate(found, 1))


def _is_one(line: str) -> bool:
    try:
        return not isinstance(json.loads(line), list)
    except ValueError:
        return False


def _by_line(lines: Iterable[str], first: int) -> Iterator[_Text]:
    for number, line in enumerate(lines, first):
        if line.strip():
            try:
                yield _Text(f"line {number}", json.loads(line))
            except ValueError as e:
                yield _Text(f"line {number}", wrong=f"this is no JSON: {e}")


def _anywhere(text: str) -> Iterator[Any]:
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        node, at = decoder.raw_decode(text, at)
        yield node


@dataclass(frozen=True)
class Reader:
    """Makes records from JSON.

    Attributes:
        topic: of records that name none.
        sink: records get partition 0, their number as offset and timestamp 0, unless the JSON has others.
        schemas: whether keys and values have their schemas with them.
        bare: each JSON is a value alone, whatever its names are.
    """

    topic: str
    sink: bool
    schemas: Schemas = Schemas.DETECT
    bare: bool = False

    def samples(self, lines: Iterable[str]) -> Iterator[Sample]:
        """The records of the lines, as they come."""
        convert = _Json(self.schemas)
        for number, text in enumerate(texts(lines), 1):
            if text.wrong is not None:
                yield Sample(number, text.place, text.wrong)
                continue
            try:
                yield Sample(number, text.place, self._record(text.node, number, convert))
            except Exception as e:  # noqa: BLE001 (the converter's errors too; one bad record must not hide others)
                yield Sample(number, text.place, str(e) or type(e).__name__)

    def _record(self, node: Any, number: int, convert: "_Json") -> Record:
        given = _given({"value": node} if self.bare else node)
        topic = _typed(given, "topic", str) or self.topic
        timestamp, partition, offset = (_typed(given, name, int) for name in ("timestamp", "partition", "offset"))
        if self.sink:
            partition, offset, timestamp = partition or 0, number - 1 if offset is None else offset, timestamp or 0
        elif offset is not None:
            raise ValueError("offset: records of a source have none before they are in Kafka; leave it out")
        key_schema, key = convert(topic, "key", given.get("key"))
        value_schema, value = convert(topic, "value", given.get("value"))
        return Record(
            topic=topic,
            partition=partition,
            key=key,
            key_schema=key_schema,
            value=value,
            value_schema=value_schema,
            headers=tuple(_headers(given.get("headers"), topic, convert)),
            timestamp=timestamp,
            offset=offset,
            original=Original(topic, partition or 0, offset) if offset is not None else None,
        )


def _given(node: Any) -> Mapping[str, Any]:
    """The parts of a record; a value alone is the part `value`."""
    if not isinstance(node, dict) or not node:
        return {"value": node}
    unknown = [name for name in node if name not in NAMES]
    if not unknown:
        return node
    if "value" not in node:
        return {"value": node}
    near = nearest(unknown[0], NAMES)
    hint = f"did you mean {near}?" if near else "--values takes each JSON as a value, whatever its names are"
    raise ValueError(f"{unknown[0]} is no part of a record, which has {', '.join(NAMES)}; {hint}")


def _typed(given: Mapping[str, Any], name: str, kind: type[Any]) -> Any:
    found = given.get(name)
    if found is None or (isinstance(found, kind) and not isinstance(found, bool)):
        return found
    words = {str: "a text", int: "a whole number" + (", milliseconds since 1970" if name == "timestamp" else "")}
    raise ValueError(f"{name} must be {words[kind]}")


def _headers(node: Any, topic: str, convert: "_Json") -> Iterator[Header]:
    if node is None:
        return
    if isinstance(node, dict):
        node = [{"name": name, "value": value} for name, value in node.items()]
    shape = 'headers must be {"<name>": <value>}, or [{"name": ..., "value": ...}] where a name comes twice'
    for one in node if isinstance(node, list) else [node]:
        if not isinstance(one, dict) or not one.keys() <= {"name", "value"} or not isinstance(one.get("name"), str):
            raise ValueError(shape)
        schema, value = convert(topic, f"header {one['name']}", one.get("value"))
        yield Header(one["name"], value, schema)


class _Json:
    """Reads values with JsonConverter, with or without `schemas.enable`."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        cls = Plugins.installed().find(Converter, "JsonConverter").cls  # type: ignore[type-abstract]
        self._by_envelope: dict[bool, Converter] = {}
        for enveloped in (True, False):
            self._by_envelope[enveloped] = converter = cls()
            converter.configure(cls.Config.parse({"schemas.enable": str(enveloped)}), is_key=False)

    def __call__(self, topic: str, what: str, node: Any) -> tuple[Schema | None, Any]:
        if node is None:
            return None, None
        enveloped = self._schemas is Schemas.ALWAYS
        if self._schemas is Schemas.DETECT:
            enveloped = isinstance(node, dict) and node.keys() == {"schema", "payload"}
        try:
            return self._by_envelope[enveloped].to_connect(topic, json.dumps(node).encode())
        except Exception as e:
            raise ValueError(f"{what}: {e}") from e
