"""Which PluginVersion a Connector runs (KIP-891): resolved once, and kept for as long as nobody asks for another. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock_java.property_text import trimmed
from penstock_model.connect.plugin_names import is_built_in_connector
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources.connector import Connector
from penstock_model.resources.plugin_resolution import mount_of, offered, resolve_connector
from penstock_operator.connector.plans import Plan, PluginRequest

__all__ = ["OWN_PLUGIN", "PluginResolution", "known_resolution", "plugin_request", "resolve"]


@dataclass(frozen=True, slots=True)
class PluginResolution:
    """What class and version of a Connector come to.

    Attributes:
        mounts: the images that its pods mount, the connector's first; empty: the plugin is the runtime's own.
        problems: why none can be chosen. The mounts are those of the last plan then, where they are of the same class.
        is_missing: a PluginVersion is not there, which may still come.
    """

    mounts: tuple[PluginMount, ...] = ()
    problems: tuple[str, ...] = ()
    is_missing: bool = False


OWN_PLUGIN: Final = PluginResolution()


def plugin_request(connector: Connector) -> PluginRequest:
    """What a resolution rests on, beside the PluginVersions that there are."""
    return trimmed(connector.spec.class_name), connector.spec.version


def known_resolution(
    connector: Connector, last: Plan | None, restarted: str, unmounted_inputs: str
) -> PluginResolution | None:
    """What is known without a look at the PluginVersions; None: they must be looked at.

    Neither a newer version nor a deleted one changes what a Connector runs, until its class, its version or
    `penstock.dev/restart` asks anew.

    Args:
        connector: the resource.
        last: the plan that its tasks are made from.
        restarted: the last token that asked for a restart of the connector.
        unmounted_inputs: the hash of the plan's inputs without any mount: plans of a release that resolved nothing have it.
    """
    if is_built_in_connector(trimmed(connector.spec.class_name)):
        return OWN_PLUGIN
    if last is None:
        return None
    if last.plugin_request is None:
        return OWN_PLUGIN if last.inputs_hash == unmounted_inputs else None
    is_same = (last.plugin_request, last.restarted) == (plugin_request(connector), restarted)
    return PluginResolution(last.mounts) if is_same else None


def resolve(connector: Connector, found: Iterable[Mapping[str, Any]], last: Plan | None) -> PluginResolution:
    """What the PluginVersions of the namespace come to for a Connector.

    Args:
        connector: the resource.
        found: the PluginVersions.
        last: the plan that its tasks are made from.
    """
    resolved = resolve_connector(connector.spec.class_name, connector.spec.version, offered(found))
    if resolved.problems:
        request = plugin_request(connector)
        is_of_class = last is not None and last.plugin_request is not None and last.plugin_request[0] == request[0]
        kept = last.mounts if last is not None and is_of_class else ()
        return PluginResolution(kept, tuple(map(str, resolved.problems)), resolved.is_missing)
    return OWN_PLUGIN if resolved.offer is None else PluginResolution((mount_of(resolved.offer, 0),))
