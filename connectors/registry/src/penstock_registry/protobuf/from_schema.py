"""Protobuf schemas for Connect's schemas, as Confluent's ProtobufData makes them."""

from typing import Final

from penstock import DataError, Schema, Type
from penstock.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME
from penstock_registry.protobuf import names
from penstock_registry.protobuf.paths import inside
from penstock_registry.protobuf.settings import ProtobufSettings
from penstock_registry.protobuf.text import EnumText, FieldText, FileText, MessageText, OneofText

__all__ = ["message_name", "proto_text"]

FIRST: Final = f"{names.DEFAULT_NAME}1"
"""Name of the message for a struct without a name."""

_PRIMITIVES: Final = {
    Type.INT8: "int32",
    Type.INT16: "int32",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "bool",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_LOGICAL: Final = {
    DECIMAL_NAME: names.DECIMAL,
    DATE_NAME: names.DATE,
    TIME_NAME: names.TIME,
    TIMESTAMP_NAME: names.TIMESTAMP,
}
_IMPORTS: Final = {
    names.DECIMAL: "confluent/type/decimal.proto",
    names.DATE: "google/type/date.proto",
    names.TIME: "google/type/timeofday.proto",
    names.TIMESTAMP: "google/protobuf/timestamp.proto",
    **dict.fromkeys(names.WRAPPERS.values(), "google/protobuf/wrappers.proto"),
}
_WRAPPED: Final = {"sint32": "int32", "sfixed32": "int32", "fixed32": "uint32", "fixed64": "uint64"}
"""Value of the wrapper message for types without their own wrapper; int64 for the other types of int64."""
_NUMBERS: Final = {
    Type.INT32: ("int32", "sint32", "sfixed32"),
    Type.INT64: ("int64", "sint64", "sfixed64", "uint32", "fixed32", "uint64", "fixed64"),
}
_WRAPPERS_OPTIONS: Final = (
    ("java_package", '"com.google.protobuf"'),
    ("java_outer_classname", '"WrappersProto"'),
    ("java_multiple_files", "true"),
    ("go_package", '"google.golang.org/protobuf/types/known/wrapperspb"'),
    ("cc_enable_arenas", "true"),
    ("objc_class_prefix", '"GPB"'),
    ("csharp_namespace", '"Google.Protobuf.WellKnownTypes"'),
)


def message_name(schema: Schema, settings: ProtobufSettings) -> str:
    """Return the full name of the message for a schema that `proto_text` accepts."""
    primitive = _PRIMITIVES.get(schema.type)
    if primitive is not None:
        return names.WRAPPERS[primitive]
    return ".".join(names.checked(part, scrub=settings.scrub) for part in (schema.name or FIRST).split("."))


def proto_text(schema: Schema, settings: ProtobufSettings) -> str:
    """Return the text of the .proto file for a schema.

    Raises:
        DataError: Protobuf has no type for the schema, or a name is not valid.
    """
    try:
        if schema.type is Type.STRUCT and not names.is_union(schema):
            return _Writer(settings).file(schema)
        if schema.type in _PRIMITIVES and schema.name not in _LOGICAL:
            return _wrappers_text()
    except DataError as e:
        raise DataError(f"cannot write a schema as Protobuf: {e}") from None
    raise DataError(
        f"cannot write {schema.name or f'the type {schema.type}'} as a whole message in Protobuf, only as a field; put it "
        "into a struct, for example with the transform HoistField"
    )


def _wrappers_text() -> str:
    """Return the text of google/protobuf/wrappers.proto."""
    messages = [
        MessageText(name.rpartition(".")[2], [FieldText("value", kind, 1)]) for kind, name in names.WRAPPERS.items()
    ]
    return str(FileText("google.protobuf", options=_WRAPPERS_OPTIONS, messages=messages))


class _Writer:
    def __init__(self, settings: ProtobufSettings) -> None:
        self._settings = settings
        self._unnamed = 0
        self._imports: list[str] = []
        self._defined: dict[int, dict[str, Schema]] = {}

    def file(self, schema: Schema) -> str:
        self._unnamed = 0 if schema.name else 1
        package, _, name = message_name(schema, self._settings).rpartition(".")
        message = self._message(name, schema)
        return str(FileText(package or None, self._imports, messages=[message]))

    def _checked(self, name: str) -> str:
        return names.checked(name, scrub=self._settings.scrub)

    def _name(self, name: str | None) -> str:
        if name:
            return name
        self._unnamed += 1
        return f"{names.DEFAULT_NAME}{self._unnamed}"

    def _simple_name(self, name: str | None) -> str:
        return self._checked(self._name(name).rpartition(".")[2])

    def _message(self, name: str, schema: Schema) -> MessageText:
        message = MessageText(name)
        self._defined[id(message)] = {name: schema}
        following = 1
        for field in schema.fields:
            tag = (field.schema.parameters or {}).get(names.TAG)
            if tag is None:
                number, following = following, following + 1
            else:
                number = _number(tag, f"{names.TAG} of the field '{field.name}'")
            try:
                if names.is_union(field.schema):
                    message.oneofs.append(self._oneof(message, field.schema))
                else:
                    message.fields.append(self._field(message, field.schema, self._checked(field.name), number))
            except DataError as e:
                raise inside(field.name, e) from None
        _check_numbers(message)
        return message

    def _oneof(self, message: MessageText, union: Schema) -> OneofText:
        fields = []
        for field in union.fields:
            tag = (field.schema.parameters or {}).get(names.TAG)
            if tag is None:
                raise DataError(
                    f"the field '{field.name}' of a oneof has no number; set the parameter {names.TAG} of its schema"
                )
            number = _number(tag, f"{names.TAG} of the field '{field.name}'")
            made = self._field(message, field.schema, self._checked(field.name), number, in_oneof=True)
            if made.label is not None:
                raise DataError(
                    f"the field '{field.name}' of a oneof is an {field.schema.type}, which Protobuf does not allow"
                )
            fields.append(made)
        name = (union.name or "").removeprefix(names.UNION).removeprefix(".")
        return OneofText(self._simple_name(name), tuple(fields))

    def _field(
        self, message: MessageText, schema: Schema, name: str, number: int, *, in_oneof: bool = False
    ) -> FieldText:
        label = self._label(schema, in_oneof=in_oneof)
        if schema.type is Type.ARRAY and schema.items is not None:
            schema = schema.items
            if schema.type in (Type.ARRAY, Type.MAP) or names.is_union(schema):
                raise DataError(f"an array of {schema.type} has no type in Protobuf: put it into a struct")
        kind = self._type(message, schema, name, in_oneof=in_oneof)
        return FieldText(name, kind, number, label, _parameters(schema))

    def _label(self, schema: Schema, *, in_oneof: bool) -> str | None:
        if schema.type in (Type.ARRAY, Type.MAP):
            return "repeated"
        return "optional" if self._settings.optional_fields and schema.optional and not in_oneof else None

    def _type(self, message: MessageText, schema: Schema, name: str, *, in_oneof: bool) -> str:
        """Return the type of a field. A type that is not one of Protobuf's is defined in the message."""
        logical = _LOGICAL.get(schema.name or "")
        if logical is not None:
            return self._imported(logical)
        if schema.type is Type.STRUCT:
            return self._struct(message, schema, name)
        if schema.type is Type.MAP:
            return self._map(message, schema)
        enum = names.enum_of(schema)
        if enum is not None:
            self._enum(message, schema, enum)
            return self._checked(enum)
        return self._primitive(schema, in_oneof=in_oneof)

    def _primitive(self, schema: Schema, *, in_oneof: bool) -> str:
        kind = (schema.parameters or {}).get(names.TYPE, "")
        if kind not in _NUMBERS.get(schema.type, ()):
            kind = _PRIMITIVES[schema.type]
        is_wrapper = names.WRAPPER in (schema.parameters or {}) if in_oneof else True
        if not (self._settings.wrapper_fields and schema.optional and is_wrapper):
            return kind
        of = kind if kind in names.WRAPPERS else _WRAPPED.get(kind, "int64")
        return self._imported(names.WRAPPERS[of])

    def _imported(self, name: str) -> str:
        path = _IMPORTS[name]
        if path not in self._imports:
            self._imports.append(path)
        return name

    def _struct(self, message: MessageText, schema: Schema, field: str) -> str:
        name = self._simple_name(schema.name)
        if name == field:  # a message and a field of one message cannot have the same name
            name += "Message"
        if self._is_new(message, name, schema):
            message.messages.append(self._message(name, schema))
        return name

    def _map(self, message: MessageText, schema: Schema) -> str:
        keys, values = schema.keys, schema.values
        if keys is None or values is None:
            raise DataError("a map without schemas for its keys and values has no type in Protobuf")
        if names.is_union(keys) or names.is_union(values):
            raise DataError("a map of oneofs has no type in Protobuf: put them into structs")
        name = names.map_entry(self._simple_name(schema.name))
        if self._is_new(message, name, schema):
            entry = MessageText(name)
            self._defined[id(entry)] = {}
            entry.fields = [self._field(entry, keys, "key", 1), self._field(entry, values, "value", 2)]
            message.messages.append(entry)
        return name

    def _enum(self, message: MessageText, schema: Schema, enum: str) -> None:
        name = self._simple_name(schema.name or enum)
        if self._is_new(message, name, schema):
            start = f"{names.ENUM}."
            symbols = [
                (symbol.removeprefix(start), _number(number, symbol))
                for symbol, number in (schema.parameters or {}).items()
                if symbol.startswith(start)
            ]
            message.enums.append(EnumText(name, tuple(symbols)))

    def _is_new(self, message: MessageText, name: str, schema: Schema) -> bool:
        """Return whether a type must still be defined in a message.

        Raises:
            DataError: a different type has this name.
        """
        defined = self._defined[id(message)]
        known = defined.get(name)
        if known is None:
            defined[name] = schema
            return True
        if _shape(known) != _shape(schema):
            raise DataError(
                f"two different types have the name {name}; give one of them another name, for example with the transform "
                "SetSchemaMetadata"
            )
        return False


def _shape(schema: Schema) -> object:
    """Return the parts of a schema that determine the definition of its type."""
    symbols = {n: v for n, v in (schema.parameters or {}).items() if n.startswith(names.ENUM)}
    return schema.type, schema.fields, schema.keys, schema.values, symbols


def _parameters(schema: Schema) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a field in Protobuf, from which its schema can be restored."""
    if schema.name == DECIMAL_NAME:
        given = schema.parameters or {}
        found = ((names.PRECISION, given.get(names.CONNECT_PRECISION)), (names.SCALE, given.get(names.SCALE)))
        return tuple((name, _plain(value, name)) for name, value in found if value is not None)
    if schema.type in (Type.INT8, Type.INT16) and schema.name not in _LOGICAL:
        return ((names.CONNECT_TYPE, schema.type.value),)
    return ()


def _plain(value: str, name: str) -> str:
    return str(_number(value, name))


def _number(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataError(f"the parameter {name} is not a number") from None


def _check_numbers(message: MessageText) -> None:
    """Reject a message in which two fields have the same number, with a clearer error than the compiler's."""
    taken: dict[int, str] = {}
    for field in (*message.fields, *(f for oneof in message.oneofs for f in oneof.fields)):
        other = taken.setdefault(field.number, field.name)
        if other != field.name:
            raise DataError(
                f"the fields '{other}' and '{field.name}' of {message.name} have the same number {field.number}: the "
                f"parameter {names.TAG} is set for some fields of a struct only; set it for all, or for none"
            )
