"""Reader of the sample records of `penstock transform`: JSON, one record in each line.

    {"topic": "orders", "key": "a1", "value": {"id": 7}, "headers": {"source": "web"}, "timestamp": 1463716800123}
    {"id": 7}                                    only the value
    {"value": {"schema": {...}, "payload": {...}}}   the value with its schema, as JsonConverter writes it

Keys, values and the values of headers are read by JsonConverter, so that numbers have the same types as in a task.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from penstock import Converter, Header, Original, Record, Schema
from penstock.config import nearest
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.trial.json_text import elements, end_of_value, members

__all__ = ["NAMES", "Reader", "Sample", "Schemas", "texts"]

NAMES: Final = ("topic", "key", "value", "headers", "timestamp", "partition", "offset")
"""Parts of a record. An object with other names, and without `value`, is read as a value."""


class Schemas(StrEnum):
    """Use of JsonConverter's envelope of `schema` and `payload` in keys and values."""

    DETECT = "detect"
    """Objects with these two fields and no other are envelopes."""
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Sample:
    """One record of the input.

    Attributes:
        number: its number, starting at 1.
        place: its position in the input, for messages: `line 3`.
        read: the record, or the reason why it cannot be read.
    """

    number: int
    place: str
    read: Record | str


@dataclass(frozen=True, slots=True)
class _Text:
    """JSON of a record, as it was written."""

    place: str
    json: str = ""
    wrong: str | None = None


def texts(lines: Iterable[str]) -> Iterator[_Text]:
    """Yield the JSON values of the input: one per line, as lines arrive; or array elements; or values over several lines."""
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
    found, rest = _anywhere("".join(ahead))
    if rest:
        if any(_is_one(line) for line in ahead):
            yield from _by_line(ahead, 1)
        else:
            yield _Text("the input", wrong=f"this is not JSON: no value ends in {rest[:20]!r}")
        return
    if len(found) == 1 and found[0].startswith("["):
        try:
            yield from (_Text(f"element {n}", text) for n, text in enumerate(elements(found[0]), 1))
        except ValueError as e:
            yield _Text("the input", wrong=f"this is not JSON: {e}")
    else:
        yield from (_Text(f"value {n}", text) for n, text in enumerate(found, 1))


def _is_one(line: str) -> bool:
    """Return whether a line is one record."""
    text = line.strip()
    return not text.startswith("[") and _flaw(text) is None


def _flaw(text: str) -> str | None:
    """Return why a line is not one value. Text after the value is ignored, as in a task, unless it is another value."""
    end = end_of_value(text)
    if end is None:
        return "its value does not end on this line"
    return "a second value follows on this line" if text[end:].lstrip().startswith(("{", "[")) else None


def _by_line(lines: Iterable[str], first: int) -> Iterator[_Text]:
    for number, line in enumerate(lines, first):
        if text := line.strip():
            flaw = _flaw(text)
            yield _Text(f"line {number}", text if flaw is None else "", flaw and f"this is not JSON: {flaw}")


def _anywhere(text: str) -> tuple[list[str], str]:
    """Return the JSON values of a string, and the unread rest."""
    found, at = [], 0
    while text[at:].strip():
        end = end_of_value(text, at)
        if end is None:
            break
        found.append(text[at:end].strip())
        at = end
    return found, text[at:].strip()


