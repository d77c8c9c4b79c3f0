"""PluginVersions, and the Connectors that use them. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from penstock_model.resources.topic_policy_selection import name_of
from penstock_web.console.health import Tone, condition

__all__ = ["PluginClass", "PluginView", "plugin_views"]


class PluginClass(NamedTuple):
    """Class of a PluginVersion or of the runtime image."""

    name: str
    type: str
    version: str


class PluginView(NamedTuple):
    """One PluginVersion, or the plugins of the runtime image that Connectors use (`name` is empty)."""

    namespace: str
    name: str
    plugin: str
    version: str
    runtime: str
    image: str
    tone: Tone
    state: str
    message: str
    classes: Sequence[PluginClass]
    users: Sequence[str]


def plugin_views(
    plugin_versions: Sequence[Mapping[str, Any]], connectors: Sequence[Mapping[str, Any]]
) -> list[PluginView]:
    """Return all PluginVersions by namespace and name, then the connector classes of the runtime image that are used."""
    users: dict[tuple[str, str], set[str]] = {}
    built_in: dict[tuple[str, str, str], set[str]] = {}
    for connector in connectors:
        own, status = connector["metadata"], connector.get("status") or {}
        namespace, name = str(own.get("namespace") or ""), str(own.get("name") or "")
        for used in status.get("pluginVersions") or ():
            users.setdefault((namespace, str(used)), set()).add(name)
        plugin = status.get("connector") or {}
        if plugin.get("class") and not plugin.get("pluginVersion"):
            key = (str(plugin["class"]), str(plugin.get("type") or ""), str(plugin.get("version") or ""))
            built_in.setdefault(key, set()).add(f"{namespace}/{name}")
    views = [_view(document, users) for document in plugin_versions]
    views.sort(key=lambda view: (view.namespace, view.name))
    return views + [
        PluginView("", "", name.rpartition(".")[2], version, "", "", Tone.GOOD, "Built in", "",
                   [PluginClass(name, kind, version)], sorted(names))
        for (name, kind, version), names in sorted(built_in.items())
    ]  # fmt: skip


def _view(document: Mapping[str, Any], users: Mapping[tuple[str, str], set[str]]) -> PluginView:
    spec, status = document.get("spec") or {}, document.get("status") or {}
    namespace, name = str(document["metadata"].get("namespace") or ""), name_of(document)
    ready = condition(status, "Ready")
    is_ready = ready.get("status") == "True"
    published = status.get("classes") or ()
    version = str(spec.get("version") or "")
    declared = spec.get("classes") or ()
    classes = (
        [PluginClass(str(c.get("class")), str(c.get("type")), str(c.get("version") or "")) for c in published]
        if published
        else [PluginClass(str(c.get("alias")), str(c.get("type")), version) for c in declared]
    )
    reason = str(ready.get("reason") or "Verifying")
    return PluginView(
        namespace=namespace,
        name=name,
        plugin=str(spec.get("plugin") or name),
        version=version,
        runtime=str(spec.get("runtime") or "Python"),
        image=str(spec.get("image") or ""),
        tone=Tone.GOOD if is_ready else Tone.BUSY if reason == "Verifying" else Tone.BAD,
        state=reason,
        message="" if is_ready else str(ready.get("message") or ""),
        classes=classes,
        users=sorted(f"{namespace}/{user}" for user in users.get((namespace, name), ())),
    )
