"""Where an operator lives in a test: namespaces of its own, a node, a status topic, and its Connectors."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from penstock_operator.kubernetes.api_server import Connection
from penstock_operator.names import CONNECTOR_LABEL

from ...api_servers import ApiServer
from ...cluster_api.api import Api, ApiRefused
from ...running import PATIENCE
from .answers import Answers, template
from .kubelet import Kubelet
from .processes import OperatorProcess, Stable, configuration
from .watched import Json, Watched, key_of

__all__ = ["API_VERSION", "Site", "condition", "is_settled"]

API_VERSION: Final = "penstock.dev/v1alpha1"
STATUS_MANAGER: Final = "penstock-status"


def condition(body: Mapping[str, Any], kind: str) -> str:
    """`True Running: all is well` of a Connector's status."""
    found = {c["type"]: c for c in (body.get("status") or {}).get("conditions", ())}.get(kind)
    return "absent" if found is None else f"{found['status']} {found['reason']}: {found['message']}"


def is_settled(body: Mapping[str, Any] | None, state: str = "Running") -> bool:
    """Whether a Connector is ready as it is asked to be."""
    status = (body or {}).get("status") or {}
    is_new = body is not None and status.get("observedGeneration") == body["metadata"]["generation"]
    return is_new and status.get("state") == state and condition(body or {}, "Ready").startswith("True")


