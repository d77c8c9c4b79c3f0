"""The objects of an API server in memory: how they are created, changed and deleted."""

import itertools
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec

from penstock_operator.kubernetes.api_errors import Answer
from penstock_operator.kubernetes.kinds import CONNECTOR, NAMESPACE, POD, Kind, kind_of
from penstock_operator.kubernetes.times import timestamp

from .fake_api_answers import Object, conflict, failure, namespace_ends, not_found, other_uid, resource_of

__all__ = ["ApiObjects", "ApiRefusal", "copy_of"]

_Key = tuple[Kind, str, str]
_WITH_STATUS: Final = (CONNECTOR, POD)
"""Kinds whose status is a subresource."""
_SET_BY_SERVER: Final = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")
_GRACE: Final = 30
"""Seconds that a pod has to end, where its spec says nothing else."""


class ApiRefusal(Exception):
    """A request is answered with an error."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.code)
        self.answer = answer


class ApiObjects:
    """Objects by kind, namespace and name. Nothing is defaulted but what the operator reads. For one thread.

    The public methods are what others than the operator do: users, kubelet, other controllers.

    Attributes:
        removed: the last versions of objects that are gone.
        revision: how many changes there were.

    Args:
        clock: seconds since 1970.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._objects: dict[_Key, Object] = {}
        self._uids = itertools.count(1)
        self.removed: dict[_Key, Object] = {}
        self.revision = 0

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """A copy of an object."""
        present = self._objects.get((kind, namespace, name))
        return None if present is None else copy_of(present)

    def list(self, kind: Kind, namespace: str) -> list[Object]:
        """Copies of the objects of a kind, in the order in which they were created."""
        return [copy_of(o) for (k, n, _), o in self._objects.items() if (k, n) == (kind, namespace)]

    def add(self, manifest: Mapping[str, Any]) -> Object:
        """Create an object; a status is kept."""
        kind, metadata = kind_of(manifest), manifest["metadata"]
        return copy_of(self._create(kind, metadata.get("namespace", ""), copy_of(manifest), keeps_status=True))

    def edit(self, kind: Kind, namespace: str, name: str, change: Callable[[Object], None]) -> None:
        """Change an object, its status too."""
        before = self._objects[kind, namespace, name]
        after = copy_of(before)
        change(after)
        self._store(kind, before, after)

    def delete(self, kind: Kind, namespace: str, name: str, *, grace: int | None = None) -> None:
        """Delete an object as a user does."""
        self._delete(kind, namespace, name, None, grace)

    def remove(self, kind: Kind, namespace: str, name: str) -> None:
        """Remove an object at once, whatever finalizers it has."""
        self._remove((kind, namespace, name), self._objects[kind, namespace, name])

    def collect_garbage(self) -> bool:
        """Delete what belongs to an object that is gone; False: there is nothing."""
        uids = {o["metadata"]["uid"] for o in self._objects.values()}
        orphans = [
            key
            for key, o in self._objects.items()
            if (owners := o["metadata"].get("ownerReferences"))
            and not {r["uid"] for r in owners} & uids
            and "deletionTimestamp" not in o["metadata"]
        ]
        for kind, namespace, name in orphans:
            self._delete(kind, namespace, name, None, None)
        return bool(orphans)

    # What requests do

    def _present(self, kind: Kind, namespace: str, name: str) -> Object:
        present = self._objects.get((kind, namespace, name))
        if present is None:
            raise ApiRefusal(not_found(kind, name))
        return present

    def _create(self, kind: Kind, namespace: str, manifest: Object, *, keeps_status: bool = False) -> Object:
        metadata = manifest["metadata"]
        if kind.namespaced:
            space = self._objects.get((NAMESPACE, "", namespace))
            if space is None:
                raise ApiRefusal(not_found(NAMESPACE, namespace))
            if "deletionTimestamp" in space["metadata"]:
                raise ApiRefusal(namespace_ends(kind, metadata["name"], namespace))
            metadata["namespace"] = namespace
        if (kind, namespace, metadata["name"]) in self._objects:
            message = f'{resource_of(kind)} "{metadata["name"]}" already exists'
            raise ApiRefusal(failure(HTTPStatus.CONFLICT, "AlreadyExists", message, kind, metadata["name"]))
        if not keeps_status and kind in _WITH_STATUS:
            manifest.pop("status", None)
        if kind is POD:
            manifest.setdefault("status", {"phase": "Pending"})
        metadata |= {
            "uid": metadata.get("uid") or f"{kind.kind.lower()}-{next(self._uids)}",
            "creationTimestamp": timestamp(self._clock()),
            "resourceVersion": self._next_version(),
        }
        if kind is CONNECTOR:
            metadata["generation"] = 1
        if kind is NAMESPACE:
            manifest["spec"] = {"finalizers": ["kubernetes"]}
        self._objects[kind, namespace, metadata["name"]] = manifest
        return manifest

    def _replace(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        before = self._at_version(kind, namespace, name, body)
        after = {**body, "metadata": {**before["metadata"], **body["metadata"]}}
        after["metadata"] |= {n: before["metadata"][n] for n in _SET_BY_SERVER if n in before["metadata"]}
        return self._store_main(kind, before, after)

    def _patch(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        before = self._at_version(kind, namespace, name, body)
        return self._store_main(kind, before, _merged(before, body))

    def _apply_status(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        before = self._at_version(kind, namespace, name, body)
        return self._store(kind, before, {**before, "status": body["status"]})

    def _delete(self, kind: Kind, namespace: str, name: str, uid: str | None, grace: int | None) -> Object:
        """Delete an object: as it is from then on, or was at last."""
        before = self._present(kind, namespace, name)
        metadata = before["metadata"]
        if uid is not None and uid != metadata["uid"]:
            raise ApiRefusal(other_uid(kind, name, uid, metadata["uid"]))
        seconds = _grace_of(before, grace) if kind is POD else 0
        remaining = metadata.get("deletionGracePeriodSeconds")
        leaves = {"deletionTimestamp": timestamp(self._clock() + seconds), "deletionGracePeriodSeconds": seconds}
        after = {**before, "metadata": {**metadata, **leaves}}
        if not _is_held(before) and not seconds:
            if kind is POD:  # it is written once more before it is removed
                after["metadata"]["resourceVersion"] = self._next_version()
            self._remove((kind, namespace, name), after)
            return after
        if remaining is not None and seconds >= remaining:
            return before
        return self._store(kind, before, after)

    def _at_version(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        """The object, if a request names no other version of it."""
        present = self._present(kind, namespace, name)
        version = body.get("metadata", {}).get("resourceVersion")
        if version is not None and version != present["metadata"]["resourceVersion"]:
            raise ApiRefusal(conflict(kind, name))
        return present

    def _store_main(self, kind: Kind, before: Object, after: Object) -> Object:
        """Store what a request on the object itself changes: not its status, and no data that are immutable."""
        if kind in _WITH_STATUS:
            after = {k: v for k, v in after.items() if k != "status"}
            after |= {"status": before["status"]} if "status" in before else {}
        if before.get("immutable") and after.get("data") != before.get("data"):
            name = before["metadata"]["name"]
            message = f'{kind.kind} "{name}" is invalid: data: Forbidden: field is immutable when `immutable` is set'
            code = HTTPStatus.UNPROCESSABLE_ENTITY
            raise ApiRefusal(failure(code, "Invalid", message, kind, name, singular=True))
        return self._store(kind, before, after)

    def _store(self, kind: Kind, before: Object, after: Object) -> Object:
        metadata = {n: v for n, v in after["metadata"].items() if n != "finalizers" or v}
        after = {**after, "metadata": metadata}
        key = kind, metadata.get("namespace", ""), metadata["name"]
        if after == before:
            return before
        is_deleted = "deletionTimestamp" in metadata
        if is_deleted and not _is_held(after) and not metadata.get("deletionGracePeriodSeconds"):
            self._remove(key, after)
            return after
        metadata["resourceVersion"] = self._next_version()
        is_newly_deleted = is_deleted and "deletionTimestamp" not in before["metadata"]
        if kind is CONNECTOR and (after["spec"] != before["spec"] or is_newly_deleted):
            metadata["generation"] = before["metadata"]["generation"] + 1
        self._objects[key] = after
        return after

    def _remove(self, key: _Key, last: Object) -> None:
        self.revision += 1
        self.removed[key] = last
        del self._objects[key]

    def _next_version(self) -> str:
        self.revision += 1
        return str(self.revision)


def _is_held(document: Object) -> bool:
    """Whether a finalizer holds an object; a namespace has its own in its spec."""
    return bool(document["metadata"].get("finalizers") or document.get("spec", {}).get("finalizers"))


def _grace_of(pod: Object, grace: int | None) -> int:
    """Seconds that a pod has to end: none where it runs nowhere, or has ended."""
    if not pod["spec"].get("nodeName") or pod["status"].get("phase") in ("Succeeded", "Failed"):
        return 0
    return int(pod["spec"].get("terminationGracePeriodSeconds", _GRACE) if grace is None else grace)


def _merged(before: Any, patch: Any) -> Any:
    """A merge patch (RFC 7396) on a value."""
    if not isinstance(patch, Mapping):
        return patch
    after = dict(before) if isinstance(before, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            after.pop(name, None)
        else:
            after[name] = _merged(after.get(name), value)
    return after


def copy_of(document: Mapping[str, Any]) -> Object:
    """A copy, as it comes out of JSON."""
    copied: Object = msgspec.json.decode(msgspec.json.encode(document))
    return copied
