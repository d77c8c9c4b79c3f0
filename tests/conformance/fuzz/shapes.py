"""Schemas, values that agree with them, and values without a schema, all in the cases' JSON."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from penstock.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME

from .dates import MILLIS
from .texts import FIELD_NAMES, NUMBERS, PLAIN

__all__ = [
    "ANY",
    "DATED",
    "TEXTS",
    "Json",
    "Shape",
    "leaves",
    "schemas",
    "shapes",
    "structs",
    "values",
    "values_without_schema",
]

Json = Any
Texts = st.SearchStrategy[str]
TEXTS: Final = st.one_of(PLAIN, PLAIN, NUMBERS)

_DAY: Final = 86_400_000
_STRUCT_NAMES: Final = FIELD_NAMES.filter(bool)  # Kafka Connect's schemas have no field without a name
_RANGES: Final = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
_PRIMITIVES: Final = ["int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string", "string", "bytes"]
_LOGICAL: Final = ["decimal", "date", "time", "timestamp"]
ANY: Final = (*_PRIMITIVES, *_LOGICAL)
DATED: Final = ("timestamp", "timestamp", "string", "string", "int64", "int64", "date", "time", "int32")
"""What TimestampConverter takes."""

_DOCS: Final = st.sampled_from(["a doc", ""])
_NAMES: Final = st.sampled_from(["n", "com.acme.Order", "", "ä"])
_PARAMETERS: Final = st.dictionaries(
    st.sampled_from(["p", "scale", ""]), st.sampled_from(["v", "2", ""]), min_size=1, max_size=2
)


def _chance(draw: st.DrawFn, of: int) -> bool:
    """True once in `of` times; never in the smallest example."""
    return draw(st.integers(0, of - 1)) == of - 1


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2, leaves: Sequence[str] = ANY) -> Json:
    """Any schema, nested so deep at most."""
    kind = draw(st.sampled_from([*leaves, *(("array", "map", "struct", "struct") if depth > 0 else ())]))
    match kind:
        case "decimal":
            scale = draw(st.sampled_from(["2", "0", "5", "-1", "10"]))
            node = {"type": "bytes", "name": DECIMAL_NAME, "version": 1, "parameters": {"scale": scale}}
        case "date" | "time":
            node = {"type": "int32", "name": DATE_NAME if kind == "date" else TIME_NAME, "version": 1}
        case "timestamp":
            node = {"type": "int64", "name": TIMESTAMP_NAME, "version": 1}
        case "array":
            node = {"type": kind, "items": draw(schemas(depth - 1))}
        case "map":
            keys = {"type": draw(st.sampled_from(["string", "string", "string", "int32", "int64", "boolean"]))}
            node = {"type": kind, "keys": keys, "values": draw(schemas(depth - 1))}
        case "struct":
            names = draw(st.lists(_STRUCT_NAMES, max_size=3, unique=True))
            node = {"type": kind, "fields": [{"name": n, "schema": draw(schemas(depth - 1))} for n in names]}
        case _:
            node = {"type": kind}
    return draw(_dressed(node))


@st.composite
def _dressed(draw: st.DrawFn, node: Json) -> Json:
    """With the attributes that any schema may have."""
    if draw(st.booleans()):
        node["optional"] = True
    if "name" not in node:
        for name, some in (("name", _NAMES), ("version", st.integers(-1, 3)), ("parameters", _PARAMETERS)):
            if _chance(draw, 10):
                node[name] = draw(some)
    if _chance(draw, 10):
        node["doc"] = draw(_DOCS)
    if _chance(draw, 25 if node["type"] in ("struct", "array", "map") else 5):
        default = draw(values(node, none=False))
        if default is not None:
            node["default"] = default
    return node


@st.composite
def structs(draw: st.DrawFn, leaves: Sequence[str] = ANY) -> Json:
    """The schema of a struct with a field at least."""
    names = draw(st.lists(_STRUCT_NAMES, min_size=1, max_size=4, unique=True))
    fields = [{"name": n, "schema": draw(schemas(1, leaves))} for n in names]
    return draw(_dressed({"type": "struct", "fields": fields}))


def _integers(bits: int) -> st.SearchStrategy[int]:
    low, high = -(2**bits), 2**bits - 1
    edges = [0, 1, -1, 7, 127, 128, 255, 300, -129, 86400, 1463716800, 1463716800123, 1463716800123456789, low, high]
    return st.one_of(st.sampled_from([n for n in edges if low <= n <= high]), st.integers(low, high))


def _floats(width: int) -> st.SearchStrategy[Json]:
    # Those of 32 bits have to be exact: Kafka Connect reads the text once, as a float.
    known = [0.0, -0.0, 0.5, 1.5, -1.5, 1e7, 9999999.0, 300.75, 3e9, -3e9]
    if width == 32:
        return st.one_of(st.sampled_from(known), st.floats(width=32)).map(_float)
    return st.one_of(st.sampled_from([*known, 0.001, 1e19]), st.floats()).map(_float)


def _float(number: float) -> Json:
    if number != number:
        return "NaN"
    return number if abs(number) != float("inf") else "Infinity" if number > 0 else "-Infinity"


_INTEGERS: Final = {kind: _integers(bits) for kind, bits in _RANGES.items()}
_FLOATS: Final = {"float32": _floats(32), "float64": _floats(64)}
_BYTES: Final = st.binary(max_size=5).map(lambda b: {"$bytes": base64.b64encode(b).decode()})
_UNSCALED: Final = st.one_of(st.sampled_from([0, 1, -1, 100, 1230, 10**20]), st.integers(-(10**12), 10**12))


def _tagged(tag: str) -> Callable[[Any], Json]:
    return lambda value: {f"${tag}": value}


def _decimal(scale: int) -> st.SearchStrategy[Json]:
    return _UNSCALED.map(lambda n: {"$decimal": f"{n}E{-scale}"})


@st.composite
def values(draw: st.DrawFn, schema: Json, texts: Texts = TEXTS, *, none: bool = True, holes: bool = False) -> Json:
    """A value that a struct takes for a field of that schema; null now and then where it is optional.

    With `holes` a field of a struct may be missing that is required: a record can hold such a struct,
    no other struct can.
    """
    if none and schema.get("optional") and _chance(draw, 6):
        return None
    kind, name = schema["type"], schema.get("name")
    match kind:
        case "int32" if name == DATE_NAME:
            return {"$date": draw(st.one_of(st.integers(-30_000, 40_000).map(lambda d: d * _DAY), MILLIS))}
        case "int32" if name == TIME_NAME:
            return {"$time": draw(st.one_of(st.integers(0, _DAY - 1), st.sampled_from([_DAY, -1, _DAY + 1])))}
        case "int64" if name == TIMESTAMP_NAME:
            return {"$timestamp": draw(MILLIS)}
        case "bytes" if name == DECIMAL_NAME:
            scale = int(schema["parameters"]["scale"])
            return draw(_decimal(scale + (1 if _chance(draw, 12) else 0)))
        case "string":
            return draw(texts)
        case "boolean":
            return draw(st.booleans())
        case "bytes":
            return draw(_BYTES)
        case "array":
            return [draw(values(schema["items"], texts)) for _ in range(draw(st.integers(0, 3)))]
        case "map":
            keys = draw(st.lists(_keys(schema["keys"]["type"]), max_size=3, unique_by=str))
            return _map([(k, draw(values(schema["values"], texts))) for k in keys])
        case "struct":
            fields = {f["name"]: draw(values(f["schema"], texts)) for f in schema["fields"]}
            if holes and fields and _chance(draw, 20):
                del fields[draw(st.sampled_from(sorted(fields)))]
            return {"$struct": fields}
        case "float32" | "float64":
            return {f"${kind}": draw(_FLOATS[kind])}
        case _:
            return {f"${kind}": draw(_INTEGERS[kind])}


def _keys(kind: str) -> st.SearchStrategy[Json]:
    """Of one kind in each map: Python takes 1, 1.0 and True for one key."""
    if kind == "string":
        return FIELD_NAMES
    return st.booleans() if kind == "boolean" else _INTEGERS[kind].map(_tagged(kind))


def _map(pairs: list[tuple[Json, Json]]) -> Json:
    if all(isinstance(k, str) and not k.startswith("$") for k, _ in pairs):
        return dict(pairs)
    return {"$map": [list(p) for p in pairs]}


@st.composite
def values_without_schema(draw: st.DrawFn, texts: Texts = TEXTS, depth: int = 2, leaves: Sequence[str] = ANY) -> Json:
    """Any value that Connect's data has, without a schema."""
    kind = draw(st.sampled_from([*leaves, "null", *(("array", "map", "map") if depth > 0 else ())]))
    match kind:
        case "null":
            return None
        case "string":
            return draw(texts)
        case "boolean":
            return draw(st.booleans())
        case "bytes":
            return draw(_BYTES)
        case "decimal":
            return draw(_decimal(draw(st.integers(-1, 4))))
        case "timestamp" | "date" | "time":
            return {"$timestamp": draw(MILLIS)}
        case "array":
            return [draw(values_without_schema(texts, depth - 1)) for _ in range(draw(st.integers(0, 3)))]
        case "map":
            return draw(_maps(texts, depth))
        case "float32" | "float64":
            return {f"${kind}": draw(_FLOATS[kind])}
        case _:
            return {f"${kind}": draw(_INTEGERS[kind])}


