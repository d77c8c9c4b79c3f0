"""The properties of each transform and predicate of Kafka Connect: mostly as meant, sometimes wrong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hypothesis import strategies as st
from tests.words import words

from .dates import FORMATS
from .patterns import PATTERNS, REPLACEMENTS
from .texts import BOOLEANS, FIELD_NAMES, HEADER_NAMES, LITERALS, NUMBERS, PLAIN, TOPICS

__all__ = ["PREDICATES", "SIDED", "TRANSFORMS", "Fields", "configured"]

Properties = dict[str, str]


@dataclass(frozen=True)
class Fields:
    """What the configurations of a case are made for.

    Attributes:
        names: fields that the records have, on the side that a transform works on.
        paths: the same, two steps deep.
        right: the configuration is not to be refused.
        whole: the records have no fields.
    """

    names: Sequence[str]
    paths: Sequence[str] = ()
    right: bool = False
    whole: bool = False

    def name(self) -> st.SearchStrategy[str]:
        """A field that is there, or another one."""
        return st.one_of(st.sampled_from(self.names), FIELD_NAMES) if self.names else FIELD_NAMES

    def item(self) -> st.SearchStrategy[str]:
        """The same, as an item of a list."""
        return self.name().filter(lambda n: bool(n) and ":" not in n) if self.right else self.name()

    def list(self, most: int = 3) -> st.SearchStrategy[str]:
        """Names with commas between."""
        unique = st.lists(self.item(), min_size=1, max_size=most, unique=True)
        return (unique if self.right else st.one_of(unique, unique, st.lists(self.item(), max_size=most))).map(",".join)

    def header(self) -> st.SearchStrategy[str]:
        """The name of a header, as an item of a list."""
        return HEADER_NAMES.filter(bool) if self.right else HEADER_NAMES

    def one_of(self, usual: Sequence[str], wrong: Sequence[str]) -> st.SearchStrategy[str]:
        """One of the usual texts, or of those that are refused."""
        return st.sampled_from([*usual] if self.right else [*usual, *wrong])


_TYPES: Final = [*words("int8 int16 int32 int64 float32 float64 boolean string string Int32"), " STRING"]


def _some(draw: st.DrawFn, given: dict[str, st.SearchStrategy[str]], needed: Sequence[str] = ()) -> Properties:
    return {name: draw(texts) for name, texts in given.items() if name in needed or draw(st.booleans())}


def _cast(draw: st.DrawFn, fields: Fields) -> Properties:
    types = fields.one_of(_TYPES, ["bytes", "int", ""])
    if fields.whole or draw(st.integers(0, 3)) == 0:
        return {"spec": draw(types)}
    pair = st.tuples(fields.item(), types).map(":".join)
    return {"spec": ",".join(draw(st.lists(pair, min_size=1, max_size=3)))}


def _extract_field(draw: st.DrawFn, fields: Fields) -> Properties:
    if draw(st.booleans()):
        return _some(draw, {"field": fields.name(), "field.syntax.version": st.just("V1")}, ["field"])
    steps = st.lists(fields.name(), min_size=1, max_size=3).map(".".join)
    quoted = st.lists(fields.name().map(lambda n: f"`{n}`"), min_size=1, max_size=2).map(".".join)
    odd = quoted if fields.right else st.text("ab.`\\", max_size=7)
    known = st.sampled_from(fields.paths) if fields.paths else steps
    return {
        "field": draw(st.one_of(known, known, steps, quoted, odd)),
        "field.syntax.version": draw(fields.one_of(["V2", "V2", "v2", " V2"], ["V3"])),
    }


def _header_from(draw: st.DrawFn, fields: Fields) -> Properties:
    names = draw(st.lists(fields.item(), min_size=1, max_size=3))
    headers = [draw(fields.header()) for _ in names]
    if not fields.right and draw(st.integers(0, 14)) == 0:
        headers.append("h")
    operation = draw(fields.one_of(["move", "move", "copy", "copy"], ["MOVE", ""]))
    return {"fields": ",".join(names), "headers": ",".join(headers), "operation": operation}


def _insert_field(draw: st.DrawFn, fields: Fields) -> Properties:
    suffixed = st.tuples(fields.name(), st.sampled_from(["", "", "!", "?", "!!"])).map("".join)
    kinds = ("topic.field", "partition.field", "timestamp.field", "static.field", "offset.field")
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=int(fields.right), max_size=3, unique=True))
    made = {name: draw(suffixed) for name in chosen}
    if ("static.field" in made) != (not fields.right and draw(st.integers(0, 14)) == 0):
        made["static.value"] = draw(PLAIN)
    return made


def _regex_router(draw: st.DrawFn, _: Fields) -> Properties:
    return {"regex": draw(PATTERNS), "replacement": draw(REPLACEMENTS)}


def _replace_field(draw: st.DrawFn, fields: Fields) -> Properties:
    renames = st.lists(st.tuples(fields.item(), fields.item()).map(":".join), min_size=1, max_size=3).map(",".join)
    return _some(draw, {"exclude": fields.list(), "include": fields.list(), "renames": renames})


def _set_schema_metadata(draw: st.DrawFn, fields: Fields) -> Properties:
    versions = fields.one_of(["1", "2", "-1", " 3 ", "+4"], ["1.0", "2147483648", "x", ""])
    names = st.sampled_from(["n", "com.acme.X", "", " n "])
    needed = [draw(st.sampled_from(["schema.name", "schema.version"]))] if fields.right else []
    return _some(draw, {"schema.name": names, "schema.version": versions}, needed)


def _timestamp_converter(draw: st.DrawFn, fields: Fields) -> Properties:
    target = draw(fields.one_of(["string", "string", "unix", "Date", "Time", "Timestamp"], ["timestamp"]))
    made = {"target.type": target}
    needed = 10 if fields.right else 9
    if draw(st.integers(0, 9)) < (needed if target == "string" else 6):
        made["format"] = draw(FORMATS)
    precisions = fields.one_of(["nanoseconds", "microseconds", "milliseconds", "seconds", "seconds"], ["Seconds"])
    if not fields.whole and draw(st.integers(0, 3)):
        made["field"] = draw(fields.name())
    return made | _some(draw, {"unix.precision": precisions})


def _timestamp_router(draw: st.DrawFn, _: Fields) -> Properties:
    parts = st.lists(st.sampled_from(["${topic}", "${timestamp}", "-", "x", "$", "${other}", "$1"]), max_size=4).map(
        "".join
    )
    return _some(draw, {"topic.format": parts, "timestamp.format": FORMATS})


def _only(**given: st.SearchStrategy[str]) -> Callable[[st.DrawFn, Fields], Properties]:
    return lambda draw, _: {name.replace("_", "."): draw(texts) for name, texts in given.items()}


def _flatten(draw: st.DrawFn, _: Fields) -> Properties:
    return _some(draw, {"delimiter": st.sampled_from([".", "_", "", " ", "::", "a"])})


def _drop_headers(draw: st.DrawFn, fields: Fields) -> Properties:
    return {"headers": ",".join(draw(st.lists(fields.header(), min_size=1, max_size=2, unique=True)))}


def _has_header_key(draw: st.DrawFn, fields: Fields) -> Properties:
    return {"name": draw(fields.header())}


def _mask_field(draw: st.DrawFn, fields: Fields) -> Properties:
    texts = st.one_of(NUMBERS, PLAIN)
    replacement = texts.filter(lambda t: bool(t.strip())) if fields.right else texts
    return _some(draw, {"fields": fields.list(), "replacement": replacement}, ["fields"])


TRANSFORMS: Final[dict[str, Callable[[st.DrawFn, Fields], Properties]]] = {
    "Cast": _cast,
    "DropHeaders": _drop_headers,
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
    "HasHeaderKey": _has_header_key,
    "RecordIsTombstone": _only(),
    "TopicNameMatches": _only(pattern=st.one_of(PATTERNS, TOPICS.filter(lambda t: "{" not in t))),
}
SIDED: Final = frozenset(
    {
        "Cast",
        "ExtractField",
        "Flatten",
        "HeaderFrom",
        "HoistField",
        "InsertField",
        "MaskField",
        "ReplaceField",
        "SetSchemaMetadata",
        "TimestampConverter",
    }
)
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
    if made and not fields.right and draw(st.integers(0, 9)) == 9:
        name = draw(st.sampled_from(sorted(made)))
        match draw(st.integers(0, 3)):
            case 0:
                del made[name]
            case 1:
                made[name] = f" {made[name]}\t"
            case _:
                made[name] = draw(_ODD)
    return made
