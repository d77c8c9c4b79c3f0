"""Resources and measurements for the console, from the watches and the status topic of the leader."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, cast

from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.definitions import Definitions
from penstock_operator.admission.views import Views
from penstock_operator.connector.model.offsets_list_map import OFFSETS_KEY, ListMap, Owner
from penstock_operator.context import Run
from penstock_operator.key import Key
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import CONFIG_MAP, CONNECTOR, EVENT, PLUGIN_VERSION, POD, POLICY
from penstock_operator.names import list_name
from penstock_operator.settings import Settings
from penstock_operator.web.documents import Documents
from penstock_operator.web.events import events_about
from penstock_operator.web.history import History
from penstock_operator.web.recent import Recent
from penstock_web.revision import Revision
from penstock_web.source import Document, Event, Measurement

__all__ = ["OperatorSource"]

_KEPT: Final = 5.0
"""Seconds for which Events and offsets are cached."""
_PAUSE: Final = 1.0
"""Minimum seconds between updates of open pages."""
_MOST: Final = 20
"""Maximum number of cached results. A list of offsets may have 1 MiB."""
_MOST_EVENTS: Final = 1_000
"""Maximum number of Events read per request. Most are about starts of pods, and Kubernetes deletes them after an hour."""


class OperatorSource:
    """Source of the console's data. The operator fills `documents` and `history_of_tasks`.

    Args:
        settings: settings of the release.
        version: version of the built-in plugins.
        kube: the API server, with short timeouts.
        run: runs blocking calls.
    """

    def __init__(self, settings: Settings, version: str, kube: Kube, run: Run) -> None:
        self._settings = settings
        self._version = version
        self._kube = kube
        self._run = run
        self._views = Views(kube)
        self._revision = Revision(_PAUSE)
        self.history_of_tasks = History(self._revision.grow, time.time)
        self.documents = Documents(self._revision.grow, self.history_of_tasks.forget)
        self.cluster_id: Callable[[], str | None] = lambda: None
        """Callable that returns the id of the Kafka cluster; None: it is unknown yet."""
        self._events: Recent[Key, Sequence[Event]] = Recent(_KEPT, _MOST)
        self._offsets: Recent[Key, Mapping[str, Any] | None] = Recent(_KEPT, _MOST)

    def connectors(self) -> Sequence[Document]:
        return self.documents.all(CONNECTOR)

    def connector(self, namespace: str, name: str) -> Document | None:
        return self.documents.of(CONNECTOR, Key(namespace, name))

    def policies(self) -> Sequence[Document]:
        return self.documents.all(POLICY)

    def plugin_versions(self) -> Sequence[Document]:
        return self.documents.all(PLUGIN_VERSION)

    def definitions(self, namespace: str, plugin_version: str) -> Definitions | None:
        document = self.documents.of(PLUGIN_VERSION, Key(namespace, plugin_version))
        return None if document is None else self._views.published(namespace, document)

    def release(self) -> str:
        return self._version

    def worker(self) -> WorkerConfig:
        return self._settings.worker_config

    def kafka_cluster_id(self) -> str | None:
        return self.cluster_id()

    def history(self, namespace: str, name: str) -> Sequence[Measurement]:
        uid = _uid(self.connector(namespace, name))
        return () if uid is None else self.history_of_tasks.of(uid)

    def revision(self) -> int:
        return self._revision.number

    async def changed(self, since: int) -> int:
        return await self._revision.greater_than(since)

    async def events(self, namespace: str, name: str) -> Sequence[Event]:
        """Return the recent Events about a Connector and its pods, the latest first.

        Raises:
            OperatorError: they cannot be read.
        """
        uid = _uid(self.connector(namespace, name))
        if uid is None:
            return ()
        return await self._events.get(
            Key(namespace, name), lambda: self._run(self._read_events, Key(namespace, name), uid)
        )

    async def offsets(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """Return the last list of a Connector's offsets; None: there is none.

        Raises:
            OperatorError: it cannot be read.
        """
        uid = _uid(self.connector(namespace, name))
        if uid is None:
            return None
        return await self._offsets.get(
            Key(namespace, name), lambda: self._run(self._read_offsets, Key(namespace, name), uid)
        )

    def _read_events(self, key: Key, uid: str) -> Sequence[Event]:
        of_connector = f"regarding.kind={CONNECTOR.kind},regarding.name={key.name}"
        found = self._kube.list(EVENT, key.namespace, fields=of_connector, most=_MOST_EVENTS)
        found += self._kube.list(EVENT, key.namespace, fields=f"regarding.kind={POD.kind}", most=_MOST_EVENTS)
        return events_about(key.name, uid, found)

    def _read_offsets(self, key: Key, uid: str) -> Mapping[str, Any] | None:
        found = self._kube.get(CONFIG_MAP, key.namespace, list_name(key.name))
        if found is None or ListMap.of(found, key.name, uid).owner is not Owner.OURS:
            return None
        with suppress(ValueError):
            offsets = json.loads((found.get("data") or {}).get(OFFSETS_KEY, ""))
            if isinstance(offsets, dict):
                return cast("Mapping[str, Any]", offsets)
        return None


def _uid(document: Document | None) -> str | None:
    return None if document is None else str(document["metadata"].get("uid"))
