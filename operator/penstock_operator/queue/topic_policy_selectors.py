"""Selectors of the TopicCreationPolicies, as the watch saw them last. Pure, and only a hint.

The policy of a Connector is resolved from data read from the API server; this index serves to find the Connectors that a
change concerns.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from penstock_model.resources.topic_creation_policy import ConnectorSelector
from penstock_model.resources.topic_policy_selection import selector_of

__all__ = ["PolicySelectors"]


class PolicySelectors:
    """Selectors by namespace. Used in one thread."""

    def __init__(self) -> None:
        self._selectors: defaultdict[str, dict[str, ConnectorSelector | None]] = defaultdict(dict)

    def seen(self, document: Mapping[str, Any]) -> None:
        """Add or replace a policy."""
        metadata = document["metadata"]
        self._selectors[metadata["namespace"]][metadata["name"]] = selector_of(document)

    def gone(self, namespace: str, name: str) -> None:
        """Remove a policy."""
        of_namespace = self._selectors[namespace]
        of_namespace.pop(name, None)
        if not of_namespace:
            del self._selectors[namespace]

    def of(self, namespace: str) -> Mapping[str, ConnectorSelector | None]:
        """Return the selectors of a namespace's policies, by name; None: the policy selects no Connectors."""
        return self._selectors.get(namespace, {})
