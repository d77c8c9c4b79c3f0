"""Resources reported by the watches, for the console. Thread-safe."""

import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from penstock_operator.key import Key
from penstock_operator.kubernetes.kinds import CONNECTOR, PLUGIN_VERSION, POLICY, Kind
from penstock_web.source import Document

__all__ = ["Documents", "trimmed"]

_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_INTERNED: Final = 64
"""Maximum characters of strings that all documents share: names of fields and properties, states, reasons."""


class Documents:
    """Latest version of each resource, by kind.

    Args:
        on_change: called after each change.
        on_end: called with the uid of a Connector that no longer exists.
    """

    def __init__(self, on_change: Callable[[], None], on_end: Callable[[str], None] = lambda uid: None) -> None:
        self._on_change = on_change
        self._on_end = on_end
        self._lock = threading.Lock()
        self._known: dict[Kind, dict[Key, Document]] = {k: {} for k in (CONNECTOR, POLICY, PLUGIN_VERSION)}
        self._lists: dict[Kind, tuple[Document, ...]] = {}

    def seen(self, kind: Kind, event: Mapping[str, Any]) -> None:
        """Process an event of a watch. Kinds that the console does not show are ignored."""
        if kind not in self._known:
            return
        metadata = event["object"]["metadata"]
        key = Key(metadata["namespace"], metadata["name"])
        if event["type"] == "DELETED":
            self.gone(kind, key)
            return
        before = self.of(kind, key)
        if before is not None and before["metadata"].get("resourceVersion") == metadata.get("resourceVersion"):
            return
        with self._lock:
            self._known[kind][key] = trimmed(event["object"])
            self._lists.pop(kind, None)
        if kind is CONNECTOR and before is not None and before["metadata"].get("uid") != metadata.get("uid"):
            self._on_end(str(before["metadata"].get("uid")))
        self._on_change()

    def gone(self, kind: Kind, key: Key) -> None:
        """Remove a resource, if it is known."""
        with self._lock:
            before = self._known[kind].pop(key, None)
            self._lists.pop(kind, None)
        if before is None:
            return
        if kind is CONNECTOR:
            self._on_end(str(before["metadata"].get("uid")))
        self._on_change()

    def all(self, kind: Kind) -> Sequence[Document]:
        """Return all resources of a kind."""
        with self._lock:
            found = self._lists.get(kind)
            if found is None:
                found = self._lists[kind] = tuple(self._known[kind].values())
            return found

    def of(self, kind: Kind, key: Key) -> Document | None:
        """Return a resource; None: it does not exist."""
        with self._lock:
            return self._known[kind].get(key)

    def keys(self, kind: Kind) -> Collection[Key]:
        """Return the keys of all resources of a kind."""
        with self._lock:
            return list(self._known[kind])


def trimmed(document: Mapping[str, Any]) -> Document:
    """Return a copy without `managedFields` and kubectl's copy of the manifest, which the console does not show."""
    metadata = {n: v for n, v in document["metadata"].items() if n != "managedFields"}
    if annotations := metadata.get("annotations"):
        metadata["annotations"] = {n: v for n, v in annotations.items() if n != _APPLIED}
    copy: Document = _compact({**document, "metadata": metadata})
    return copy


def _compact(value: Any) -> Any:
    if isinstance(value, dict):
        return {sys.intern(str(name)): _compact(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_compact(inner) for inner in value]
    return sys.intern(value) if type(value) is str and len(value) <= _INTERNED else value
