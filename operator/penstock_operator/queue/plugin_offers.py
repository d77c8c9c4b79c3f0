"""What the PluginVersions of all namespaces offer, as the watch saw them last. Pure, and a hint only.

What a Connector runs is resolved from what is read from the API server; this tells of newer versions, at no request.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources.plugin_offers import offered

__all__ = ["PluginOffers"]


class PluginOffers:
    """The offers by namespace. Used in one thread."""

    def __init__(self) -> None:
        self._offers: defaultdict[str, dict[str, PluginMount]] = defaultdict(dict)
        self._is_complete = False

    def seen(self, document: Mapping[str, Any]) -> None:
        """Add or replace a PluginVersion."""
        metadata = document["metadata"]
        self.gone(document)
        for offer in offered([document]):
            self._offers[metadata["namespace"]][metadata["name"]] = offer

    def gone(self, document: Mapping[str, Any]) -> None:
        """Remove a PluginVersion."""
        metadata = document["metadata"]
        self._offers[metadata["namespace"]].pop(metadata["name"], None)

    def complete(self) -> None:
        """Note that all that there were have been seen."""
        self._is_complete = True

    def of(self, namespace: str) -> Sequence[PluginMount] | None:
        """Those of a namespace, by name; None: it is not known yet which there are."""
        offers = self._offers.get(namespace, {})
        return [offers[name] for name in sorted(offers)] if self._is_complete else None
