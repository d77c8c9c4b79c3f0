"""Index of the offers of all PluginVersions by namespace, as the watch saw them last. Pure, and only a hint.

The plugins of a Connector are resolved from data read from the API server; this index serves to report newer versions
without requests.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources.plugin_offers import offered, unverified

__all__ = ["KnownOffers", "PluginOfferIndex"]


@dataclass(frozen=True, slots=True)
class KnownOffers:
    """Offers of the PluginVersions of a namespace.

    Attributes:
        offers: the offers, sorted by name.
        unverified: by name, why a PluginVersion has not been verified.
    """

    offers: Sequence[PluginMount]
    unverified: Mapping[str, str]


class PluginOfferIndex:
    """Offers by namespace. Used in one thread."""

    def __init__(self) -> None:
        self._offers: defaultdict[str, dict[str, tuple[PluginMount, ...]]] = defaultdict(dict)
        self._unverified: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self._gone: set[tuple[str, str]] = set()
        self._is_complete = False

    def known(self) -> Collection[tuple[str, str]]:
        """Return namespace and name of each known PluginVersion. Call it before a list request, and pass it to `listed`."""
        self._gone.clear()
        return self._names()

    def _names(self) -> set[tuple[str, str]]:
        return {(namespace, name) for namespace, offers in self._offers.items() for name in offers}

    def seen(self, document: Mapping[str, Any]) -> None:
        """Add or replace a PluginVersion."""
        metadata = document["metadata"]
        self._drop(metadata["namespace"], metadata["name"])  # the new one may be unusable
        if offers := offered([document]):
            self._offers[metadata["namespace"]][metadata["name"]] = offers
            self._unverified[metadata["namespace"]].update(unverified([document]))

    def gone(self, document: Mapping[str, Any]) -> None:
        """Remove a PluginVersion."""
        metadata = document["metadata"]
        self._drop(metadata["namespace"], metadata["name"])
        self._gone.add((metadata["namespace"], metadata["name"]))

    def listed(self, documents: Iterable[Mapping[str, Any]], known: Collection[tuple[str, str]]) -> None:
        """Update the index from a list of all existing PluginVersions, since deletions may have been missed.

        Args:
            documents: the list.
            known: result of `known` before the list was requested.
        """
        there = {(d["metadata"]["namespace"], d["metadata"]["name"]): d for d in documents}
        for namespace, name in {*known} - there.keys():
            self._drop(namespace, name)
        for key in there.keys() - self._names() - self._gone:
            self.seen(there[key])
        self._is_complete = True

    def of(self, namespace: str) -> KnownOffers | None:
        """Return the offers of a namespace; None: they are not known yet."""
        if not self._is_complete:
            return None
        offers = self._offers.get(namespace, {})
        every = [offer for name in sorted(offers) for offer in offers[name]]
        return KnownOffers(every, dict(self._unverified.get(namespace, {})))

    def _drop(self, namespace: str, name: str) -> None:
        self._offers[namespace].pop(name, None)
        self._unverified[namespace].pop(name, None)
