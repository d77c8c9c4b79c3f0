"""The API server in memory of the unit tests answers as a real one does: both get the same requests here."""

import json
import re
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import pytest

from penstock_operator.kubernetes.api_errors import Answer
from penstock_operator.kubernetes.api_server import JSON, METADATA_LIST, ApiServer
from penstock_operator.kubernetes.kinds import CONFIG_MAP, CONNECTOR, NAMESPACE, POD, Kind

from ...unit.operator.fake_api_server import FakeApiServer
from ..api_servers import ApiServer as RealApiServer

MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
FINALIZER = "penstock.dev/offsets"
_UID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:configmap|connector|pod)-\d+")


class Asked(NamedTuple):
    """A request, in which `{uid a}` and `{version a}` stand for those that object a had in the last answer about it."""

    what: str
    method: str
    kind: Kind
    name: str = ""
    body: Mapping[str, Any] | None = None
    subresource: str = ""
    content_type: str = JSON
    query: Mapping[str, str] | None = None
    accept: str = JSON


def config_map(name: str, *, data: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    labels = {"penstock.dev/role": "plan" if name.startswith("plan") else "other"}
    metadata = {"name": name, "labels": labels, **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data or {"a": "1"}), **more}


def connector(**more: Any) -> dict[str, Any]:
    metadata = {"name": "orders", **more.pop("metadata", {})}
    spec = {"class": "FileStreamSource", "config": {"file": "/data/x", "topic": "orders"}, "tasksMax": 1}
    return {"apiVersion": CONNECTOR.api_version, "kind": "Connector", "metadata": metadata, "spec": spec, **more}


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "task", "image": "none:0"}], "automountServiceAccountToken": False}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def status(state: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": CONNECTOR.api_version,
        "kind": "Connector",
        "metadata": {"name": "orders", **metadata},
        "status": {"state": state},
    }


FORCE = {"fieldManager": "penstock", "force": "true"}
PLANS = {"labelSelector": "penstock.dev/role=plan"}


def merged(what: str, kind: Kind, name: str, **body: Any) -> Asked:
    return Asked(what, "PATCH", kind, name, body, content_type=MERGE)


def replaced(what: str, value: str, version: str) -> Asked:
    return Asked(
        what, "PUT", CONFIG_MAP, "a", config_map("a", data={"c": value}, metadata={"resourceVersion": version})
    )


def told(what: str, state: str, **metadata: str) -> Asked:
    return Asked(what, "PATCH", CONNECTOR, "orders", status(state, **metadata), "status", APPLY, FORCE)


