"""Answers of an API server: an object, or a `Status` that says why there is none."""

from http import HTTPStatus
from typing import Any

import msgspec

from penstock_operator.kubernetes.api_errors import Answer
from penstock_operator.kubernetes.kinds import Kind

__all__ = [
    "Object",
    "answer",
    "conflict",
    "deleted",
    "denied",
    "failure",
    "namespace_ends",
    "not_found",
    "other_uid",
    "over_quota",
    "resource_of",
]

Object = dict[str, Any]


def denied(message: str) -> Answer:
    """The answer where a policy of admission denies a request."""
    return failure(HTTPStatus.FORBIDDEN, "Forbidden", message)


def over_quota(kind: Kind, name: str) -> Answer:
    """The answer where a ResourceQuota is used up."""
    room = "exceeded quota: most, requested: pods=1, used: pods=1, limited: pods=1"
    message = f'{resource_of(kind)} "{name}" is forbidden: {room}'
    return failure(HTTPStatus.FORBIDDEN, "Forbidden", message, kind, name)


def namespace_ends(kind: Kind, name: str, namespace: str) -> Answer:
    """The answer where something is created in a namespace that is being deleted."""
    message = (
        f'{resource_of(kind)} "{name}" is forbidden: unable to create new content in namespace {namespace} because it is '
        "being terminated"
    )
    cause = {"reason": "NamespaceTerminating", "message": f"namespace {namespace} is being terminated"}
    return failure(HTTPStatus.FORBIDDEN, "Forbidden", message, kind, name, causes=[cause])


def resource_of(kind: Kind) -> str:
    """The plural with the group, as messages name a kind."""
    group = _group(kind)
    return f"{kind.plural}.{group}" if group else kind.plural


def not_found(kind: Kind, name: str) -> Answer:
    """The answer where there is no such object."""
    return failure(HTTPStatus.NOT_FOUND, "NotFound", f'{resource_of(kind)} "{name}" not found', kind, name)


def conflict(kind: Kind, name: str) -> Answer:
    """The answer where a request names another version of an object."""
    message = "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {resource_of(kind)} "{name}": {message}'
    return failure(HTTPStatus.CONFLICT, "Conflict", message, kind, name)


def other_uid(kind: Kind, name: str, asked: str, present: str) -> Answer:
    """The answer where an object with another uid is to be deleted."""
    group = _group(kind)
    message = (
        f'Operation cannot be fulfilled on {kind.kind}{f".{group}" if group else ""} "{name}": the UID in the precondition '
        f"({asked}) does not match the UID in record ({present}). The object might have been deleted and then recreated"
    )
    return failure(HTTPStatus.CONFLICT, "Conflict", message, kind, name, singular=True)


def deleted(kind: Kind, last: Object) -> Answer:
    """The answer where an object is removed at once; for pods it is the object."""
    details = {"name": last["metadata"]["name"], "kind": kind.plural, "uid": last["metadata"]["uid"]}
    return answer(HTTPStatus.OK, {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": details})


def failure(
    code: HTTPStatus,
    reason: str,
    message: str,
    kind: Kind | None = None,
    name: str = "",
    *,
    singular: bool = False,
    **details: Any,
) -> Answer:
    """An answer that is an error.

    Args:
        code: of HTTP.
        reason: one word.
        message: a sentence.
        kind: of the object; None: it is about none.
        name: name of the object.
        singular: whether its kind is named as in manifests, and not as in paths.
        details: more of them.
    """
    if kind is not None:
        details |= {"name": name, "kind": kind.kind if singular else kind.plural}
        details |= {"group": group} if (group := _group(kind)) else {}
    return answer(
        code,
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": message,
            "reason": reason,
            "details": details,
            "code": int(code),
        },
    )


def answer(code: HTTPStatus, document: Object) -> Answer:
    """An answer with a document."""
    return Answer(int(code), {}, msgspec.json.encode(document))


def _group(kind: Kind) -> str:
    return kind.api_version.rpartition("/")[0]
