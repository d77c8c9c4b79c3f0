"""Types of JSON Schemas, with all references resolved.

A schema can combine keywords of several types. It is then a combination `allOf` of one type for each, as in Confluent's
converter, and a schema without `type` has the type to which its keywords belong.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin

from penstock import DataError
from penstock_registry.json_schema.java_text import hash_order
from penstock_registry.references import Reference

__all__ = ["NOTHING", "JsonType", "parse_json_schema"]

NOTHING: Final = object()
"""Marker for no default; None is the default null."""

_ARRAY: Final = ("items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "prefixItems")
_OBJECT: Final = (
    "properties", "required", "minProperties", "maxProperties", "dependencies", "patternProperties",
    "additionalProperties", "propertyNames",
)  # fmt: skip
_NUMBER: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_STRING: Final = ("minLength", "maxLength", "pattern", "format")
_CONDITIONAL: Final = ("if", "then", "else")
_OWN: Final = {
    "array": _ARRAY,
    "object": _OBJECT,
    "number": _NUMBER,
    "integer": _NUMBER,
    "string": _STRING,
    "boolean": (),
    "null": (),
}
"""Keywords of each type."""
_COMBINATIONS: Final = ("allOf", "anyOf", "oneOf")
_DEFINITIONS: Final = ("$defs", "definitions")


@dataclass(eq=False, slots=True)
class JsonType:
    """Type in a schema.

    Attributes:
        kind: `string`, `number`, `integer`, `boolean`, `null`, `array`, `object`, `enum`, `const`, `allOf`, `anyOf`,
            `oneOf`, `reference`, `anything` (no restriction), or a keyword that has no counterpart in Connect.
        attributes: Connect's properties, such as `connect.type`.
        default: the default as JSON, or `NOTHING`.
        symbols: the values of an enum or constant.
        branches: the types of a combination.
        items: the elements of an array; None if they have different types, or are not described.
        fields: the properties of an object, in Java's order.
        required: the properties that an object must have.
        additional: the type of other properties of an object; None if it is not described.
        name: the target of a reference, as written in the schema.
    """

    kind: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    title: str | None = None
    description: str | None = None
    default: Any = NOTHING
    symbols: Sequence[Any] = ()
    branches: Sequence["JsonType"] = ()
    items: "JsonType | None" = None
    fields: Mapping[str, "JsonType"] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    additional: "JsonType | None" = None
    name: str = ""
    definition: "_Definition | None" = None

    @property
    def target(self) -> "JsonType":
        """Return the type that a reference refers to."""
        if self.definition is None or self.definition.type is None:
            raise DataError(f"cannot read a JSON Schema: {self.name} refers to itself")
        return self.definition.type

    @property
    def optional_branch(self) -> "JsonType | None":
        """Return the other type of a combination of null and one more; None for any other type."""
        if self.kind in ("oneOf", "anyOf") and len(self.branches) == 2:
            others = [branch for branch in self.branches if branch.kind != "null"]
            return others[0] if len(others) == 1 else None
        return None


@dataclass(eq=False, slots=True)
class _Definition:
    """Definition in a schema, shared by all references to it."""

    type: JsonType | None = None


@dataclass(frozen=True, slots=True)
class _Document:
    """Schema to which references are relative.

    Attributes:
        base: its URI; empty if it has none.
        tree: the schema as JSON.
    """

    base: str
    tree: Any


def parse_json_schema(text: str, references: Sequence[Reference] = ()) -> JsonType:
    """Return the type that a schema defines.

    Args:
        text: the schema.
        references: the schemas that it refers to by their names.

    Raises:
        DataError: the text is not a JSON Schema, or a reference cannot be resolved.
    """
    try:
        return _Parser(json.loads(text), [(each.name, json.loads(each.text)) for each in references]).root()
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as e:
        raise DataError(f"cannot read a JSON Schema: {type(e).__name__}: {e}") from e
    except RecursionError:
        raise DataError("cannot read a JSON Schema: it is nested too deeply") from None


class _Parser:
    def __init__(self, tree: Any, references: Sequence[tuple[str, Any]]) -> None:
        base = _id(tree)
        self._root = _Document(base, tree)
        self._is_draft_4 = isinstance(tree, dict) and "draft-04" in str(tree.get("$schema"))
        self._documents = {base: self._root}
        for name, schema in references:
            for uri in dict.fromkeys((urljoin(base, name), _id(schema))):
                self._documents.setdefault(urldefrag(uri).url, _Document(urljoin(base, name), schema))
        self._identified: dict[str, tuple[_Document, Any]] = {}
        for document in tuple(self._documents.values()):
            self._identified.update(_identified(document, document.tree, document.base))
        self._definitions: dict[str, _Definition] = {}

    def root(self) -> JsonType:
        return self.read(self._root.tree, self._root)

    def read(self, schema: Any, within: _Document) -> JsonType:
        if isinstance(schema, bool):
            return JsonType("anything" if schema else "false")
        found = list(self._types(schema, within))
        if not found:
            made = JsonType("anything")
        elif len(found) == 1:
            (made,) = found
        else:
            made = JsonType("allOf", branches=found)
        made.title, made.description = _text(schema, "title"), _text(schema, "description")
        made.default = schema.get("default", NOTHING)
        made.attributes = {name: value for name, value in schema.items() if name.startswith("connect.")}
        return made

    def _types(self, schema: dict[str, Any], within: _Document) -> Iterator[JsonType]:
        """Yield the types that the keywords of a schema define."""
        if "$ref" in schema:
            yield self._reference(schema["$ref"], within)
            return
        if "enum" in schema:
            yield JsonType("enum", symbols=list(schema["enum"]))
        for keyword in _COMBINATIONS:
            if keyword in schema:
                yield JsonType(keyword, branches=[self.read(each, within) for each in schema[keyword]])
        if "not" in schema:
            yield JsonType("not")
        if "const" in schema and not self._is_draft_4:
            yield JsonType("const", symbols=[schema["const"]])
        kind, consumed = schema.get("type"), set[str]()
        if kind is not None:
            kinds = kind if isinstance(kind, list) else [kind]
            consumed.update(keyword for each in kinds for keyword in _OWN[each])
            typed = [self._typed(each, schema, within) for each in kinds]
            yield JsonType("anyOf", branches=typed) if isinstance(kind, list) else typed[0]
        for each, keywords in (("array", _ARRAY), ("object", _OBJECT), ("number", _NUMBER), ("string", _STRING)):
            if any(keyword in schema and keyword not in consumed for keyword in keywords):
                yield self._typed(each, schema, within)
        if any(keyword in schema for keyword in _CONDITIONAL):
            yield JsonType("if")

    def _typed(self, kind: str, schema: dict[str, Any], within: _Document) -> JsonType:
        made = JsonType(kind)
        match kind:
            case "array":
                items = schema.get("items")
                if isinstance(items, (dict, bool)):
                    made.items = self.read(items, within)
            case "object":
                properties = schema.get("properties") or {}
                made.fields = {str(name): self.read(properties[name], within) for name in hash_order(properties)}
                made.required = frozenset(schema.get("required") or ())
                if isinstance(additional := schema.get("additionalProperties"), dict):
                    made.additional = self.read(additional, within)
            case _:
                pass
        return made

    def _reference(self, ref: str, within: _Document) -> JsonType:
        uri, fragment = urldefrag(urljoin(within.base, ref) if not ref.startswith("#") else within.base + ref)
        key = f"{uri}#{fragment}"
        definition = self._definitions.get(key)
        if definition is None:
            definition = self._definitions[key] = _Definition()
            document, schema = self._find(ref, uri, fragment, within)
            definition.type = self.read(schema, document)
        return JsonType("reference", name=ref, definition=definition)

    def _find(self, ref: str, uri: str, fragment: str, within: _Document) -> tuple[_Document, Any]:
        identified = self._identified.get(f"{uri}#{fragment}" if fragment else uri)
        if identified is not None:
            return identified
        document = within if ref.startswith("#") else self._documents.get(uri)
        if document is not None and (not fragment or fragment.startswith("/")):
            try:
                return document, _pointed(document.tree, fragment)
            except (KeyError, IndexError, ValueError, TypeError):
                pass
        remedy = "register the schema that it refers to, with that name as a reference, or correct it"
        raise DataError(f"cannot read a JSON Schema: the reference {ref} cannot be resolved; {remedy}")


def _id(schema: Any) -> str:
    """Return the URI that a schema declares; empty if it declares none."""
    found = schema.get("$id", schema.get("id")) if isinstance(schema, dict) else None
    return urldefrag(found).url if isinstance(found, str) else ""


def _identified(document: _Document, tree: Any, base: str) -> Iterator[tuple[str, tuple[_Document, Any]]]:
    """Yield the schemas inside another one that have a URI or an anchor."""
    if isinstance(tree, list):
        for each in tree:
            yield from _identified(document, each, base)
    if not isinstance(tree, dict):
        return
    own = tree.get("$id", tree.get("id"))
    if isinstance(own, str) and tree is not document.tree:
        uri = urljoin(base, own) if not own.startswith("#") else base + own
        yield uri, (document, tree)
        base = urldefrag(uri).url
    if isinstance(anchor := tree.get("$anchor"), str):
        yield f"{base}#{anchor}", (document, tree)
    for each in tree.values():
        yield from _identified(document, each, base)


def _pointed(tree: Any, pointer: str) -> Any:
    """Return the target of a JSON pointer. Definitions are found under `$defs` and `definitions` alike."""
    parts = [unquote(part).replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for depth, part in enumerate(parts):
        if isinstance(tree, list):
            tree = tree[int(part)]
        elif depth == 0 and part == _DEFINITIONS[0]:
            tree = {**tree.get(_DEFINITIONS[1], {}), **tree.get(_DEFINITIONS[0], {})}
        else:
            tree = tree[part]
    return tree


def _text(schema: dict[str, Any], keyword: str) -> str | None:
    found = schema.get(keyword)
    return found if isinstance(found, str) else None
