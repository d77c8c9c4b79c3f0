"""Read and write Kubernetes objects as plain JSON, with the operator's exceptions.

Calls block, with timeouts. Thread-safe. Nothing is cached.
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from penstock_operator.errors import Conflict, NotYet, OperatorError, Unavailable
from penstock_operator.kubernetes.api_errors import Answer, error_of, status_of
from penstock_operator.kubernetes.api_server import COMPONENT, JSON, METADATA_LIST, ApiServer
from penstock_operator.kubernetes.event_recorder import RecentEvents, event_manifest
from penstock_operator.kubernetes.kinds import POD, Kind, kind_of
from penstock_operator.kubernetes.leftovers import removal_of_leftovers

__all__ = ["Kube"]

_PAGE: Final = 500
_MERGE: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"
_STATUS_TRIES: Final = 4
_LOG_LINES: Final = 1_000
"""Maximum number of log lines to read; the container runtime splits long lines into lines of 16 KiB."""

Object = dict[str, Any]
Objects = list[Object]


class Kube:
    """Client for the objects of an API server.

    Attributes:
        server: the API server, for other clients of the same process.

    Args:
        server: the API server.
        permit: called before each request that changes an object; raises if it must not be sent.
    """

    def __init__(self, server: ApiServer, permit: Callable[[], None] = lambda: None) -> None:
        self.server = server
        self._permit = permit
        self._instance = os.environ.get("HOSTNAME", COMPONENT)
        self._events = RecentEvents()

    @classmethod
    def connect(cls, *, kubeconfig: Path | None = None, context: str | None = None, **more: Any) -> "Kube":
        """Return a client for this pod's cluster, or for a kubeconfig file; see `ApiServer.connect`.

        Raises:
            ConfigError: there is no service account, or the file cannot be read or is incomplete.
        """
        return cls(ApiServer.connect(kubeconfig=kubeconfig, context=context, **more))

    def within(self, permit: Callable[[], None]) -> "Kube":
        """Return a client for the same API server that sends changes only if `permit` does not raise an exception."""
        return Kube(self.server, permit)

    def within_seconds(self, connect: float, read: float) -> "Kube":
        """Return a client for the same API server with other timeouts. It must be closed separately."""
        return Kube(self.server.within_seconds(connect, read), self._permit)

    def get(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        """Return an object; None: it does not exist.

        Raises:
            NotYet, Unavailable, Refused: as in all methods of this class.
        """
        doing = f"Reading {_named(kind, namespace, name)}"
        answer = self._request("GET", kind, kind.path(namespace, name), doing)
        if _absent(answer, kind):
            return None
        return _object(answer, doing)

    def list(
        self,
        kind: Kind,
        namespace: str | None,
        *,
        labels: Mapping[str, str] | None = None,
        fields: str = "",
        bodies: bool = True,
        most: int | None = None,
    ) -> Objects:
        """Return the objects of a kind, each with `apiVersion` and `kind`.

        Args:
            kind: kind of the objects.
            namespace: their namespace; None: all namespaces.
            labels: label selector.
            fields: field selector.
            bodies: whether to return whole objects; if not, only their metadata.
            most: maximum number of objects, the first ones by name; None: all.
        """
        doing = f"Listing {kind.plural} of {namespace or 'all namespaces'}"
        query = {"limit": str(min(_PAGE, most or _PAGE))}
        if labels:
            query["labelSelector"] = ",".join(f"{n}={v}" for n, v in labels.items())
        if fields:
            query["fieldSelector"] = fields
        for _ in range(2):
            objects = self._pages(kind, namespace, query, doing, JSON if bodies else METADATA_LIST, most)
            if objects is not None:
                return objects
        raise Unavailable(f"{doing}: the list changed faster than it could be read")

    def create(self, manifest: Mapping[str, Any], *, manager: str = "penstock") -> Object | None:
        """Create an object and return it; None: an object of that name already exists.

        Raises:
            Refused: for example, its namespace is being deleted (`namespace_ends`) or over quota (`over_quota`).
        """
        kind, namespace, name = _of(manifest)
        doing = f"Creating {_named(kind, namespace, name)}"
        path = kind.path(namespace)
        answer = self._request("POST", kind, path, doing, body=manifest, query={"fieldManager": manager})
        if answer.code == 409 and status_of(answer).get("reason") == "AlreadyExists":
            return None
        return _object(answer, doing)

    def replace(self, manifest: Mapping[str, Any], *, manager: str = "penstock") -> Object | None:
        """Replace an object that was read with this `resourceVersion`, and return it; None: it no longer exists.

        Raises:
            Conflict: it has changed since it was read.
        """
        kind, namespace, name = _of(manifest)
        doing = f"Replacing {_named(kind, namespace, name)}"
        path = kind.path(namespace, name)
        answer = self._request("PUT", kind, path, doing, body=manifest, query={"fieldManager": manager})
        return None if _absent(answer, kind) else _object(answer, doing)

    def apply_status(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        status: Mapping[str, Any],
        *,
        uid: str,
        manager: str,
        resource_version: str | None = None,
    ) -> Object | None:
        """Apply the status of an object server-side, and return it; None: it was deleted, or another one has its name.

        The API server does not check the uid of an applied status, only its resourceVersion. So the object is read first,
        unless the caller has just read it.

        Args:
            kind: kind of the object.
            namespace: namespace of the object.
            name: name of the object.
            status: all fields that this manager owns.
            uid: UID of the object.
            manager: the field manager.
            resource_version: resourceVersion that the caller has read with this uid, to save a request; None: read it.

        Raises:
            Conflict: it changed faster than it could be written.
        """
        doing = f"Writing the status of {_named(kind, namespace, name)}"
        for _ in range(_STATUS_TRIES):
            if resource_version is None:
                now = self.get(kind, namespace, name)
                if now is None or now["metadata"]["uid"] != uid:
                    return None
                resource_version = now["metadata"]["resourceVersion"]
            manifest = {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                "metadata": {"namespace": namespace, "name": name, "resourceVersion": resource_version},
                "status": status,
            }
            answer = self._apply(kind, kind.path(namespace, name, "status"), doing, manifest, manager)
            if _absent(answer, kind):
                return None
            if answer.code != 409:
                written = _object(answer, doing)
                patch = removal_of_leftovers(status, written.get("status") or {})
                return self._merge_status(kind, written, patch, doing, manager) if patch else written
            resource_version = None
        raise Conflict(f"{doing}: it changed faster than it could be written")

    def _merge_status(
        self, kind: Kind, written: Object, patch: Mapping[str, Any], doing: str, manager: str
    ) -> Object | None:
        """Remove fields that other writers added to the status; after a conflict, the next write does it."""
        metadata = written["metadata"]
        body = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": patch}
        path = kind.path(metadata["namespace"], metadata["name"], "status")
        answer = self._request(
            "PATCH", kind, path, doing, body=body, content_type=_MERGE, query={"fieldManager": manager}
        )
        if _absent(answer, kind):
            return None
        return written if answer.code == 409 else _object(answer, doing)

    def delete(self, kind: Kind, namespace: str, name: str, *, uid: str | None = None) -> bool:
        """Delete an object; False: it does not exist, or (with `uid`) another one has its name.

        Args:
            kind: kind of the object.
            namespace: namespace of the object.
            name: name of the object.
            uid: UID that the object must have; None: any.
        """
        doing = f"Deleting {_named(kind, namespace, name)}"
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        answer = self._request("DELETE", kind, kind.path(namespace, name), doing, body=options)
        if _absent(answer, kind):
            return False
        try:
            _object(answer, doing)
        except Conflict:
            if uid is None:
                raise
            now = self.get(kind, namespace, name)
            if now is not None and now["metadata"]["uid"] == uid:
                raise
            return False
        return True

    def merge(self, manifest: Mapping[str, Any], *, manager: str = "penstock") -> Object | None:
        """Merge a manifest into an object, and return it; None: it no longer exists.

        Raises:
            Conflict: the uid or resourceVersion in the manifest is outdated.
        """
        kind, namespace, name = _of(manifest)
        doing = f"Writing {_named(kind, namespace, name)}"
        answer = self._request(
            "PATCH",
            kind,
            kind.path(namespace, name),
            doing,
            body=manifest,
            content_type=_MERGE,
            query={"fieldManager": manager},
        )
        return None if _absent(answer, kind) else _object(answer, doing)

    def finalizers(
        self, kind: Kind, namespace: str, name: str, finalizers: Sequence[str], *, resource_version: str
    ) -> bool:
        """Replace the finalizers of an object read with this version; False: it has changed or was deleted."""
        doing = f"Writing the finalizers of {_named(kind, namespace, name)}"
        body = {"metadata": {"finalizers": [*finalizers], "resourceVersion": resource_version}}
        answer = self._request(
            "PATCH",
            kind,
            kind.path(namespace, name),
            doing,
            body=body,
            content_type=_MERGE,
            query={"fieldManager": "penstock"},
        )
        if _absent(answer, kind):
            return False
        try:
            _object(answer, doing)
        except Conflict:
            return False
        return True

    def log(self, namespace: str, pod: str, container: str, *, limit_bytes: int) -> str:
        """Return the last lines of a container's log; empty: the pod no longer exists, or is not scheduled yet.

        Args:
            namespace: namespace of the pod.
            pod: name of the pod.
            container: name of the container.
            limit_bytes: maximum bytes from the first of these lines on; the rest is omitted.

        Raises:
            NotYet: the container has not started.
        """
        doing = f"Reading the log of Pod {namespace}/{pod}"
        query = {"container": container, "limitBytes": str(limit_bytes), "tailLines": str(_LOG_LINES)}
        answer = self._request("GET", POD, POD.path(namespace, pod, "log"), doing, query=query, verb="log")
        if _absent(answer, POD):
            return ""
        if answer.code == 400:
            raise NotYet(str(error_of(answer, doing)), 1.0)
        if answer.code >= 300:
            raise error_of(answer, doing)
        return answer.body.decode("utf-8", "replace")

    def event(self, involved: Mapping[str, Any], *, type_: str, reason: str, message: str, action: str) -> None:
        """Write an Event about an object, the same Event at most once in ten minutes. Never raises `OperatorError`.

        Args:
            involved: the object, with `apiVersion`, `kind` and `metadata`.
            type_: Normal or Warning.
            reason: a reason of `penstock_operator.reasons`, or of Kubernetes.
            message: message without secrets, truncated to 1 KiB.
            action: the operator's action, a CamelCase word.
        """
        now = time.time()
        identity = (involved["metadata"].get("uid", ""), reason, message)
        if not self._events.add(identity, now):
            return
        manifest = event_manifest(
            involved,
            type_=type_,
            reason=reason,
            message=message,
            action=action,
            controller=COMPONENT,
            instance=self._instance,
            now=now,
        )
        try:
            self.create(manifest)
        except OperatorError:
            self._events.remove(identity)

    def serves(self, kind: Kind) -> bool:
        """Return whether the API server serves this kind of object, that is, whether its CRD is installed."""
        doing = f"Discovering {kind.plural}"
        answer = self._request("GET", kind, kind.path().rpartition("/")[0], doing, verb="discover")
        if answer.code == 404:
            return False
        return any(r.get("name") == kind.plural for r in _object(answer, doing).get("resources") or ())

    def close(self) -> None:
        self.server.close()

    def _request(self, method: str, kind: Kind, path: str, doing: str, **more: Any) -> Answer:
        if method != "GET":
            self._permit()
        return self.server.request(method, kind, path, doing, **more)

    def _apply(self, kind: Kind, path: str, doing: str, manifest: Mapping[str, Any], manager: str) -> Answer:
        query = {"fieldManager": manager, "force": "true"}
        return self._request("PATCH", kind, path, doing, body=manifest, content_type=_APPLY, query=query, verb="apply")

    def _pages(
        self, kind: Kind, namespace: str | None, query: Mapping[str, str], doing: str, accept: str, most: int | None
    ) -> Objects | None:
        objects: Objects = []
        more = ""
        while True:
            page = {**query, "continue": more} if more else query
            answer = self._request("GET", kind, kind.path(namespace), doing, query=page, verb="list", accept=accept)
            if answer.code == 410 and more:
                return None
            body = _object(answer, doing)
            objects += ({**item, "apiVersion": kind.api_version, "kind": kind.kind} for item in body.get("items") or ())
            more = body.get("metadata", {}).get("continue") or ""
            if not more or (most is not None and len(objects) >= most):
                return objects[:most]


def _absent(answer: Answer, kind: Kind) -> bool:
    """Return whether the answer is that the object does not exist, rather than its kind or namespace."""
    details = status_of(answer).get("details") or {}
    return answer.code == 404 and bool(details.get("name")) and details.get("kind", kind.plural) == kind.plural


def _object(answer: Answer, doing: str) -> Object:
    if answer.code >= 300:
        raise error_of(answer, doing)
    try:
        document = json.loads(answer.body)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise Unavailable(f"{doing}: the response is not from a Kubernetes API server")
    return document


def _of(manifest: Mapping[str, Any]) -> tuple[Kind, str | None, str]:
    metadata = manifest["metadata"]
    return kind_of(manifest), metadata.get("namespace"), metadata["name"]


def _named(kind: Kind, namespace: str | None, name: str) -> str:
    return f"{kind.kind} {namespace}/{name}" if namespace else f"{kind.kind} {name}"
