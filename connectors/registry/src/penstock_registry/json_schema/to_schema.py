"""Connect's schemas for JSON Schemas, as Confluent's JsonSchemaData makes them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from penstock import DataError, Field, Schema, Type
from penstock.schema import STRING
from penstock_registry.json_schema import names
from penstock_registry.json_schema.decoder import check_logical, decoder
from penstock_registry.json_schema.misfit import Misfit
from penstock_registry.json_schema.settings import JsonSettings
from penstock_registry.json_schema.types import NOTHING, JsonType

__all__ = ["connect_schema"]

_NUMBERS: Final = {str(kind): kind for kind in (
    Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64, Type.BYTES,
)}  # fmt: skip
_CANNOT: Final = "cannot read a JSON Schema"
_MOST_TYPES: Final = 100_000


def connect_schema(of: JsonType, settings: JsonSettings, version: int | None = None) -> Schema:
    """Return the schema of values with this type.

    Args:
        of: the type.
        settings: settings of the mapping.
        version: version of the schema, unless it names one.

    Raises:
        DataError: Connect cannot represent the schema.
    """
    try:
        return _Reader(settings).schema(of, version=version)
    except RecursionError:
        raise DataError(f"{_CANNOT}: it is nested too deeply") from None


@dataclass
class _Draft:
    """Schema under construction."""

    type: Type
    name: str | None = None
    optional: bool = False
    parameters: dict[str, str] = field(default_factory=dict)
    fields: tuple[Field, ...] = ()
    items: Schema | None = None
    keys: Schema | None = None
    values: Schema | None = None


class _Reader:
    def __init__(self, settings: JsonSettings) -> None:
        self._settings = settings
        self._around: list[JsonType] = []
        self._combined: list[JsonType] = []
        self._unions = 0
        self._made = 0

    def schema(self, of: JsonType, *, optional: bool = False, version: int | None = None) -> Schema:
        self._made += 1
        if self._made > _MOST_TYPES:  # definitions that are used several times can grow exponentially
            raise DataError(f"{_CANNOT}: it has more than {_MOST_TYPES} types")
        if of.kind == "reference":
            return self._referred(of, optional=optional, version=version)
        if of.kind in ("allOf", "anyOf", "oneOf"):
            if len(of.branches) == 1 and self._settings.flat:
                return self.schema(of.branches[0], optional=optional)
            if of.kind == "allOf":
                with _within(self._combined, of, of.title or "of allOf"):
                    return self._all_of(of, optional=optional, version=version)
            number = self._unions
            self._unions += 1
            if (branch := of.optional_branch) is not None:
                return self.schema(branch, optional=True, version=version)
            draft = self._union(of, number)
        else:
            draft = self._base(of)
        return self._described(of, draft, optional=optional, version=version)

    def _referred(self, of: JsonType, *, optional: bool, version: int | None) -> Schema:
        target = of.target
        with _within(self._around, target, of.name):
            return self.schema(target, optional=optional, version=version)

    def _base(self, of: JsonType) -> _Draft:
        kind = of.attributes.get(names.CONNECT_TYPE)
        match of.kind:
            case "boolean":
                return _Draft(Type.BOOLEAN)
            case "integer" | "number":
                named = kind if kind is not None else "int64" if of.kind == "integer" else "float64"
                if named not in _NUMBERS:
                    raise DataError(
                        f"{_CANNOT}: {names.CONNECT_TYPE} of a number is {named!r}, which is not one of "
                        f"{', '.join(_NUMBERS)}; correct the schema"
                    )
                return _Draft(_NUMBERS[named])
            case "string":
                return _Draft(Type.BYTES if kind == "bytes" else Type.STRING)
            case "enum" | "const":
                return _Draft(Type.STRING, parameters=self._symbols(of.symbols))
            case "array":
                return self._array(of, is_map=kind == "map")
            case "object" if kind == "map":
                if of.additional is None:
                    raise DataError(f"{_CANNOT}: a map has no schema for its values (additionalProperties); add one")
                return _Draft(Type.MAP, keys=STRING, values=self.schema(of.additional))
            case "object":
                return _Draft(Type.STRUCT, fields=self._fields(_in_order(of.fields.items()), of.required))
            case "anything":
                raise DataError(
                    f"{_CANNOT}: a part of it ({{}} or true) allows any value, and Connect has no such schema; add a type"
                )
            case _:
                raise DataError(
                    f"{_CANNOT}: '{of.kind}' on its own has no counterpart in Connect; give the schema a type"
                )

    def _array(self, of: JsonType, *, is_map: bool) -> _Draft:
        if of.items is None:
            raise DataError(f"{_CANNOT}: an array has no schema for its elements (items); add one")
        if not is_map or of.items.kind != "object":
            return _Draft(Type.ARRAY, items=self.schema(of.items))
        entry = of.items.fields
        if names.KEY not in entry or names.VALUE not in entry:
            raise DataError(
                f"{_CANNOT}: the entries of a map have no schema for '{names.KEY}' or '{names.VALUE}'; add one"
            )
        return _Draft(Type.MAP, keys=self.schema(entry[names.KEY]), values=self.schema(entry[names.VALUE]))

    def _fields(self, of: Iterable[tuple[str, JsonType]], required: frozenset[str]) -> tuple[Field, ...]:
        fields = []
        for name, each in of:
            optional = self._settings.optional_unless_required and name not in required
            fields.append(Field(name, self.schema(each, optional=optional)))
        return tuple(fields)

    def _symbols(self, values: Sequence[Any]) -> dict[str, str]:
        parameter = names.enum_parameter(self._settings)
        found = {parameter: ""}
        for number, value in enumerate(values):
            symbol = _symbol(value)
            found[f"{parameter}.{symbol}"] = str(number) if self._settings.generalized else symbol
        return found

    def _union(self, of: JsonType, number: int) -> _Draft:
        name = names.union_name(number, self._settings)
        draft = _Draft(Type.STRUCT, name, parameters=names.union_parameter(name, self._settings))
        fields: list[Field] = []
        for branch in of.branches:
            if branch.kind == "null":
                draft.optional = True
            else:
                member = names.member_name(len(fields), self._settings)
                fields.append(Field(member, self.schema(branch, optional=True)))
        draft.fields = tuple(fields)
        return draft

    def _all_of(self, of: JsonType, *, optional: bool, version: int | None) -> Schema:
        """Return the schema of `allOf`: a struct with the properties of all branches, else that of the dominant branch."""
        fields: dict[str, JsonType] = {}
        required: dict[str, bool] = {}
        for branch in of.branches:
            _collect(branch, fields, required, [])
        if fields:
            needed = frozenset(name for name, is_required in required.items() if is_required)
            return Schema(Type.STRUCT, optional=optional, fields=self._fields(fields.items(), needed))
        last = {_family(branch): branch for branch in of.branches}
        chosen = _dominant_type(last)
        if chosen is None:
            kinds = ", ".join(branch.kind for branch in of.branches)
            raise DataError(
                f"{_CANNOT}: a combination of {kinds} has no counterpart in Connect; give the schema one type"
            )
        return self.schema(chosen, optional=optional, version=version)

    def _described(self, of: JsonType, draft: _Draft, *, optional: bool, version: int | None) -> Schema:
        attributes = of.attributes
        named = attributes.get(names.CONNECT_VERSION)
        parameters = attributes.get(names.CONNECT_PARAMETERS)
        if isinstance(parameters, dict):
            draft.parameters.update({name: str(text) for name, text in parameters.items()})
        schema = Schema(
            draft.type,
            optional=draft.optional,
            name=draft.name if draft.name is not None else of.title,
            version=named if isinstance(named, int) else version,
            doc=of.description,
            parameters=draft.parameters or None,
            items=draft.items,
            keys=draft.keys,
            values=draft.values,
            fields=draft.fields,
        )
        check_logical(schema)
        if of.default is not NOTHING and of.default is not None:
            with suppress(Misfit):  # an invalid default has no effect
                schema = replace(schema, default=decoder(schema, self._settings)(of.default))
        return schema.as_optional() if optional else schema


@contextmanager
def _within(around: list[JsonType], of: JsonType, name: str) -> Iterator[None]:
    """Reject a type that contains itself."""
    if of in around:
        raise DataError(
            f"{_CANNOT}: the definition {name} contains itself, but schemas of Kafka Connect cannot be recursive; "
            "read the records as bytes (ByteArrayConverter), or change the schema"
        )
    around.append(of)
    yield
    around.pop()


def _in_order(fields: Iterable[tuple[str, JsonType]]) -> list[tuple[str, JsonType]]:
    """Return fields in the order of `connect.index`; its default is the position of the field."""
    placed = []
    for place, (name, of) in enumerate(fields):
        index = of.attributes.get(names.CONNECT_INDEX)
        placed.append((index if isinstance(index, int) else place, place, name, of))
    return [(name, of) for _, _, name, of in sorted(placed, key=lambda each: each[:2])]


def _symbol(value: Any) -> str:
    if value is None:
        return names.NULL_SYMBOL
    return str(value).lower() if isinstance(value, bool) else str(value)


def _collect(of: JsonType, fields: dict[str, JsonType], required: dict[str, bool], seen: list[JsonType]) -> None:
    """Add the properties of a type and of those that it combines or refers to."""
    if of in seen:
        return
    seen.append(of)
    match of.kind:
        case "allOf":
            for branch in of.branches:
                _collect(branch, fields, required, seen)
        case "object":
            fields.update(of.fields)
            required.update({name: name in of.required for name in of.fields})
        case "reference":
            _collect(of.target, fields, required, seen)
        case _:
            pass


def _family(of: JsonType) -> str:
    match of.kind:
        case "integer" | "number":
            return "number"
        case "allOf" | "anyOf" | "oneOf":
            return "combination"
        case kind:
            return kind


def _dominant_type(of: dict[str, JsonType]) -> JsonType | None:
    """Return the branch of `allOf` that determines Connect's type if no branch has properties; None if there is none.

    Args:
        of: the last branch of each family of types.
    """
    text, number = of.get("string"), of.get("number")
    if "combination" in of:
        return of["combination"]
    if "const" in of:
        return text or number
    if "enum" in of:
        return of["enum"] if text is not None else number
    if text is not None:
        return number or text
    return of.get("reference")
