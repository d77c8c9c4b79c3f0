"""Names by which configurations name plugins: the rules that operator and runtime share. Pure.

Kafka Connect lets users leave out the end of a class's name: `FileStreamSource` for `FileStreamSourceConnector`.
"""

from collections.abc import Collection, Mapping
from typing import Final

__all__ = ["BUILT_IN_CONNECTORS", "CONNECTOR_ENDING", "aliases", "is_built_in_connector"]

CONNECTOR_ENDING: Final = "Connector"
BUILT_IN_CONNECTORS: Final[Mapping[str, Collection[str]]] = {
    "Datagen": (),
    "FileStreamSink": ("org.apache.kafka.connect.file.FileStreamSinkConnector",),
    "FileStreamSource": ("org.apache.kafka.connect.file.FileStreamSourceConnector",),
    "SparkDataSource": (),
    "SparkSink": (),
}
"""Their Java names, by alias. They have the release's version, and no image may offer classes of these names."""


def aliases(name: str, endings: Collection[str], *, of_connector: bool = False) -> frozenset[str]:
    """The aliases that a name may mean, itself among them.

    Args:
        name: as a configuration has it, without blanks around it and without `$Key` or `$Value`.
        endings: what may be left out at the end, in the order of precedence.
        of_connector: whether a connector is named, whose ending may also be there where the alias has none.
    """
    ordered = tuple(endings)
    longer = ((name + e, ordered[:n]) for n, e in enumerate(ordered))
    found = {name, *(alias for alias, before in longer if not before or not alias.endswith(before))}
    if of_connector:
        found.add(name.removesuffix(CONNECTOR_ENDING))
    return frozenset(found)


def is_built_in_connector(name: str) -> bool:
    """Whether a built-in connector goes by that name."""
    possible = aliases(name, (CONNECTOR_ENDING,), of_connector=True)
    return any(alias in possible or name in java for alias, java in BUILT_IN_CONNECTORS.items())
