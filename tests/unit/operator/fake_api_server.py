"""An API server in memory, at the seam below `Kube`: it answers requests as the real one does, as far as Kube uses that.

`tests/integration/operator/test_fake_api_server.py` sends the same requests to both.
"""

from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from penstock_operator.kubernetes.api_errors import Answer
from penstock_operator.kubernetes.api_server import JSON, METADATA_LIST, ApiServer
from penstock_operator.kubernetes.kinds import POD, Kind

from .fake_api_answers import Object, answer, deleted, failure
from .fake_api_objects import ApiObjects, ApiRefusal, copy_of

__all__ = ["FakeApiServer", "Request"]

_MERGE: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"


class Request(NamedTuple):
    """A request that changes something."""

    method: str
    kind: Kind
    namespace: str
    name: str
    body: Object
    subresource: str = ""


class FakeApiServer(ApiObjects, ApiServer):
    """An API server that keeps its objects in memory. For one thread.

    Requests come by `request`, as from the operator. The methods of `ApiObjects` are what others do; no hook sees that.

    Attributes:
        before_write: called before each request that changes something; what it raises ends the request.
        admit: called with each such request; an answer refuses it.
        logs: logs of pods, by uid.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.before_write: Callable[[Request], None] = lambda request: None
        self.admit: Callable[[Request], Answer | None] = lambda request: None
        self.logs: dict[str, str] = {}

    def request(
        self,
        method: str,
        kind: Kind,
        path: str,
        doing: str,
        *,
        body: Mapping[str, Any] | None = None,
        content_type: str = JSON,
        query: Mapping[str, str] | None = None,
        verb: str = "",
        accept: str = JSON,
        authorization: str | None = None,
    ) -> Answer:
        namespace, name, subresource = _parts(kind, path)
        sent: Object = copy_of(body) if body is not None else {}
        try:
            if method == "GET":
                return self._read(kind, namespace, name, subresource, query or {}, accept)
            name = name or sent.get("metadata", {}).get("name", "")
            request = Request(method, kind, namespace, name, sent, subresource)
            self.before_write(request)
            return self.admit(request) or self._write(request, content_type)
        except ApiRefusal as e:
            return e.answer

    def close(self) -> None:
        pass

    def _write(self, request: Request, content_type: str) -> Answer:
        method, kind, namespace, name, body, subresource = request
        match method, subresource:
            case "POST", "":
                return answer(HTTPStatus.CREATED, self._create(kind, namespace, body))
            case "PUT", "":
                return answer(HTTPStatus.OK, self._replace(kind, namespace, name, body))
            case "PATCH", "" if content_type == _MERGE:
                return answer(HTTPStatus.OK, self._patch(kind, namespace, name, body))
            case "PATCH", "status" if content_type == _APPLY:
                return answer(HTTPStatus.OK, self._apply_status(kind, namespace, name, body))
            case "DELETE", "":
                uid = (body.get("preconditions") or {}).get("uid")
                last = self._delete(kind, namespace, name, uid, body.get("gracePeriodSeconds"))
                is_gone = self.get(kind, namespace, name) is None
                return deleted(kind, last) if is_gone and kind is not POD else answer(HTTPStatus.OK, last)
            case _:
                raise NotImplementedError(f"{method} {kind} {subresource} with {content_type}")

    def _read(
        self, kind: Kind, namespace: str, name: str, subresource: str, query: Mapping[str, str], accept: str
    ) -> Answer:
        if not name:
            return self._list(kind, namespace, query, accept)
        present = self._present(kind, namespace, name)
        return self._log(present, query["container"]) if subresource == "log" else answer(HTTPStatus.OK, present)

    def _list(self, kind: Kind, namespace: str, query: Mapping[str, str], accept: str) -> Answer:
        labels = dict(part.split("=", 1) for part in query.get("labelSelector", "").split(",") if part)
        fields = dict(part.split("=", 1) for part in query.get("fieldSelector", "").split(",") if part)
        assert {*fields} <= {"metadata.name", "regarding.kind", "regarding.uid", "type"}, fields
        after, limit = query.get("continue", ""), int(query.get("limit", "0"))
        matches = [
            o
            for (k, n, name), o in sorted(self._objects.items(), key=lambda item: item[0][1:])
            if k == kind
            and namespace in ("", n)
            and labels.items() <= (o["metadata"].get("labels") or {}).items()
            and all(_field(o, path) == value for path, value in fields.items())
            and f"{n}/{name}" > after
        ]
        metadata: Object = {"resourceVersion": str(self.revision)}
        if limit and len(matches) > limit:
            matches = matches[:limit]
            last = matches[-1]["metadata"]
            metadata["continue"] = f"{last.get('namespace', '')}/{last['name']}"
        if accept == METADATA_LIST:
            matches = [{"metadata": o["metadata"]} for o in matches]
        return answer(HTTPStatus.OK, {"kind": f"{kind.kind}List", "metadata": metadata, "items": matches})

    def _log(self, pod: Object, container: str) -> Answer:
        statuses = (pod.get("status") or {}).get("containerStatuses") or ()
        state: Object = next((c["state"] for c in statuses if c["name"] == container), {})
        if not pod["spec"].get("nodeName"):
            return Answer(HTTPStatus.NO_CONTENT, {}, b"")
        if not {"running", "terminated"} & state.keys():
            message = f'container "{container}" in pod "{pod["metadata"]["name"]}" is waiting to start'
            return failure(HTTPStatus.BAD_REQUEST, "BadRequest", message)
        return Answer(HTTPStatus.OK, {}, self.logs.get(pod["metadata"]["uid"], "").encode())


def _field(document: Object, path: str) -> Any:
    """The value of a field that lists may be selected by."""
    found: Any = document
    for name in path.split("."):
        found = found[name]
    return found


def _parts(kind: Kind, path: str) -> tuple[str, str, str]:
    """Namespace, name and subresource in a path; empty: there is none."""
    root = kind.path() if not kind.namespaced else kind.path().removesuffix(f"/{kind.plural}")
    rest: Iterator[str] = iter([unquote(p) for p in path.removeprefix(root).split("/") if p])
    namespace = ""
    if kind.namespaced:
        first = next(rest)
        if first == "namespaces":
            namespace, _ = next(rest), next(rest)
    return namespace, next(rest, ""), next(rest, "")