REQUESTS: Final = [
    Asked("nothing is there", "GET", CONFIG_MAP, "a"),
    merged("nothing to patch", CONFIG_MAP, "a", data={"a": "2"}),
    Asked("nothing to delete", "DELETE", CONFIG_MAP, "a"),
    Asked("nothing to replace", "PUT", CONFIG_MAP, "a", config_map("a", metadata={"resourceVersion": "1"})),
    Asked("created", "POST", CONFIG_MAP, body=config_map("a")),
    Asked("created twice", "POST", CONFIG_MAP, body=config_map("a", data={"a": "2"})),
    Asked("read", "GET", CONFIG_MAP, "a"),
    merged("merged", CONFIG_MAP, "a", data={"a": None, "b": "2"}),
    merged("merged with nothing new", CONFIG_MAP, "a", data={"b": "2"}),
    replaced("replaced at the version that was read", "3", "{version a}"),
    replaced("replaced at another version", "4", "1"),
    merged("patched at another version", CONFIG_MAP, "a", metadata={"resourceVersion": "1"}, data={"c": "4"}),
    Asked("deleted with another uid", "DELETE", CONFIG_MAP, "a", {"preconditions": {"uid": "no-such"}}),
    Asked("a plan", "POST", CONFIG_MAP, body=config_map("plan-1", immutable=True)),
    Asked("another plan", "POST", CONFIG_MAP, body=config_map("plan-2")),
    merged("immutable data", CONFIG_MAP, "plan-1", data={"a": "2"}),
    Asked("listed by label", "GET", CONFIG_MAP, query=PLANS),
    Asked("listed without bodies", "GET", CONFIG_MAP, query=PLANS, accept=METADATA_LIST),
    Asked("listed by name", "GET", CONFIG_MAP, query={"fieldSelector": "metadata.name=plan-2"}),
    Asked("listed in pages", "GET", CONFIG_MAP, query={**PLANS, "limit": "1"}),
    Asked("deleted with its uid", "DELETE", CONFIG_MAP, "a", {"preconditions": {"uid": "{uid a}"}}),
    Asked("gone", "GET", CONFIG_MAP, "a"),
    Asked("a Connector, whose status is not taken", "POST", CONNECTOR, body=connector(status={"state": "Running"})),
    told("its status", "Running", resourceVersion="{version orders}"),
    told("its status at an earlier version", "Paused", resourceVersion="1"),
    told("the same status", "Running"),
    merged("the spec changes the generation", CONNECTOR, "orders", spec={"tasksMax": 2}),
    merged("metadata do not", CONNECTOR, "orders", metadata={"annotations": {"a": "b"}}),
    merged("the main resource does not change the status", CONNECTOR, "orders", status={"state": "Failed"}),
    merged(
        "a finalizer", CONNECTOR, "orders", metadata={"finalizers": [FINALIZER], "resourceVersion": "{version orders}"}
    ),
    Asked("a Connector deleted with another uid", "DELETE", CONNECTOR, "orders", {"preconditions": {"uid": "no-such"}}),
    Asked("deleted, and held", "DELETE", CONNECTOR, "orders", {"propagationPolicy": "Background"}),
    Asked("deleted once more", "DELETE", CONNECTOR, "orders"),
    Asked("read while it is held", "GET", CONNECTOR, "orders"),
    told("its status while it is held", "Stopped"),
    merged("let go", CONNECTOR, "orders", metadata={"finalizers": []}),
    Asked("a Connector that is gone", "GET", CONNECTOR, "orders"),
    told("the status of one that is gone", "Stopped", resourceVersion="1"),
    Asked("a Connector once more", "POST", CONNECTOR, body=connector()),
    Asked("that nothing holds", "DELETE", CONNECTOR, "orders"),
    Asked("a pod", "POST", POD, body=pod("orders-0-1")),
    Asked("the log of a pod without a node", "GET", POD, "orders-0-1", subresource="log", query={"container": "task"}),
    Asked("deleted without a node", "DELETE", POD, "orders-0-1", {"preconditions": {"uid": "{uid orders-0-1}"}}),
    Asked("the log of no pod", "GET", POD, "orders-0-1", subresource="log", query={"container": "task"}),
    Asked("a pod that is held", "POST", POD, body=pod("orders-0-2", finalizers=["example.com/held"])),
    Asked("deleted while it is held", "DELETE", POD, "orders-0-2"),
    merged("let go at last", POD, "orders-0-2", metadata={"finalizers": None}),
    Asked("no pods", "GET", POD),
]


