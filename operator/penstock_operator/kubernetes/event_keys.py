"""Map events of watches to keys of the work queue."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from penstock_model.resources.plugin_offers import class_names, is_java, is_unread, unverified
from penstock_operator.key import Key
from penstock_operator.kubernetes.kinds import CONNECTOR, PLUGIN_VERSION, POLICY, Kind
from penstock_operator.names import CONNECTOR_LABEL, ROLE_LABEL, VERIFYING
from penstock_operator.queue.index import ConnectorIndex
from penstock_operator.queue.plugin_offer_index import PluginOfferIndex
from penstock_operator.queue.topic_policy_selectors import PolicySelectors

__all__ = ["Event", "EventKeys"]

Event = Mapping[str, Any]
AddKey = Callable[[Key], None]


class EventKeys:
    """Event handlers that add the keys of the Connectors that an event concerns. Used in one thread.

    Args:
        index: index that is updated here.
        add: adds a key.
        hurry: adds a key before others: the Connector itself or one of its pods has changed.
        status: adds a TopicCreationPolicy or PluginVersion, whose status must be written.
        plugins, policies: indexes that are updated here.
        observe: called first with the kind and the event, for each Connector, TopicCreationPolicy and PluginVersion.
    """

    def __init__(
        self,
        index: ConnectorIndex,
        add: AddKey,
        hurry: AddKey,
        status: Callable[[Kind, Key], None] = lambda kind, key: None,
        plugins: PluginOfferIndex | None = None,
        policies: PolicySelectors | None = None,
        observe: Callable[[Kind, "Event"], None] = lambda kind, event: None,
    ) -> None:
        self._index = index
        self._add = add
        self._hurry = hurry
        self._status = status
        self._plugins = plugins or PluginOfferIndex()
        self._policies = policies or PolicySelectors()
        self._observe = observe
        self._versions: dict[tuple[str, str, str], str] = {}

    def connector(self, event: Event) -> None:
        """Add the key of a Connector, unless only its status changed."""
        self._observe(CONNECTOR, event)
        body = event["object"]
        key = Key(body["metadata"]["namespace"], body["metadata"]["name"])
        selectors = self._policies.of(key.namespace)
        before, ran = self._index.policies_of(key, selectors), self._index.plugin_versions_of(key)
        if event["type"] == "DELETED":
            self._index.gone(key)
            self._hurry(key)
        elif self._index.seen(key, body):
            self._hurry(key)
        now, runs = self._index.policies_of(key, selectors), self._index.plugin_versions_of(key)
        for policy in before ^ now:
            self._status(POLICY, Key(key.namespace, policy))
        for version in ran ^ runs:
            self._status(PLUGIN_VERSION, Key(key.namespace, version))

    def pod(self, event: Event) -> None:
        """Add the key of the Connector of a pod, or of the PluginVersion that it verifies."""
        metadata = event["object"]["metadata"]
        labels = metadata.get("labels") or {}
        if name := labels.get(CONNECTOR_LABEL):
            self._hurry(Key(metadata["namespace"], name))
        elif labels.get(ROLE_LABEL) == VERIFYING:
            for owner in metadata.get("ownerReferences") or ():
                if owner.get("kind") == PLUGIN_VERSION.kind:
                    self._status(PLUGIN_VERSION, Key(metadata["namespace"], owner["name"]))

    def policy(self, event: Event) -> None:
        """Add the Connectors to which a TopicCreationPolicy applies or applied.

        An unknown policy in a list counts as new, since its CRD may be new.
        """
        self._observe(POLICY, event)
        self._write_status(POLICY, event)
        metadata = event["object"]["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        if not self._is_new("policy", event, str(metadata.get("generation", "")), listed=True):
            return
        bound = self._index.bound_by(namespace, name, self._policies.of(namespace).get(name))
        if event["type"] == "DELETED":
            self._policies.gone(namespace, name)
        else:
            self._policies.seen(event["object"])
        bound_now = self._index.bound_by(namespace, name, self._policies.of(namespace).get(name))
        self._add_all(dict.fromkeys((*bound, *bound_now)))

    def plugin_version(self, event: Event) -> None:
        """Add the Connectors that may use a PluginVersion.

        An unknown PluginVersion in a list counts as new, since its CRD may be new.
        """
        self._observe(PLUGIN_VERSION, event)
        self._write_status(PLUGIN_VERSION, event)
        (self._plugins.gone if event["type"] == "DELETED" else self._plugins.seen)(event["object"])
        metadata = event["object"]["metadata"]
        names, is_waited_for = class_names(event["object"]), is_unread(event["object"])
        unseen = unverified([event["object"]]).get(metadata["name"], "")
        version = f"{metadata.get('generation', '')} {is_waited_for} {unseen} {' '.join(sorted(names))}"
        if self._is_new("plugin", event, version, listed=True):
            namespace = metadata["namespace"]
            if is_java(event["object"]):  # any Connector may have waited to learn which classes it contains
                self._add_all(self._index.of_namespace(namespace))
            else:
                self._add_all(self._index.of_class(namespace, names))

    def secret(self, event: Event) -> None:
        """Add the Connectors that refer to a Secret. Other Secrets are ignored."""
        metadata = event["object"]["metadata"]
        keys = self._index.with_secret(metadata["namespace"], metadata["name"])
        if keys and self._is_new("secret", event, str(metadata.get("resourceVersion", ""))):
            self._add_all(keys)

    def _write_status(self, kind: Kind, event: Event) -> None:
        metadata = event["object"]["metadata"]
        if event["type"] != "DELETED":
            self._status(kind, Key(metadata["namespace"], metadata["name"]))

    def _is_new(self, what: str, event: Event, version: str, *, listed: bool = False) -> bool:
        """Return whether this version differs from the last one; for an unknown object in a list, return `listed`."""
        metadata = event["object"]["metadata"]
        identity = (what, metadata["namespace"], metadata["name"])
        if event["type"] == "DELETED":
            self._versions.pop(identity, None)
            return True
        before = self._versions.get(identity)
        self._versions[identity] = f"{metadata.get('uid')}/{version}"
        if before is None:
            return listed or event["type"] is not None
        return before != self._versions[identity]

    def _add_all(self, keys: Collection[Key]) -> None:
        for key in keys:
            self._add(key)
