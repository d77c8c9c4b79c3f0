"""Names of plugins in configurations: the rules that operator and runtime share. Pure.

Kafka Connect lets users omit the end of a class's name: `FileStreamSource` for `FileStreamSourceConnector`.
"""

from collections.abc import Collection, Mapping
from typing import Final, Literal, TypeAlias

__all__ = [
    "BUILT_INS",
    "CONNECTOR_ENDING",
    "ENDINGS",
    "PluginKind",
    "aliases",
    "is_built_in",
    "kinds_of_one_name",
]

PluginKind: TypeAlias = Literal["connector", "converter", "headerConverter", "transform", "predicate"]

CONNECTOR_ENDING: Final = "Connector"
ENDINGS: Final[Mapping[PluginKind, tuple[str, ...]]] = {
    "connector": (CONNECTOR_ENDING,),
    "converter": ("Converter",),
    "headerConverter": ("HeaderConverter", "Converter"),
    "transform": ("Transformation",),
    "predicate": ("Predicate",),
}
"""Endings of class names that may be omitted, in order of precedence."""

_OWN_PACKAGE: Final = "penstock_plugins."
"""Package of the built-in plugins, which may also be named by module path."""
_KAFKA: Final = "org.apache.kafka.connect"
_NUMBERS: Final = ("Boolean", "Double", "Float", "Integer", "Long", "Short")
_TRANSFORMS: Final = (
    "Cast",
    "DropHeaders",
    "ExtractField",
    "Filter",
    "Flatten",
    "HeaderFrom",
    "HoistField",
    "InsertField",
    "InsertHeader",
    "MaskField",
    "RegexRouter",
    "ReplaceField",
    "SetSchemaMetadata",
    "TimestampConverter",
    "TimestampRouter",
    "ValueToKey",
)
_CONVERTERS: Final = {
    "ByteArray": f"{_KAFKA}.converters.ByteArrayConverter",
    "Json": f"{_KAFKA}.json.JsonConverter",
    "String": f"{_KAFKA}.storage.StringConverter",
    **{n: f"{_KAFKA}.converters.{n}Converter" for n in _NUMBERS},
}
BUILT_INS: Final[Mapping[PluginKind, Mapping[str, Collection[str]]]] = {
    "connector": {
        "Datagen": (),
        "FileStreamSink": (f"{_KAFKA}.file.FileStreamSinkConnector",),
        "FileStreamSource": (f"{_KAFKA}.file.FileStreamSourceConnector",),
        "SparkDataSource": (),
        "SparkSink": (),
    },
    "converter": {f"{n}Converter": (java,) for n, java in _CONVERTERS.items()},
    "headerConverter": {
        "SimpleHeaderConverter": (f"{_KAFKA}.storage.SimpleHeaderConverter",),
        **{f"{n}Headers": (java,) for n, java in _CONVERTERS.items()},
    },
    "transform": {
        **{n: (f"{_KAFKA}.transforms.{n}",) for n in _TRANSFORMS},
        "ExtractNewRecordState": ("io.debezium.transforms.ExtractNewRecordState",),
    },
    "predicate": {
        n: (f"{_KAFKA}.transforms.predicates.{n}",) for n in ("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches")
    },
}
"""Java names of the built-in plugins, by kind and alias. They have the release's version, and no image may provide
classes with these names."""


def aliases(name: str, endings: Collection[str], *, of_connector: bool = False) -> frozenset[str]:
    """Return the aliases that a name may mean, including itself.

    Args:
        name: name in a configuration, without surrounding blanks and without `$Key` or `$Value`.
        endings: endings that may be omitted, in order of precedence.
        of_connector: whether it names a connector, whose ending may be present even if the alias has none.
    """
    ordered = tuple(endings)
    longer = ((name + e, ordered[:n]) for n, e in enumerate(ordered))
    found = {name, *(alias for alias, before in longer if not before or not alias.endswith(before))}
    if of_connector:
        found.add(name.removesuffix(CONNECTOR_ENDING))
    return frozenset(found)


def kinds_of_one_name(kind: PluginKind) -> tuple[PluginKind, ...]:
    """Return the kinds of plugins to which a name of this kind may refer.

    A converter and a header converter may share a name, because in Kafka Connect one class can be both.
    """
    return ("converter", "headerConverter") if kind in ("converter", "headerConverter") else (kind,)


def is_built_in(kind: PluginKind, name: str) -> bool:
    """Return whether the name refers to a built-in plugin where a plugin of this kind is required."""
    return name.startswith(_OWN_PACKAGE) or any(
        name in java or alias in aliases(name, ENDINGS[k], of_connector=k == "connector")
        for k in kinds_of_one_name(kind)
        for alias, java in BUILT_INS[k].items()
    )
