"""Messages as JsonConverter reads them: with and without an envelope, right, nearly right and broken."""

import json
from typing import Any, Final

from hypothesis import strategies as st
from tests.words import words

from penstock.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME

from .texts import FIELD_NAMES, NUMBERS, PLAIN

__all__ = ["bare", "enveloped", "schema_nodes"]

Json = Any
_KINDS: Final = ["int8", "int16", "int32", "int64", "float", "double", "boolean", "string", "string", "bytes"]
_LOGICAL: Final = {DATE_NAME: "int32", TIME_NAME: "int32", TIMESTAMP_NAME: "int64", DECIMAL_NAME: "bytes"}
_INTEGERS: Final = st.one_of(
    st.sampled_from([0, 1, -1, 127, 128, 300, 86_400_000, 2**31 - 1, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**25]),
    st.integers(-1000, 1000),
    st.integers(-(2**64), 2**64),
)
_FLOATS: Final = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, 1e7, 1e-9, 1e300, 3.5e38]), st.floats(allow_nan=False, allow_infinity=False)
)
_NO_TYPES: Final[list[Json]] = [{"type": name} for name in ("any", "map", 1, "array", "struct")]
_NO_SCHEMAS: Final = [{}, [], "int32", *_NO_TYPES, {"type": "struct", "fields": [{"type": "int8"}]}]
_BASE64: Final = st.sampled_from(
    ["", "AQ==", "BNI=", "/w==", "-w==", "AQ", "A", "AQ==\n", "A Q==", "AAAAAAAAAAAAAAAAAAAA"]
)


def _plain(depth: int) -> st.SearchStrategy[Json]:
    """Any JSON."""
    leaves = st.one_of(st.none(), st.booleans(), _INTEGERS, _FLOATS, PLAIN)
    if depth == 0:
        return leaves
    inner = _plain(depth - 1)
    return st.one_of(
        leaves, st.lists(inner, max_size=3), st.dictionaries(st.one_of(FIELD_NAMES, PLAIN), inner, max_size=3)
    )


@st.composite
def schema_nodes(draw: st.DrawFn, depth: int = 2) -> Json:
    """A schema as an envelope has it."""
    if draw(st.integers(0, 24)) == 24:
        return draw(st.none() | st.sampled_from(_NO_SCHEMAS))
    kind = draw(st.sampled_from([*_KINDS, *_LOGICAL, *(("array", "map", "struct", "struct") if depth else ())]))
    node: Json = {"type": _LOGICAL.get(kind, kind)}
    if kind == "array":
        node["items"] = draw(schema_nodes(depth - 1))
    elif kind == "map":
        node["keys"] = {"type": draw(st.sampled_from(["string", "string", "int32", "boolean"]))}
        node["values"] = draw(schema_nodes(depth - 1))
    elif kind == "struct":
        names = draw(st.lists(FIELD_NAMES, max_size=3, unique=draw(st.integers(0, 9)) < 9))
        fields = [draw(schema_nodes(depth - 1)) for _ in names]
        node["fields"] = [f | {"field": n} for f, n in zip(fields, names, strict=True) if isinstance(f, dict)]
    if kind in _LOGICAL:
        node["name"] = kind
        if kind == DECIMAL_NAME and draw(st.integers(0, 9)) < 9:
            node["parameters"] = {"scale": draw(st.sampled_from(["2", "0", "-1", "x", 2]))}
    others: dict[str, st.SearchStrategy[Json]] = {
        "optional": st.booleans(),
        "version": st.sampled_from([1, 0, -1, "1", 1.5, None]),
        "doc": st.sampled_from(["d", "", None, 1]),
        "name": st.sampled_from(["n", "", None]),
        "parameters": st.sampled_from([{"p": "v"}, {}, None, {"p": 1}, []]),
        "x": st.just(1),
    }
    for name, some in others.items():
        if name not in node and draw(st.integers(0, 2 if name == "optional" else 19)) == 0:
            node[name] = draw(some)
    if draw(st.integers(0, 9)) == 9:
        node["default"] = draw(_payload(node))
    return node