@dataclass
class Site:
    """One.

    Args:
        server: the API server.
        connection: connection of an administrator.
        servers: bootstrap servers of Kafka.
        folder: for files.
        stable: forks operators.
        spaces: how many namespaces; the first is the release's.
        answers: what short pods answer.
        node: the kind of node that pods run on.
    """

    server: ApiServer
    connection: Connection
    servers: str
    folder: Path
    stable: Stable
    spaces: int = 1
    answers: Answers = template
    workers: int = 4
    node: Callable[..., Kubelet] = Kubelet
    namespaces: list[str] = field(default_factory=list)
    operators: list[OperatorProcess] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.api = Api(self.server.kubeconfig)
        self._versions: dict[str, int] = {}
        self.namespaces = [self.api.new_namespace() for _ in range(self.spaces)]
        self.namespace = self.namespaces[0]
        self.topic = f"status-{self.namespace}"
        accounts = Watched(self.connection, *(f"/api/v1/namespaces/{n}/serviceaccounts" for n in self.namespaces))
        accounts.until(lambda all_: all(f"{n}/default" in all_ for n in self.namespaces), "service accounts", 180)
        accounts.close()
        self.connectors = Watched(
            self.connection, *(f"/apis/{API_VERSION}/namespaces/{n}/connectors" for n in self.namespaces)
        )
        self.kubelet = self.node(
            self.api,
            self.connection,
            self.server.kubeconfig.parent / "pki",
            f"node-{self.namespace}",
            self.namespaces,
            self.servers,
            self.topic,
            self.answers,
            self.workers,
        )

    def close(self) -> None:
        """End everything; the namespaces go by and by."""
        for operator in self.operators:
            operator.kill()
        for operator in self.operators:
            if operator.pid is not None:
                operator.ended()
        self.connectors.close()
        for body in self.connectors.objects.values():
            if body["metadata"].get("finalizers"):
                with suppress(ApiRefused):
                    self.api.merge(body, {"metadata": {"finalizers": []}})
        for namespace in self.namespaces:
            with suppress(ApiRefused):
                self.api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        self.kubelet.close()
        self.api.close()

    def operator(
        self,
        kubeconfig: Path | None = None,
        *,
        name: str = "penstock",
        watch: Sequence[str] | None = None,
        forked: bool = True,
        namespace: str | None = None,
        pod: str | None = "operator-0",
        **more: Any,
    ) -> OperatorProcess:
        """An operator of this site, not started yet."""
        watched = self.namespaces if watch is None else watch
        settings = configuration(
            namespace=namespace or self.namespace,
            name=name,
            servers=self.servers,
            topic=self.topic,
            watch=watched,
            **more,
        )
        folder = self.folder / f"operator-{len(self.operators)}"
        made = OperatorProcess(
            folder, settings, kubeconfig or self.server.kubeconfig, self.stable if forked else None, pod=pod
        )
        self.operators.append(made)
        return made

    # What users do

    def manifest(self, name: str, *, namespace: str | None = None, **spec: Any) -> Json:
        """A Connector's, with these over the usual fields of the spec."""
        whole = {"class": "FileStreamSource", "config": {"file": "/data/a", "topic": "orders"}, **spec}
        meta = {"name": name, "namespace": namespace or self.namespace}
        return {"apiVersion": API_VERSION, "kind": "Connector", "metadata": meta, "spec": whole}

    def create(self, name: str, *, namespace: str | None = None, **spec: Any) -> Json:
        """A new Connector."""
        return self.written(self.api.create(self.manifest(name, namespace=namespace, **spec)))

    def change(self, name: str, *, namespace: str | None = None, **spec: Any) -> Json:
        """Change fields of the spec (a merge patch)."""
        return self.written(self.api.merge(self.manifest(name, namespace=namespace), {"spec": spec}))

    def annotate(self, name: str, **annotations: str | None) -> Json:
        """Set annotations of ours: `restart="a"`."""
        ours = {f"penstock.dev/{k.replace('_', '-')}": v for k, v in annotations.items()}
        return self.written(self.api.merge(self.manifest(name), {"metadata": {"annotations": ours}}))

    def delete(self, name: str, *, namespace: str | None = None) -> None:
        """Delete a Connector."""
        self.api.delete(self.manifest(name, namespace=namespace))

    def written(self, body: Json) -> Json:
        """Remember our own last change of a Connector, which `seen` waits for."""
        self._versions[key_of(body)] = int(body["metadata"]["resourceVersion"])
        return body

    # What they see

    def key(self, name: str) -> str:
        """Of a Connector of the first namespace; a whole key stays."""
        return name if "/" in name else f"{self.namespace}/{name}"

    def get(self, name: str) -> Json:
        """As it was seen last."""
        return self.connectors.objects[self.key(name)]

    def seen(self, name: str) -> Json | None:
        """As it was seen last, but not before our own last change of it."""
        key = self.key(name)
        found = self.connectors.objects.get(key)
        is_new = found is not None and int(found["metadata"]["resourceVersion"]) >= self._versions.get(key, 0)
        return found if is_new else None

    def until(self, name: str, claim: Callable[[Json], Any], what: str, seconds: float = PATIENCE) -> Json:
        """A Connector, as soon as a claim about it holds."""
        key = self.key(name)

        def found(_: dict[str, Json]) -> Json | None:
            body = self.seen(key)
            return body if body is not None and claim(body) else None

        with self._telling(key):
            seen = self.connectors.until(found, f"{key}: {what}", seconds)
        assert seen is not None
        return seen

    @contextmanager
    def _telling(self, key: str) -> Iterator[None]:
        """Add to a claim that failed what there is to know."""
        try:
            yield
        except AssertionError as e:
            status = (self.connectors.objects.get(key) or {}).get("status")
            logs = "\n".join(o.tail() for o in self.operators)
            raise AssertionError(f"{e}\n{json.dumps(status)}\n{self.kubelet.wrong}\n{logs}") from None

    def settled(self, name: str, state: str = "Running", *, seconds: float = PATIENCE) -> Json:
        """A Connector, as soon as it is ready as it is asked to be."""

        return self.until(name, lambda body: is_settled(body, state), state, seconds)

    def gone(self, name: str, *, seconds: float = PATIENCE) -> None:
        """Wait until a Connector and all of its pods are gone."""
        key = self.key(name)

        def none(pods: dict[str, Json]) -> bool:
            owners = (
                f"{p['metadata']['namespace']}/{p['metadata']['labels'].get(CONNECTOR_LABEL)}" for p in pods.values()
            )
            return key not in owners

        with self._telling(key):
            self.connectors.until(lambda all_: key not in all_, f"{key} is gone", seconds)
            self.kubelet.pods.until(none, f"the pods of {key} are gone", seconds)

    def requests(self) -> list[str]:
        """Requests of short pods that are left without their pod."""
        maps = (c["metadata"] for n in self.namespaces for c in self.api.list("v1", "ConfigMap", n))
        pods = set(self.kubelet.pods.objects)
        keys = (f"{m['namespace']}/{m['name']}" for m in maps)
        return [k for k in keys if k.endswith("-request") and k.removesuffix("-request") not in pods]

    def check(self) -> None:
        """What holds after every test: no life with two pods, no two lives at once, no fault in the log."""
        assert not self.kubelet.wrong, self.kubelet.wrong
        assert self.kubelet.doubled() == {}
        for operator in self.operators:
            failures = operator.failures()
            assert not failures, (operator.folder, failures[:3])
        for body in self.connectors.objects.values():
            managers = {(m["manager"], m.get("subresource", "")) for m in body["metadata"].get("managedFields", ())}
            assert {m for m in managers if m[0].startswith("penstock")} <= {(STATUS_MANAGER, "status")}
