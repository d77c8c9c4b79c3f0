"""Index of all connectors, to find those that an event about another object concerns. Pure, and only a hint.

Decisions use data read from the API server; a connector that is missing here is only delayed until the next resync.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock_model.connect.plugin_chain import asked_plugins
from penstock_model.connect.plugin_names import is_built_in
from penstock_model.connect.variables import SECRET_REFERENCE
from penstock_model.resources.connector import default_connect_name
from penstock_model.resources.topic_creation_policy import ConnectorSelector
from penstock_operator.key import Key
from penstock_operator.name_ownership import Age, age_of

__all__ = ["ConnectorIndex"]


@dataclass(frozen=True)
class _Known:
    age: Age
    mark: object
    connect_name: str
    secrets: frozenset[str]
    policy: str | None
    labels: Mapping[str, str]
    class_names: frozenset[str]
    plugin_versions: frozenset[str]
    has_status: bool = False


class ConnectorIndex:
    """Connectors that the watch has reported. Used in one thread. The cost of most queries depends only on their result.

    Args:
        worker: the worker configuration, with unresolved variables; its Secrets concern every connector.
    """

    def __init__(self, worker: Mapping[str, str]) -> None:
        self._worker = worker
        self._of_all = frozenset(_secrets(worker.values()))
        self._known: dict[Key, _Known] = {}
        self._found_by: defaultdict[Hashable, set[Key]] = defaultdict(set)
        self._ending: dict[Key, tuple[str, Age]] = {}

    def seen(self, key: Key, body: Mapping[str, Any]) -> bool:
        """Add or update a Connector; return whether it is new, has lost its status, or differs in more than its status."""
        known = _known(key, body, self._worker)
        before = self._known.get(key)
        if before != known:
            self._drop(key)
            self._known[key] = known
            for mark in _marks(key, known):
                self._found_by[mark].add(key)
        self._ending.pop(key, None)
        return before is None or before.mark != known.mark or (before.has_status and not known.has_status)

    def gone(self, key: Key) -> None:
        """Remove a deleted Connector. It keeps its Connect name until `forget`, because its pods may still run."""
        before = self._known.get(key)
        if before is not None:
            self._drop(key)
            self._ending[key] = before.connect_name, before.age

    def forget(self, key: Key) -> None:
        """Forget the Connect name of a deleted Connector whose pods no longer exist."""
        self._ending.pop(key, None)

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    def all(self) -> Collection[Key]:
        """Return every connector."""
        return list(self._known)

    def uids(self) -> Collection[str]:
        """Return the uids of all connectors."""
        return {known.age.uid for known in self._known.values()}

    def has(self, uid: str) -> bool:
        """Return whether there is a connector with this uid."""
        return ("uid", uid) in self._found_by

    def named(self, connect_name: str) -> Collection[Key]:
        """Return the Connectors that request a Connect name."""
        return self._by("name", connect_name)

    def claimants(self, connect_name: str) -> Mapping[Key, Age]:
        """Return the Connectors that request a Connect name with their ages, including deleted ones until `forget`."""
        ending = {key: age for key, (name, age) in self._ending.items() if name == connect_name}
        return {**ending, **{key: self._known[key].age for key in self.named(connect_name)}}

    def of_namespace(self, namespace: str) -> Collection[Key]:
        """Return the Connectors of a namespace."""
        return self._by("namespace", namespace)

    def with_secret(self, namespace: str, secret: str) -> Collection[Key]:
        """Return the Connectors of a namespace whose own or worker configuration refers to the Secret."""
        return self.of_namespace(namespace) if secret in self._of_all else self._by("secret", namespace, secret)

    def bound_by(self, namespace: str, policy: str, selector: ConnectorSelector | None) -> Collection[Key]:
        """Return the Connectors of a namespace that name the TopicCreationPolicy or match its selector.

        This checks each Connector of the namespace.
        """
        named = self._by("policy", namespace, policy)
        if selector is None:
            return named
        taken = (key for key in self.of_namespace(namespace) if selector.selects(self._known[key].labels))
        return list(dict.fromkeys((*named, *taken)))

    def policies_of(self, key: Key, selectors: Mapping[str, ConnectorSelector | None]) -> frozenset[str]:
        """Return the TopicCreationPolicies that a Connector names or that select it.

        Args:
            key: key of the Connector.
            selectors: selectors of all policies of its namespace, by name.
        """
        known = self._known.get(key)
        if known is None:
            return frozenset()
        taken = (
            name for name, selector in selectors.items() if selector is not None and selector.selects(known.labels)
        )
        return frozenset((*taken, *(() if known.policy is None else (known.policy,))))

    def of_class(self, namespace: str, names: Collection[str]) -> Collection[Key]:
        """Return the Connectors of a namespace whose own or worker configuration requests one of these plugin classes."""
        return list({key: None for name in names for key in self._by("class", namespace, name)})

    def running(self, namespace: str, plugin_version: str) -> Collection[Key]:
        """Return the Connectors of a namespace that run the PluginVersion, according to their status."""
        return self._by("plugin", namespace, plugin_version)

    def plugin_versions_of(self, key: Key) -> frozenset[str]:
        """Return the PluginVersions that a Connector runs."""
        known = self._known.get(key)
        return frozenset() if known is None else known.plugin_versions

    def _by(self, *mark: str) -> Collection[Key]:
        return list(self._found_by.get(mark, ()))

    def _drop(self, key: Key) -> None:
        known = self._known.pop(key, None)
        if known is None:
            return
        for mark in _marks(key, known):
            keys = self._found_by[mark]
            keys.discard(key)
            if not keys:
                del self._found_by[mark]


def _marks(key: Key, known: _Known) -> Iterator[Hashable]:
    """Return the keys under which the index has a connector."""
    yield "name", known.connect_name
    yield "uid", known.age.uid
    yield "namespace", key.namespace
    yield from (("secret", key.namespace, secret) for secret in known.secrets)
    if known.policy is not None:
        yield "policy", key.namespace, known.policy
    yield from (("class", key.namespace, name) for name in known.class_names)
    yield from (("plugin", key.namespace, name) for name in known.plugin_versions)


def _known(key: Key, body: Mapping[str, Any], worker: Mapping[str, str]) -> _Known:
    metadata, spec = body.get("metadata") or {}, body.get("spec") or {}
    config = spec.get("config") or {}
    reference = spec.get("topicCreationPolicyRef") or {}
    versions = (body.get("status") or {}).get("pluginVersions")
    labels = {str(n): str(t) for n, t in (metadata.get("labels") or {}).items()}
    # Everything that a write of the status does not change. The generation represents the spec.
    mark = (
        metadata.get("uid"),
        metadata.get("generation"),
        metadata.get("deletionTimestamp"),
        tuple(metadata.get("finalizers") or ()),
        frozenset(labels.items()),
        frozenset((metadata.get("annotations") or {}).items()),
    )
    return _Known(
        age=age_of(metadata),
        mark=mark,
        connect_name=str(spec.get("connectName") or default_connect_name(key.namespace, key.name)),
        secrets=frozenset(_secrets(config.values())) if isinstance(config, Mapping) else frozenset(),
        policy=reference.get("name") if isinstance(reference, Mapping) else None,
        labels=labels,
        class_names=_class_names(spec, worker),
        plugin_versions=frozenset(map(str, versions)) if isinstance(versions, list) else frozenset(),
        # The default value of the field in the schema is -1.
        has_status=((body.get("status") or {}).get("observedGeneration") or -1) > 0,
    )


def _class_names(spec: Mapping[str, Any], worker: Mapping[str, str]) -> frozenset[str]:
    """Return the class names of the requested plugins that are not built into Penstock."""
    config = spec.get("config")
    texts = {str(k): str(v) for k, v in config.items()} if isinstance(config, Mapping) else {}
    asked = asked_plugins(str(spec.get("class") or ""), None, texts, worker)
    return frozenset(a.name for a in asked if not is_built_in(a.kind, a.name))


def _secrets(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield from (reference[1] for reference in SECRET_REFERENCE.finditer(value))