@st.composite
def _payload(draw: st.DrawFn, schema: Json) -> Json:
    """A value that fits the schema, mostly."""
    if not isinstance(schema, dict) or draw(st.integers(0, 24)) == 24:
        return draw(_plain(1))
    if draw(st.integers(0, 9 if not schema.get("optional") else 4)) == 0:
        return None
    kind = schema.get("type")
    match kind:
        case "array":
            return [draw(_payload(schema.get("items"))) for _ in range(draw(st.integers(0, 3)))]
        case "map":
            values = schema.get("values")
            if schema.get("keys") == {"type": "string"}:
                return {n: draw(_payload(values)) for n in draw(st.lists(FIELD_NAMES, max_size=3, unique=True))}
            keys = draw(st.lists(_payload(schema.get("keys")), max_size=3, unique_by=repr))
            return [[k, draw(_payload(values))] for k in keys]
        case "struct":
            made = {f["field"]: draw(_payload(f)) for f in schema.get("fields", ()) if isinstance(f.get("field"), str)}
            if made and draw(st.integers(0, 9)) == 9:
                del made[draw(st.sampled_from(sorted(made)))]
            return made
        case "boolean":
            return draw(st.booleans())
        case "string":
            return draw(PLAIN)
        case "bytes":
            return draw(
                st.one_of(_BASE64, _BASE64, _FLOATS, _INTEGERS) if schema.get("name") == DECIMAL_NAME else _BASE64
            )
        case "float" | "double":
            return draw(st.one_of(_FLOATS, _INTEGERS))
        case _:
            return draw(_INTEGERS)


_SIGNS: Final = [b"", b",", b"}", b'"', b"\\", b"\xff", b"\xc3", b"\x00", b"0", b"-", b".", b"e5", b"NaN", b"//", b"'"]
_PARTS: Final = [b"\\u00", b"\\ud800", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"nul", b" 1", b"+", b"\n", b"\t"]


@st.composite
def _written(draw: st.DrawFn, node: Json) -> bytes:
    """JSON in one of the ways to write it, broken now and then."""
    text = json.dumps(
        node,
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t:")])),
    )
    data = text.encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 9)) < 9:
        return data
    at = draw(st.integers(0, len(data)))
    piece = draw(st.sampled_from([*_SIGNS, *_PARTS]))
    return data[:at] + piece + data[at + draw(st.integers(0, 2)) :]


_WHOLES: Final = [
    *words('null NaN 01 1. .5 - 1e5 1E400 -0 -0.0 [1,] {"a":1,"a":2} {} [] tru'),
    *("\ufeff1", "1 2"),
    *words(r""""\x" 'a' /**/1 "ä" "\ud83d\ude00" 1e-400"""),
    *words("123456789012345678901234567890 0.1000000000000000055511151231257827"),
]
_WHOLE: Final = st.one_of(
    st.sampled_from([b"", b" ", *(t.encode() for t in _WHOLES), b'"\x01"', b"\x00\x00\x00\x01"]),
    NUMBERS.map(lambda t: t.encode("utf-8")),
    st.binary(max_size=4),
)


def bare() -> st.SearchStrategy[bytes]:
    """Messages without an envelope."""
    return st.one_of(_plain(2).flatmap(_written), _plain(2).flatmap(_written), _WHOLE)


@st.composite
def enveloped(draw: st.DrawFn) -> bytes:
    """Messages with an envelope."""
    schema = draw(schema_nodes())
    node = {"schema": schema, "payload": draw(_payload(schema))}
    match draw(st.integers(0, 24)):
        case 0:
            del node[draw(st.sampled_from(["schema", "payload"]))]
        case 1:
            node["more"] = 1
        case 2:
            node = {"payload": node["payload"], "schema": schema}
        case _:
            pass
    return draw(_written(node))
