"""What the PluginVersions of all namespaces offer, as the watch saw them last. Pure, and a hint only.

What a Connector runs is resolved from what is read from the API server; this tells of newer versions, at no request.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources.plugin_offers import offered

__all__ = ["PluginOffers"]


class PluginOffers:
    """The offers by namespace. Used in one thread."""

    def __init__(self) -> None:
        self._offers: defaultdict[str, dict[str, tuple[PluginMount, ...]]] = defaultdict(dict)
        self._gone: set[tuple[str, str]] = set()
        self._is_complete = False

    def known(self) -> Collection[tuple[str, str]]:
        """The namespaces and names of all. Ask for them before a list is read, for `listed`."""
        self._gone.clear()
        return self._names()

    def _names(self) -> set[tuple[str, str]]:
        return {(namespace, name) for namespace, offers in self._offers.items() for name in offers}

    def seen(self, document: Mapping[str, Any]) -> None:
        """Add or replace a PluginVersion."""
        metadata = document["metadata"]
        self._offers[metadata["namespace"]].pop(metadata["name"], None)  # it may be none that can be used
        if offers := offered([document]):
            self._offers[metadata["namespace"]][metadata["name"]] = offers

    def gone(self, document: Mapping[str, Any]) -> None:
        """Remove a PluginVersion."""
        metadata = document["metadata"]
        self._offers[metadata["namespace"]].pop(metadata["name"], None)
        self._gone.add((metadata["namespace"], metadata["name"]))

    def listed(self, documents: Iterable[Mapping[str, Any]], known: Collection[tuple[str, str]]) -> None:
        """Take in a list of all that there are: deletions may have been missed.

        Args:
            documents: the list.
            known: those that were known before it was read.
        """
        there = {(d["metadata"]["namespace"], d["metadata"]["name"]): d for d in documents}
        for namespace, name in {*known} - there.keys():
            self._offers[namespace].pop(name, None)
        for key in there.keys() - self._names() - self._gone:
            self.seen(there[key])
        self._is_complete = True

    def of(self, namespace: str) -> Sequence[PluginMount] | None:
        """Those of a namespace, by name; None: it is not known yet which there are."""
        offers = self._offers.get(namespace, {})
        return [offer for name in sorted(offers) for offer in offers[name]] if self._is_complete else None
