"""Which PluginVersion a Connector runs (KIP-891): resolved once, and kept for as long as nobody asks for another. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from penstock_java.property_text import trimmed
from penstock_model.connect.plugin_names import is_built_in_connector
from penstock_model.resources.connector import Connector
from penstock_model.resources.plugin_resolution import class_names, mount_of, offered, resolve_connector
from penstock_operator.connector.model.plans import Plan, PluginRequest
from penstock_operator.connector.model.resolutions import OWN_PLUGIN, PluginResolution

__all__ = ["known_resolution", "plugin_request", "resolve"]


def plugin_request(connector: Connector) -> PluginRequest:
    """What a resolution rests on, beside the PluginVersions that there are."""
    return trimmed(connector.spec.class_name), connector.spec.version


def known_resolution(connector: Connector, last: Plan | None, restarted: str) -> PluginResolution | None:
    """What is known without a look at the PluginVersions; None: they must be looked at.

    Neither a newer version nor a deleted one changes what a Connector runs, until its class, its version or
    `penstock.dev/restart` asks anew.

    Args:
        connector: the resource.
        last: the plan that its tasks are made from.
        restarted: the last token that asked for a restart of the connector.
    """
    if last is not None and last.restarted == restarted and last.plugin_request == plugin_request(connector):
        return PluginResolution(last.mounts)
    return OWN_PLUGIN if is_built_in_connector(trimmed(connector.spec.class_name)) else None


def resolve(connector: Connector, found: Iterable[Mapping[str, Any]], last: Plan | None) -> PluginResolution:
    """What the PluginVersions of the namespace come to for a Connector.

    Args:
        connector: the resource.
        found: the PluginVersions.
        last: the plan that its tasks are made from.
    """
    name = trimmed(connector.spec.class_name)
    offers = offered(d for d in found if name in class_names(d.get("spec")))
    resolved = resolve_connector(name, connector.spec.version, offers)
    if resolved.offer is not None:
        return PluginResolution((mount_of(resolved.offer, 0),))
    kept = last.mounts if last is not None and last.plugin_request[0] == name else ()
    if resolved.problems:
        return PluginResolution(kept, tuple(map(str, resolved.problems)), resolved.is_missing)
    if kept:  # not the runtime's own plugin of that name, which nobody asked for
        told = (
            f"spec.class: no PluginVersion of this namespace offers {name} any more; create one again (version "
            f"{kept[0].version} came from {kept[0].name})"
        )
        return PluginResolution(kept, (told,), is_missing=True)
    return OWN_PLUGIN
