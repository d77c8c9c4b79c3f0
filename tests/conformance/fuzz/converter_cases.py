"""Converters in both directions, as cases."""

import base64
import json
from typing import Any, Final

from hypothesis import strategies as st

from .json_messages import bare, enveloped, schema_nodes
from .shapes import TEXTS, schemas, values, values_without_schema
from .texts import BOOLEANS, LITERALS, NUMBERS, PLAIN

__all__ = ["CONVERTERS", "HEADER_CONVERTERS", "reading", "writing"]

_NUMBERS: Final = {
    "BooleanConverter": "boolean",
    "ShortConverter": "int16",
    "IntegerConverter": "int32",
    "LongConverter": "int64",
    "FloatConverter": "float32",
    "DoubleConverter": "float64",
}
CONVERTERS: Final = ("JsonConverter", "StringConverter", "ByteArrayConverter", *_NUMBERS)
HEADER_CONVERTERS: Final = ("SimpleHeaderConverter", *CONVERTERS)

_ENCODINGS: Final = st.sampled_from(
    ["UTF-8", "utf8", "UTF-16", "UTF-16LE", "ISO-8859-1", "US-ASCII", "windows-1252", "bogus", ""]
)
_ODD_TEXT: Final = st.one_of(TEXTS, LITERALS, st.sampled_from(["\ud800", "a\udc00b", "\U0001f600\ud83d"]))


def _json_properties(draw: st.DrawFn) -> dict[str, str]:
    made = {"schemas.enable": draw(st.sampled_from(["false", "true", "FALSE"]))} if draw(st.booleans()) else {}
    if draw(st.integers(0, 3)) == 3:
        made["decimal.format"] = draw(st.sampled_from(["NUMERIC", "BASE64", "numeric", "x"]))
    if draw(st.integers(0, 3)) == 3:
        made["replace.null.with.default"] = draw(BOOLEANS)
    if draw(st.integers(0, 29)) == 29:
        made["schemas.cache.size"] = draw(st.sampled_from(["1", "0", "x", "-1"]))
    if draw(st.integers(0, 14)) == 14:
        node = draw(schema_nodes())
        made["schema.content"] = draw(st.sampled_from([json.dumps(node), json.dumps(node), "", "{"]))
    return made


def _properties(draw: st.DrawFn, converter: str) -> dict[str, str]:
    if converter == "JsonConverter":
        return _json_properties(draw)
    if converter == "StringConverter" and draw(st.booleans()):
        name = draw(
            st.sampled_from(["converter.encoding"] * 4 + ["key.serializer.encoding", "value.deserializer.encoding"])
        )
        return {name: draw(_ENCODINGS)}
    return {}


def _case(draw: st.DrawFn, converter: str, given: dict[str, Any], *, header: bool) -> Any:
    where: dict[str, Any] = {"topic": "t"}
    if header:
        where["header"] = "h"
    elif draw(st.integers(0, 4)) == 4:
        where["isKey"] = True
    return {"source": converter, "config": _properties(draw, converter), "input": where | given}


@st.composite
def writing(draw: st.DrawFn, converter: str, *, header: bool) -> Any:
    """A case of fromConnectData: mostly data that the converter takes."""
    if converter in _NUMBERS and draw(st.integers(0, 3)) < 3:
        schema: Any = {"type": _NUMBERS[converter], "optional": draw(st.booleans())}
    elif converter == "ByteArrayConverter" and draw(st.booleans()):
        schema = {"type": "bytes", "optional": True}
    else:
        schema = draw(schemas()) if draw(st.integers(0, 2)) else None
    if schema is None:
        value = draw(values_without_schema(_ODD_TEXT, depth=3))
    else:
        value = draw(values(schema, _ODD_TEXT, holes=True)) if draw(st.integers(0, 24)) < 24 else None
    # A value of another type, or one that has lost its schema. A Struct cannot be written without one.
    match draw(st.integers(0, 24)):
        case 0 if schema is not None and schema["type"] != "struct":
            value = draw(values_without_schema(depth=1))
        case 1 if "$struct" not in json.dumps(value):
            schema = None
        case _:
            pass
    return _case(draw, converter, {"data": {"schema": schema, "value": value}}, header=header)


@st.composite
def reading(draw: st.DrawFn, converter: str, *, header: bool) -> Any:
    """A case of toConnectData: messages that the converter wrote, nearly, or did not."""
    case = _case(draw, converter, {}, header=header)
    if draw(st.integers(0, 24)) == 24:
        data = None
    elif converter == "JsonConverter":
        fixed = "schema.content" in case["config"]
        plain = fixed or case["config"].get("schemas.enable", "true").strip().lower() == "false"
        data = draw(bare() if plain != (draw(st.integers(0, 19)) == 19) else enveloped())
    elif converter == "SimpleHeaderConverter":
        data = draw(LITERALS).encode("utf-8", "surrogatepass")
    elif converter in _NUMBERS:
        size = {"boolean": 1, "int16": 2, "int32": 4, "int64": 8, "float32": 4, "float64": 8}[_NUMBERS[converter]]
        data = draw(
            st.one_of(
                st.binary(min_size=size, max_size=size),
                st.binary(min_size=size, max_size=size),
                st.binary(max_size=9),
                st.sampled_from([b"\x01", b"\x00", b"\x7f\xc0\x00\x00", b"\x80\x00\x00\x00"]),
            )
        )
    else:
        encoded = st.tuples(st.one_of(PLAIN, NUMBERS), st.sampled_from(["utf-8", "utf-16", "utf-16-be", "latin-1"]))
        data = draw(st.one_of(encoded.map(lambda e: e[0].encode(e[1], "replace")), st.binary(max_size=8)))
    case["input"]["bytes"] = None if data is None else {"$bytes": base64.b64encode(data).decode()}
    return case