@dataclass(frozen=True)
class Reader:
    """Converter of JSON to records.

    Attributes:
        topic: topic of records that do not name one.
        sink: whether records get partition 0, their number as offset, and timestamp 0, unless the JSON has others.
        schemas: whether keys and values contain their schemas.
        bare: whether each JSON document is only a value, even if it has the names of a record's parts.
    """

    topic: str
    sink: bool
    schemas: Schemas = Schemas.DETECT
    bare: bool = False

    def samples(self, lines: Iterable[str]) -> Iterator[Sample]:
        """Yield the records of the lines, as they arrive."""
        convert = _Json(self.schemas)
        for number, text in enumerate(texts(lines), 1):
            if text.wrong is not None:
                yield Sample(number, text.place, text.wrong)
                continue
            try:
                yield Sample(number, text.place, self._record(text.json, number, convert))
            except Exception as e:  # noqa: BLE001 (the converter's errors too; one bad record must not hide others)
                yield Sample(number, text.place, str(e) or type(e).__name__)

    def _record(self, text: str, number: int, convert: "_Json") -> Record:
        given = {"value": text} if self.bare else _given(text)
        topic = _typed(given, "topic", str) or self.topic
        timestamp, partition, offset = (_typed(given, name, int) for name in ("timestamp", "partition", "offset"))
        if self.sink:
            partition, offset, timestamp = partition or 0, number - 1 if offset is None else offset, timestamp or 0
        elif offset is not None:
            raise ValueError("offset: records of a source have no offset before they are in Kafka; omit it")
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


def _given(text: str) -> Mapping[str, str]:
    """Return the parts of a record; JSON that is only a value becomes the part `value`."""
    parts = _members(text) if text.startswith("{") else {}
    unknown = [name for name in parts if name not in NAMES]
    if parts and not unknown:
        return parts
    if "value" not in parts:
        return {"value": text}
    near = nearest(unknown[0], NAMES)
    hint = (
        f"did you mean {near}?" if near else "with --values, each JSON is the value of a record, and may have any names"
    )
    raise ValueError(f"{unknown[0]} is not a part of a record, which has {', '.join(NAMES)}; {hint}")


def _members(text: str) -> Mapping[str, str]:
    try:
        return members(text)
    except ValueError as e:
        raise ValueError(f"this is not JSON: {e}") from None


def _typed(given: Mapping[str, str], name: str, kind: type[Any]) -> Any:
    if name not in given or given[name] == "null":
        return None
    try:
        found = json.loads(given[name])
    except ValueError:
        found = None
    if isinstance(found, kind) and not isinstance(found, bool):
        return found
    words = {str: "a string", int: "an integer" + (", milliseconds since 1970" if name == "timestamp" else "")}
    raise ValueError(f"{name} must be {words[kind]}")


def _headers(text: str | None, topic: str, convert: "_Json") -> Iterator[Header]:
    if text is None or text == "null":
        return
    pairs: list[tuple[str, str | None]] = []
    if text.startswith("{"):
        pairs = [*_members(text).items()]
    else:
        for one in elements(text) if text.startswith("[") else [text]:
            header = _members(one) if one.startswith("{") else {}
            name = json.loads(header["name"]) if header.get("name", "").startswith('"') else None
            if name is None or not header.keys() <= {"name", "value"}:
                raise ValueError(
                    'headers must be {"<name>": <value>}, or [{"name": ..., "value": ...}] if a name occurs twice'
                )
            pairs.append((name, header.get("value")))
    for name, value in pairs:
        schema, read = convert(topic, f"header {name}", value)
        yield Header(name, read, schema)


class _Json:
    """Reader of values with JsonConverter, with or without `schemas.enable`."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        cls = Plugins.installed().find(Converter, "JsonConverter").cls  # type: ignore[type-abstract]
        self._by_envelope: dict[bool, Converter] = {}
        for enveloped in (True, False):
            self._by_envelope[enveloped] = converter = cls()
            converter.configure(cls.Config.parse({"schemas.enable": str(enveloped)}), is_key=False)

    def __call__(self, topic: str, what: str, text: str | None) -> tuple[Schema | None, Any]:
        if text is None or text == "null":
            return None, None
        enveloped = self._schemas is Schemas.ALWAYS
        if self._schemas is Schemas.DETECT:
            enveloped = text.startswith("{") and _members(text).keys() == {"schema", "payload"}
        try:
            return self._by_envelope[enveloped].to_connect(topic, text.encode())
        except Exception as e:
            raise ValueError(f"{what}: {e}") from e
