"""The status of a PluginVersion: whether Connectors may use it, and which run it. Pure.

Whether the image can be pulled, and holds what is declared, is seen by the pods that plan a Connector with it.
"""

from collections.abc import Collection, Mapping
from typing import Any

from penstock.errors import ConfigError
from penstock_model.resources.plugin_resolution import offer_of
from penstock_operator.connector.model.verdict import Kind, Verdict
from penstock_operator.reasons import Reason
from penstock_operator.resource_status import MOST_NAMES, resource_status

__all__ = ["plugin_version_status"]


def plugin_version_status(
    document: Mapping[str, Any], connectors: Collection[str], now: float
) -> dict[str, Any] | None:
    """The status of a PluginVersion; None: it has this status already.

    Args:
        document: the resource.
        connectors: names of the Connectors that run it.
        now: seconds since 1970.
    """
    return resource_status(document, _verdict(document), now, usedBy=sorted(connectors)[:MOST_NAMES])


def _verdict(document: Mapping[str, Any]) -> Verdict:
    try:
        offer_of(document)
    except ConfigError as e:
        return Verdict(Kind.STALLED, Reason.PLUGIN_VERSION_INVALID, "; ".join(map(str, e.problems)))
    return Verdict(Kind.READY, Reason.ACCEPTED, "it is well-formed; a pod looks into the image before tasks run it")
