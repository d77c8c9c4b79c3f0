"""Which transforms are measured, on which records. Both sides and the measure in one process take them from here.

Records are JSON, with Kafka Connect's envelope of schema and payload or without: flat ones, ones with a struct inside, and
flat ones with two headers on every other record. The same number gives the same record in every run.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.bench import data
from tests.bench.topics import Headers

__all__ = ["CASES", "CHAIN", "FORMS", "PREDICATES", "TRANSFORMS", "Case", "Form", "headers", "payload", "values"]

TRANSFORMS: Final = "org.apache.kafka.connect.transforms."
PREDICATES: Final = f"{TRANSFORMS}predicates."
_JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
_SCHEMA_TYPES: Final = {int: "int64", str: "string", float: "double"}
_NOON: Final = 1_760_000_000_000


@dataclass(frozen=True)
class Form:
    """What records look like: `flat`, `nested` or `headers`, with a schema or without."""

    content: str
    schema: bool

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.content}, {'schema' if self.schema else 'no schema'}"

    @property
    def converters(self) -> dict[str, str]:
        """The converters' properties."""
        enable = "true" if self.schema else "false"
        return {
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": _JSON,
            "value.converter.schemas.enable": enable,
        }

    def values(self, start: int, end: int) -> list[bytes]:
        """The values of these records in Kafka."""
        return values(start, end, self)


@dataclass(frozen=True)
class Case:
    """Transforms to measure.

    Attributes:
        name: for people; the transform's.
        config: the properties of the chain.
        content: of the records that it is given.
        schemaless: whether it takes records without a schema.
        every: one of so many records comes out.
        length: how many transforms there are.
    """

    name: str
    config: Mapping[str, str]
    content: str = "flat"
    schemaless: bool = True
    every: int = 1
    length: int = 1

    def forms(self) -> list[Form]:
        """The forms of records that it is measured on."""
        return [Form(self.content, schema) for schema in ((True, False) if self.schemaless else (True,))]


def _one(name: str, properties: Mapping[str, str], **rest: Any) -> Case:
    own = {f"transforms.t.{key}": text for key, text in properties.items()}
    return Case(name.partition("$")[0], {"transforms": "t", "transforms.t.type": TRANSFORMS + name, **own}, **rest)


_CHAIN: Final = {
    "transforms": "origin,mask,rename,cast,time,mark,key,route",
    "transforms.origin.type": f"{TRANSFORMS}InsertField$Value",
    "transforms.origin.static.field": "origin",
    "transforms.origin.static.value": "bench",
    "transforms.mask.type": f"{TRANSFORMS}MaskField$Value",
    "transforms.mask.fields": "name",
    "transforms.mask.replacement": "-",
    "transforms.mask.predicate": "secret",
    "transforms.rename.type": f"{TRANSFORMS}ReplaceField$Value",
    "transforms.rename.renames": "amount:price",
    "transforms.cast.type": f"{TRANSFORMS}Cast$Value",
    "transforms.cast.spec": "id:string",
    "transforms.time.type": f"{TRANSFORMS}TimestampConverter$Value",
    "transforms.time.field": "at",
    "transforms.time.target.type": "string",
    "transforms.time.format": "yyyy-MM-dd HH:mm:ss.SSS",
    "transforms.mark.type": f"{TRANSFORMS}InsertHeader",
    "transforms.mark.header": "origin",
    "transforms.mark.value.literal": "bench",
    "transforms.key.type": f"{TRANSFORMS}ValueToKey",
    "transforms.key.fields": "id",
    "transforms.route.type": f"{TRANSFORMS}RegexRouter",
    "transforms.route.regex": "bench-(.*)",
    "transforms.route.replacement": "routed-$1",
    "transforms.route.predicate": "ours",
    "predicates": "secret,ours",
    "predicates.secret.type": f"{PREDICATES}HasHeaderKey",
    "predicates.secret.name": "secret",
    "predicates.ours.type": f"{PREDICATES}TopicNameMatches",
    "predicates.ours.pattern": "bench-.*",
}
CHAIN: Final = "chain of 8, 2 predicates"
CASES: Final[Sequence[Case]] = (
    _one("Cast$Value", {"spec": "id:string,amount:int64"}),
    _one("DropHeaders", {"headers": "trace"}, content="headers"),
    _one("ExtractField$Value", {"field": "note"}),
    Case(
        "Filter",
        {
            "transforms": "t",
            "transforms.t.type": f"{TRANSFORMS}Filter",
            "transforms.t.predicate": "p",
            "predicates": "p",
            "predicates.p.type": f"{PREDICATES}HasHeaderKey",
            "predicates.p.name": "secret",
        },
        content="headers",
        every=2,
    ),
    _one("Flatten$Value", {"delimiter": "_"}, content="nested"),
    _one("HeaderFrom$Value", {"fields": "note", "headers": "note", "operation": "move"}),
    _one("HoistField$Value", {"field": "record"}),
    _one("InsertField$Value", {"partition.field": "partition", "static.field": "origin", "static.value": "bench"}),
    _one("InsertHeader", {"header": "origin", "value.literal": "bench"}),
    _one("MaskField$Value", {"fields": "name", "replacement": "-"}),
    _one("RegexRouter", {"regex": "bench-(.*)", "replacement": "routed-$1"}),
    _one("ReplaceField$Value", {"exclude": "note", "renames": "amount:price"}),
    _one("SetSchemaMetadata$Value", {"schema.name": "bench", "schema.version": "2"}, schemaless=False),
    _one(
        "TimestampConverter$Value",
        {
            "field": "at",
            "target.type": "string",
            "format": "yyyy-MM-dd HH:mm:ss.SSS",
        },
    ),
    _one("TimestampRouter", {"topic.format": "${topic}-${timestamp}", "timestamp.format": "yyyyMMdd"}),
    _one("ValueToKey", {"fields": "id"}),
    Case(CHAIN, _CHAIN, content="headers", length=8),
)
FORMS: Final = tuple(dict.fromkeys(form for case in CASES for form in case.forms()))


def payload(number: int, form: Form) -> dict[str, Any]:
    """The value of the record with this number."""
    record: dict[str, Any] = {
        "id": number,
        "name": f"customer-{number * 7919 % 100_003}",
        "amount": number * 31 % 1_000_000 + 0.25,
        "at": _NOON + number * 977,
    }
    if form.content == "nested":
        record["place"] = {"city": f"city-{number % 997}", "zip": 10_000 + number % 90_000}
    record["note"] = data.line(number)[70:-2]
    return record


def values(start: int, end: int, form: Form) -> list[bytes]:
    """The values of these records as JSON."""
    made = [json.dumps(payload(n, form), separators=(",", ":")) for n in range(start, end)]
    if form.schema:
        head = f'{{"schema":{json.dumps(_schema(payload(0, form)), separators=(",", ":"))},"payload":'
        made = [f"{head}{text}}}" for text in made]
    return [text.encode() for text in made]


def headers(number: int, form: Form) -> Headers | None:
    """The headers of that record; None where no record has any."""
    if form.content != "headers":
        return None
    return [("trace", b"abc-%d" % number), ("secret", b"yes")] if number % 2 else [("trace", b"abc-%d" % number)]


def _schema(record: Mapping[str, Any]) -> dict[str, Any]:
    fields = [
        {
            **(_schema(value) if isinstance(value, dict) else {"type": _SCHEMA_TYPES[type(value)], "optional": False}),
            "field": name,
        }
        for name, value in record.items()
    ]
    return {"type": "struct", "fields": fields, "optional": False, "name": "bench.Record"}