class Client:
    """Sends requests to one of the two, and keeps what the comparison needs of the answers."""

    def __init__(self, server: ApiServer, namespace: str) -> None:
        self.server, self.namespace = server, namespace
        self._last: dict[str, tuple[str, str]] = {}
        self._uids: dict[str, str] = {}

    def send(self, asked: Asked) -> dict[str, Any]:
        """What is essential in the answer."""
        text = json.dumps(asked.body)
        for name, (uid, version) in self._last.items():
            text = text.replace(f"{{uid {name}}}", uid).replace(f"{{version {name}}}", version)
        body = json.loads(text)
        if asked.method in ("POST", "PUT") or asked.subresource == "status":
            body["metadata"]["namespace"] = self.namespace
        space = self.namespace if asked.kind.namespaced else None
        path = asked.kind.path(space, asked.name or None, asked.subresource)
        return self.essence(
            self.server.request(
                asked.method,
                asked.kind,
                path,
                asked.what,
                body=body,
                content_type=asked.content_type,
                query=asked.query,
                accept=asked.accept,
            )
        )

    def essence(self, answer: Answer) -> dict[str, Any]:
        if not answer.body.startswith(b"{"):
            return {"code": answer.code, "text": answer.body.decode()}
        document = json.loads(answer.body)
        if document.get("kind") == "Status" and document["status"] == "Failure":
            details = {k: v for k, v in document.get("details", {}).items() if k in ("name", "kind", "group")}
            return {
                "code": answer.code,
                "reason": document["reason"],
                "details": details,
                "message": self._plain(document["message"]),
            }
        if document.get("kind") == "Status":  # some deletions are answered with it in place of the object
            return {"code": answer.code, "deleted": document["details"]["name"]}
        if "items" in document:
            items = [self._object(i) for i in document["items"] if i["metadata"]["name"] != "kube-root-ca.crt"]
            return {"code": answer.code, "items": items, "more": bool(document["metadata"].get("continue"))}
        return {"code": answer.code, **self._object(document)}

    def _object(self, document: dict[str, Any]) -> dict[str, Any]:
        metadata = document["metadata"]
        name, uid, version = metadata["name"], metadata["uid"], metadata["resourceVersion"]
        before, self._last[name] = self._last.get(name), (uid, version)
        spec = document.get("spec") or {}
        return {
            "name": name,
            "namespace": metadata["namespace"],
            "is_the_same": before is not None and before[0] == uid,
            "is_unchanged": before == (uid, version),
            "leaves": "deletionTimestamp" in metadata,
            **{n: metadata.get(n) for n in ("labels", "annotations", "finalizers", "deletionGracePeriodSeconds")},
            "generation": metadata.get("generation") if "config" in spec else None,
            "spec": {n: spec.get(n) for n in ("class", "config", "tasksMax")} if "config" in spec else None,
            "data": document.get("data"),
            "immutable": document.get("immutable"),
            "status": {n: v for n, v in (document.get("status") or {}).items() if n in ("state", "phase")},
        }

    def _plain(self, message: str) -> str:
        return _UID.sub(lambda m: self._uids.setdefault(m[0], f"uid {len(self._uids)}"), message).replace(
            self.namespace, "shop"
        )


@pytest.fixture
def real(api_server: RealApiServer, namespace: str) -> Client:
    return Client(ApiServer.connect(kubeconfig=api_server.kubeconfig), namespace)


@pytest.fixture
def fake(namespace: str) -> Client:
    server = FakeApiServer(time.time)
    server.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    return Client(server, namespace)


def test_the_same_requests_get_the_same_answers(real: Client, fake: Client) -> None:
    differing = []
    for asked in REQUESTS:
        answers = real.send(asked), fake.send(asked)
        if answers[0] != answers[1]:
            differing.append(f"{asked.what}:\n  real {answers[0]}\n  fake {answers[1]}")
    assert not differing, "\n".join(differing)


def test_nothing_is_created_in_a_namespace_that_is_being_deleted_or_is_not_there(real: Client, fake: Client) -> None:
    for client in (real, fake):
        hold = Asked("held", "POST", CONFIG_MAP, body=config_map("held", metadata={"finalizers": [FINALIZER]}))
        assert client.send(hold)["code"] == 201
        path = NAMESPACE.path(None, client.namespace)
        assert client.server.request("DELETE", NAMESPACE, path, "the namespace").code == 200
    create = Asked("too late", "POST", CONFIG_MAP, body=config_map("late"))
    answers = real.send(create), fake.send(create)
    let_go = Asked("let go", "PATCH", CONFIG_MAP, "held", {"metadata": {"finalizers": None}}, content_type=MERGE)
    real.send(let_go)
    assert answers[0] == answers[1]
    for client in (real, fake):
        client.namespace = "nowhere"
    assert real.send(create) == fake.send(create)


def test_what_belongs_to_an_object_goes_with_it(real: Client, fake: Client) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "{uid owner}"}
    left = []
    for client in (real, fake):
        client.send(Asked("the owner", "POST", CONFIG_MAP, body=config_map("owner")))
        for name, owners in (("plan-owned", [owner]), ("plan-free", [])):
            body = config_map(name, metadata={"ownerReferences": owners})
            assert client.send(Asked(name, "POST", CONFIG_MAP, body=body))["code"] == 201
        client.send(Asked("the owner goes", "DELETE", CONFIG_MAP, "owner", {"propagationPolicy": "Background"}))
        until = time.monotonic() + 120
        while len(found := client.send(Asked("plans", "GET", CONFIG_MAP, query=PLANS))["items"]) > 1:
            assert time.monotonic() < until
            if isinstance(client.server, FakeApiServer):
                client.server.collect_garbage()
            else:
                time.sleep(0.2)
        left.append([i["name"] for i in found])
    assert left == [["plan-free"]] * 2