@st.composite
def _maps(draw: st.DrawFn, texts: Texts, depth: int) -> Json:
    keys = draw(
        st.lists(_keys(draw(st.sampled_from(["string"] * 9 + ["int32", "boolean"]))), max_size=3, unique_by=str)
    )
    return _map([(k, draw(values_without_schema(texts, depth - 1))) for k in keys])


@dataclass(frozen=True)
class Shape:
    """What the records of a case look like on one side.

    Attributes:
        schema: None is without a schema.
        names: the fields of a struct, or the keys of a map without a schema; None where it is no such thing.
        always_null: whatever the schema says.
        leaves: the kinds of values that it has without a schema.
        depth: how deep they are nested at most.
    """

    schema: Json
    names: tuple[str, ...] | None = None
    always_null: bool = False
    leaves: Sequence[str] = ANY
    depth: int = 2

    @st.composite
    @staticmethod
    def _value(draw: st.DrawFn, shape: "Shape", texts: Texts) -> Json:
        if shape.always_null:
            return None
        if shape.schema is not None:
            return draw(values(shape.schema, texts, holes=True))
        if shape.names is None:
            return draw(values_without_schema(texts, shape.depth, shape.leaves))
        return _map([(n, draw(values_without_schema(texts, 1, shape.leaves))) for n in shape.names])

    def typed(self, texts: Texts = TEXTS) -> st.SearchStrategy[Json]:
        """A schema and value of this shape, as a case has them."""
        return Shape._value(self, texts).map(lambda value: {"schema": self.schema, "value": value})


@st.composite
def leaves(draw: st.DrawFn, kinds: Sequence[str]) -> Shape:
    """One value, with a schema or without."""
    return Shape(draw(schemas(0, kinds))) if draw(st.booleans()) else Shape(None, leaves=kinds, depth=0)


@st.composite
def shapes(draw: st.DrawFn, leaves: Sequence[str] = ANY) -> Shape:
    """Mostly structs and maps, which transforms work on."""
    kind = draw(st.sampled_from(["struct"] * 8 + ["map"] * 6 + ["any"] * 3 + ["free"] * 2 + ["null", "null struct"]))
    match kind:
        case "struct" | "null struct":
            schema = draw(structs(leaves))
            return Shape(schema, tuple(f["name"] for f in schema["fields"]), always_null=kind != "struct")
        case "map":
            return Shape(None, tuple(draw(st.lists(FIELD_NAMES, max_size=4, unique=True))), leaves=leaves)
        case "any":
            return Shape(draw(schemas(2, leaves)))
        case "free":
            return Shape(None, leaves=leaves)
        case _:
            return Shape(None, always_null=True)
