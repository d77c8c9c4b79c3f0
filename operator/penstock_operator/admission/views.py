"""Read the resources of a namespace that the review of an object needs. Thread-safe.

Each operator of a release reads them with requests, so that standbys, which watch nothing, answer too. A list is cached for
two seconds, so that many objects that are applied together cause few requests.
"""

import base64
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from penstock.errors import ConfigError
from penstock_model.contracts.definitions import KEY, Definitions, unpack
from penstock_operator.admission.review import NamespaceView
from penstock_operator.errors import OperatorError
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import CONFIG_MAP, PLUGIN_VERSION, POLICY, Kind

__all__ = ["Views"]

log = logging.getLogger(__name__)

_KEPT_SECONDS: Final = 2.0
_MOST_NAMESPACES: Final = 500
_MOST_KEYS: Final = 20_000
"""Maximum number of properties in all cached definitions, about 20 MB. Each Debezium connector has about 200."""

Documents = Sequence[Mapping[str, Any]]


class Views:
    """Cached views of namespaces.

    Args:
        kube: the API server, with short timeouts.
        clock: monotonic seconds.
    """

    def __init__(self, kube: Kube, clock: Callable[[], float] = time.monotonic) -> None:
        self._kube = kube
        self._clock = clock
        self._lock = threading.Lock()
        self._lists: OrderedDict[tuple[Kind, str], tuple[float, Documents]] = OrderedDict()
        self._definitions: OrderedDict[str, Definitions] = OrderedDict()

    def of(self, namespace: str, since: float | None = None) -> NamespaceView:
        """Return the view of a namespace.

        Args:
            namespace: its name.
            since: earliest time, by `clock`, at which its resources may have been read; None: two seconds ago.
        """
        since = self._clock() - _KEPT_SECONDS if since is None else since
        versions = self._list(PLUGIN_VERSION, namespace, since)
        by_name = {d["metadata"]["name"]: d for d in versions or ()}
        return NamespaceView(
            versions,
            self._list(POLICY, namespace, since),
            lambda name: self.published(namespace, by_name.get(name, {})),
        )

    def _list(self, kind: Kind, namespace: str, since: float) -> Documents | None:
        """Return the resources of a kind; None: they cannot be read."""
        key, now = (kind, namespace), self._clock()
        with self._lock:
            read, documents = self._lists.get(key, (None, ()))
            if read is not None and read >= since:
                return documents
        try:
            documents = self._kube.list(kind, namespace)
        except OperatorError as e:
            log.debug("%s", e)
            return None
        with self._lock:
            self._lists[key] = now, documents
            self._lists.move_to_end(key)
            while len(self._lists) > _MOST_NAMESPACES:
                self._lists.popitem(last=False)
        return documents

    def published(self, namespace: str, document: Mapping[str, Any]) -> Definitions | None:
        """Return the definitions that a PluginVersion has published; None: there are none, or they cannot be read."""
        where = (document.get("status") or {}).get("definitions")
        if not isinstance(where, Mapping):
            return None
        name, digest = str(where.get("configMap")), str(where.get("digest"))
        with self._lock:
            if (known := self._definitions.get(digest)) is not None:
                self._definitions.move_to_end(digest)
                return known
        try:
            found = self._kube.get(CONFIG_MAP, namespace, name)
            content = base64.b64decode(((found or {}).get("binaryData") or {}).get(KEY, ""))
            definitions = _without_texts(unpack(content, digest))
        except (OperatorError, ConfigError, ValueError) as e:
            log.debug("The definitions in ConfigMap %s/%s cannot be read: %s", namespace, name, e)
            return None
        with self._lock:
            self._definitions[digest] = definitions
            while len(self._definitions) > 1 and sum(map(_size, self._definitions.values())) > _MOST_KEYS:
                self._definitions.popitem(last=False)
        return definitions


def _without_texts(definitions: Definitions) -> Definitions:
    """Return the definitions without documentation, which makes up most of their size."""
    return definitions.model_copy(update={"classes": tuple(c.cut(0) for c in definitions.classes)})


def _size(definitions: Definitions) -> int:
    return sum(len(c.config) for c in definitions.classes)
