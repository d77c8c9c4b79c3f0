"""The status of a PluginVersion: whether Connectors may use it, and which run it. Pure.

Whether the image can be pulled, and holds what is declared, is seen by the pods that plan a Connector with it.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from penstock.errors import ConfigError
from penstock_model.resources.plugin_resolution import refused_plugin_fields
from penstock_model.resources.plugin_version import PluginVersion
from penstock_operator.connector.render.conditions import Kind, Verdict, undecided_conditions
from penstock_operator.reasons import Reason

__all__ = ["plugin_version_status"]

_MOST_NAMES: Final = 100


def plugin_version_status(
    document: Mapping[str, Any], connectors: Collection[str], now: float
) -> dict[str, Any] | None:
    """The status of a PluginVersion; None: it has this status already.

    Args:
        document: the resource.
        connectors: names of the Connectors that run it.
        now: seconds since 1970.
    """
    generation, there = document["metadata"]["generation"], document.get("status") or {}
    before = [c for c in there.get("conditions") or () if isinstance(c, Mapping) and "type" in c]
    found = {
        "observedGeneration": generation,
        "conditions": undecided_conditions(before, _verdict(document), generation, now),
        "usedBy": sorted(connectors)[:_MOST_NAMES],
    }
    return None if found == {name: there.get(name) for name in found} else found


def _verdict(document: Mapping[str, Any]) -> Verdict:
    try:
        plugin = PluginVersion.read({k: v for k, v in document.items() if k != "status"})
        if problems := [*refused_plugin_fields(plugin.spec)]:
            raise ConfigError(problems)
    except ConfigError as e:
        return Verdict(Kind.STALLED, Reason.PLUGIN_VERSION_INVALID, "; ".join(map(str, e.problems)))
    return Verdict(Kind.READY, Reason.ACCEPTED, "it is well-formed; a pod looks into the image before tasks run it")
