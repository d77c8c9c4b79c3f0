"""The properties of each transform and predicate of Kafka Connect: mostly as meant, sometimes wrong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st

from .dates import FORMATS
from .patterns import PATTERNS, REPLACEMENTS
from .texts import BOOLEANS, FIELD_NAMES, HEADER_NAMES, LITERALS, NUMBERS, PLAIN, TOPICS

__all__ = ["PREDICATES", "SIDED", "TRANSFORMS", "Fields", "configured"]

Properties = dict[str, str]


@dataclass(frozen=True)
class Fields:
    """Names that the records of the case have, on the side that a transform works on."""

    names: Sequence[str]
    paths: Sequence[str] = ()

    def name(self) -> st.SearchStrategy[str]:
        """A field that is there, or another one."""
        return st.one_of(st.sampled_from(self.names), FIELD_NAMES) if self.names else FIELD_NAMES

    def list(self, most: int = 3) -> st.SearchStrategy[str]:
        """Names with commas between."""
        unique = st.lists(self.name(), min_size=1, max_size=most, unique=True)
        return st.one_of(unique, unique, unique, st.lists(self.name(), max_size=most)).map(",".join)


_TYPES: Final = st.sampled_from(
    [
        "int8",
        "int16",
        "int32",
        "int64",
        "float32",
        "float64",
        "boolean",
        "string",
        "string",
        "Int32",
        " STRING",
        "bytes",
        "int",
    ]
)
_HEADERS: Final = st.lists(HEADER_NAMES, min_size=1, max_size=2, unique=True).map(",".join)


def _some(draw: st.DrawFn, given: dict[str, st.SearchStrategy[str]], needed: Sequence[str] = ()) -> Properties:
    return {name: draw(texts) for name, texts in given.items() if name in needed or draw(st.booleans())}


def _cast(draw: st.DrawFn, fields: Fields) -> Properties:
    if draw(st.integers(0, 3)) == 0:
        return {"spec": draw(_TYPES)}
    pair = st.tuples(fields.name(), _TYPES).map(":".join)
    return {"spec": ",".join(draw(st.lists(pair, min_size=1, max_size=3)))}


def _extract_field(draw: st.DrawFn, fields: Fields) -> Properties:
    if draw(st.booleans()):
        return _some(draw, {"field": fields.name(), "field.syntax.version": st.just("V1")}, ["field"])
    steps = st.lists(fields.name(), min_size=1, max_size=3).map(".".join)
    quoted = st.lists(fields.name().map(lambda n: f"`{n}`"), min_size=1, max_size=2).map(".".join)
    odd = st.text("ab.`\\", max_size=7)
    known = st.sampled_from(fields.paths) if fields.paths else steps
    return {"field": draw(st.one_of(known, known, steps, quoted, odd)),
            "field.syntax.version": draw(st.sampled_from(["V2", "V2", "v2", " V2", "V3"]))}  # fmt: skip


def _header_from(draw: st.DrawFn, fields: Fields) -> Properties:
    names = draw(st.lists(fields.name(), min_size=1, max_size=3))
    headers = [draw(HEADER_NAMES) for _ in names]
    if draw(st.integers(0, 14)) == 0:
        headers.append("h")
    operation = draw(st.sampled_from(["move", "move", "copy", "copy", "MOVE", ""]))
    return {"fields": ",".join(names), "headers": ",".join(headers), "operation": operation}


def _insert_field(draw: st.DrawFn, fields: Fields) -> Properties:
    suffixed = st.tuples(fields.name(), st.sampled_from(["", "", "!", "?", "!!"])).map("".join)
    kinds = ("topic.field", "partition.field", "timestamp.field", "static.field", "offset.field")
    chosen = draw(st.lists(st.sampled_from(kinds), max_size=3, unique=True))
    made = {name: draw(suffixed) for name in chosen}
    if ("static.field" in made) != (draw(st.integers(0, 14)) == 0):
        made["static.value"] = draw(PLAIN)
    return made


def _regex_router(draw: st.DrawFn, _: Fields) -> Properties:
    return {"regex": draw(PATTERNS), "replacement": draw(REPLACEMENTS)}


def _replace_field(draw: st.DrawFn, fields: Fields) -> Properties:
    renames = st.lists(st.tuples(fields.name(), fields.name()).map(":".join), min_size=1, max_size=3).map(",".join)
    return _some(draw, {"exclude": fields.list(), "include": fields.list(), "renames": renames})


def _set_schema_metadata(draw: st.DrawFn, _: Fields) -> Properties:
    versions = st.sampled_from(["1", "2", "-1", " 3 ", "+4", "1.0", "2147483648", "x", ""])
    return _some(draw, {"schema.name": st.sampled_from(["n", "com.acme.X", "", " n "]), "schema.version": versions})


def _timestamp_converter(draw: st.DrawFn, fields: Fields) -> Properties:
    target = draw(st.sampled_from(["string", "string", "unix", "Date", "Time", "Timestamp", "timestamp"]))
    made = {"target.type": target}
    if draw(st.integers(0, 9)) < (9 if target == "string" else 6):
        made["format"] = draw(FORMATS)
    precisions = st.sampled_from(["nanoseconds", "microseconds", "milliseconds", "seconds", "Seconds", "seconds"])
    return made | _some(draw, {"field": fields.name(), "unix.precision": precisions})


def _timestamp_router(draw: st.DrawFn, _: Fields) -> Properties:
    parts = st.lists(st.sampled_from(["${topic}", "${timestamp}", "-", "x", "$", "${other}", "$1"]), max_size=4).map(
        "".join
    )
    return _some(draw, {"topic.format": parts, "timestamp.format": FORMATS})


def _only(**given: st.SearchStrategy[str]) -> Callable[[st.DrawFn, Fields], Properties]:
    return lambda draw, _: {name.replace("_", "."): draw(texts) for name, texts in given.items()}


def _flatten(draw: st.DrawFn, _: Fields) -> Properties:
    return _some(draw, {"delimiter": st.sampled_from([".", "_", "", " ", "::", "a"])})


def _mask_field(draw: st.DrawFn, fields: Fields) -> Properties:
    return _some(draw, {"fields": fields.list(), "replacement": st.one_of(NUMBERS, PLAIN)}, ["fields"])


TRANSFORMS: Final[dict[str, Callable[[st.DrawFn, Fields], Properties]]] = {
    "Cast": _cast,
    "DropHeaders": _only(headers=_HEADERS),
    "ExtractField": _extract_field,
    "Filter": _only(),
    "Flatten": _flatten,
    "HeaderFrom": _header_from,
    "HoistField": lambda draw, fields: {"field": draw(fields.name())},
    "InsertField": _insert_field,
    "InsertHeader": _only(header=HEADER_NAMES, value_literal=LITERALS),
    "MaskField": _mask_field,
    "RegexRouter": _regex_router,
    "ReplaceField": _replace_field,
    "SetSchemaMetadata": _set_schema_metadata,
    "TimestampConverter": _timestamp_converter,
    "TimestampRouter": _timestamp_router,
    "ValueToKey": lambda draw, fields: {"fields": draw(fields.list())},
}
PREDICATES: Final[dict[str, Callable[[st.DrawFn, Fields], Properties]]] = {
    "HasHeaderKey": _only(name=HEADER_NAMES),
    "RecordIsTombstone": _only(),
    "TopicNameMatches": _only(pattern=st.one_of(PATTERNS, TOPICS)),
}
SIDED: Final = frozenset(
    {"Cast", "ExtractField", "Flatten", "HeaderFrom", "HoistField", "InsertField", "MaskField", "ReplaceField",
     "SetSchemaMetadata", "TimestampConverter"}
)  # fmt: skip
_FLAGGED: Final = (SIDED - {"Flatten", "HoistField"}) | {"ValueToKey"}
_ODD: Final = st.sampled_from(
    ["", " ", ",", "a,", "a,,b", "a,a", "TRUE", "yes", "1.5", "null", "V2", "a , b", ":", "a:b:c"]
)


@st.composite
def configured(draw: st.DrawFn, plugin: str, fields: Fields) -> Properties:
    """Properties of a transform or predicate, without a prefix and `type`."""
    made = (TRANSFORMS | PREDICATES)[plugin](draw, fields)
    if plugin in _FLAGGED and draw(st.integers(0, 2)) == 0:
        made["replace.null.with.default"] = draw(BOOLEANS)
    if made and draw(st.integers(0, 14)) == 14:
        name = draw(st.sampled_from(sorted(made)))
        match draw(st.integers(0, 3)):
            case 0:
                del made[name]
            case 1:
                made[name] = f" {made[name]}\t"
            case _:
                made[name] = draw(_ODD)
    return made
