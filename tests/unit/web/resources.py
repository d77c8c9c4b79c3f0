"""Resources for the web server, in memory, and users with rights."""

import base64
import copy
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.errors import ConnectError
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.definitions import Definitions
from penstock_web.access import Denied, User
from penstock_web.source import Document, Event, Measurement

__all__ = ["Resources", "Rights"]

WORKER = {
    "bootstrap.servers": "kafka:9092",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
}


class Resources:
    """WebSource of documents."""

    def __init__(self, *documents: dict[str, Any]) -> None:
        self.documents = list(documents)
        self.lists: dict[tuple[str, str], Mapping[str, Any]] = {}
        self.published: dict[tuple[str, str], Definitions] = {}
        self.is_reachable = True

    def _of(self, kind: str) -> list[Document]:
        return [d for d in self.documents if d["kind"] == kind]

    def connectors(self) -> Sequence[Document]:
        return self._of("Connector")

    def connector(self, namespace: str, name: str) -> Document | None:
        wanted = (namespace, name)
        return next(
            (c for c in self.connectors() if (c["metadata"]["namespace"], c["metadata"]["name"]) == wanted), None
        )

    def policies(self) -> Sequence[Document]:
        return self._of("TopicCreationPolicy")

    def plugin_versions(self) -> Sequence[Document]:
        return self._of("PluginVersion")

    def definitions(self, namespace: str, plugin_version: str) -> Definitions | None:
        return self.published.get((namespace, plugin_version))

    def release(self) -> str:
        return "0.1.0"

    def worker(self) -> WorkerConfig:
        return WorkerConfig.parse(WORKER)

    def kafka_cluster_id(self) -> str | None:
        return "ABC"

    def history(self, namespace: str, name: str) -> Sequence[Measurement]:
        return ()

    def revision(self) -> int:
        return 0

    async def changed(self, since: int) -> int:
        raise NotImplementedError

    async def events(self, namespace: str, name: str) -> Sequence[Event]:
        return ()

    async def offsets(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        if not self.is_reachable:
            raise ConnectError("the API server does not answer")
        return self.lists.get((namespace, name))


class Rights:
    """Access of users by token. Patches are carried out in `Resources`."""

    def __init__(self, resources: Resources, **namespaces: str) -> None:
        self._resources = resources
        self._namespaces = namespaces
        self.patches: list[tuple[str, str, Mapping[str, Any]]] = []

    async def user(self, headers: Mapping[str, str]) -> User | None:
        kind, _, token = headers.get("Authorization", "").partition(" ")
        if kind == "Basic":
            token = base64.b64decode(token).decode().partition(":")[2]
        return User(token) if token in self._namespaces else None

    async def can_patch(self, user: User, namespace: str, name: str) -> bool:
        return self._namespaces[user.name] == namespace

    async def patch(self, user: User, namespace: str, name: str, patch: Mapping[str, Any]) -> Mapping[str, Any]:
        if not await self.can_patch(user, namespace, name):
            raise Denied(f"{user.name} cannot patch connectors in namespace {namespace}")
        self.patches.append((user.name, name, patch))
        found = self._resources.connector(namespace, name)
        assert found is not None
        return copy.deepcopy(dict(found))
