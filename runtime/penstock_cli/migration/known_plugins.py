"""Classes that a Kafka Connect lists: `GET /connector-plugins?connectorsOnly=false`, and Strimzi's status. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from penstock_model.connect.plugin_names import ENDINGS, PluginKind, aliases, kinds_of_one_name
from penstock_model.connect.versions import Version

__all__ = ["KnownPlugin", "KnownPlugins", "known_plugins"]

_TYPES: Final[Mapping[str, PluginKind]] = {
    "source": "connector",
    "sink": "connector",
    "transformation": "transform",
    "predicate": "predicate",
    "converter": "converter",
    "header_converter": "headerConverter",
}


@dataclass(frozen=True)
class KnownPlugin:
    """Known class; `version` may be empty."""

    class_name: str
    kind: PluginKind
    version: str


def known_plugins(rows: object) -> tuple[KnownPlugin, ...]:
    """Return the classes in a response, or in a status; other rows are skipped."""
    if not isinstance(rows, list):
        return ()
    return tuple(
        KnownPlugin(str(r["class"]), _TYPES[r["type"]], str(version) if (version := r.get("version")) else "")
        for r in rows
        if isinstance(r, Mapping) and r.get("type") in _TYPES and r.get("class")
    )


class KnownPlugins:
    """Plugins of a Kafka Connect cluster."""

    def __init__(self, plugins: Iterable[KnownPlugin]) -> None:
        self._plugins = tuple(plugins)

    def full_name(self, kind: PluginKind, name: str) -> str:
        """Return the class that a short name means there; the name itself if it matches no class or several."""
        kinds, meant = kinds_of_one_name(kind), aliases(name, ENDINGS[kind], of_connector=kind == "connector")
        named = {p.class_name for p in self._plugins if p.kind in kinds and p.class_name.rpartition(".")[2] in meant}
        return name if "." in name or len(named) != 1 else named.pop()

    def version(self, class_name: str) -> str:
        """Return the newest version of a class, which runs unless another one is configured; empty if unknown."""
        found = [p.version for p in self._plugins if p.class_name == class_name and p.version not in ("", "undefined")]
        return max(found, key=Version, default="")
