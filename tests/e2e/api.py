"""An API server as tests see it: objects as plain JSON, and watches, so that nothing is asked for again and again."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import urllib3
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.client.rest import RESTClientObject
from kubernetes.config.kube_config import load_kube_config

__all__ = ["Api", "NotReached", "Object", "ready", "told"]

Object = dict[str, Any]
T = TypeVar("T")

_GROUPS: Final = {
    "connectors": "apis/penstock.dev/v1alpha1",
    "topiccreationpolicies": "apis/penstock.dev/v1alpha1",
    "pluginversions": "apis/penstock.dev/v1alpha1",
    "customresourcedefinitions": "apis/apiextensions.k8s.io/v1",
    "deployments": "apis/apps/v1",
    "statefulsets": "apis/apps/v1",
    "leases": "apis/coordination.k8s.io/v1",
    "events": "apis/events.k8s.io/v1",
    "validatingwebhookconfigurations": "apis/admissionregistration.k8s.io/v1",
}
_WITHOUT_NAMESPACE: Final = ("customresourcedefinitions", "namespaces", "nodes", "validatingwebhookconfigurations")
_PATIENCE: Final = 60
_AWAY: Final = 0.2
"""Seconds between two tries while nobody answers: only the tests that kill the API server come to that."""


class NotReached(AssertionError):
    """What was waited for has not come in time."""


class Api:
    """One API server.

    Args:
        kubeconfig: the file.
        context: one of its; None: the current one.
    """

    def __init__(self, kubeconfig: Path, context: str | None = None) -> None:
        self._configuration = Configuration()
        load_kube_config(str(kubeconfig), context=context, client_configuration=self._configuration)  # type: ignore[no-untyped-call]
        self._configuration.retries = urllib3.Retry(total=0)
        self._configuration.connection_pool_maxsize = 32
        self._rest = RESTClientObject(self._configuration)

    def get(self, plural: str, namespace: str | None, name: str) -> Object | None:
        """One object; None: there is none."""
        code, body = self._ask(_path(plural, namespace, name))
        if code == 404:
            return None
        return _good(code, body)

    def list(self, plural: str, namespace: str | None = None, *, labels: str = "", fields: str = "") -> list[Object]:
        """All objects of a kind."""
        return list(self._listed(_path(plural, namespace), labels, fields)[0].values())

    def answers(self) -> None:
        """Wait until it is ready, to the last of its parts."""
        end = time.monotonic() + _PATIENCE
        while self._ask("/readyz")[0] != 200:
            assert time.monotonic() < end, "the API server does not become ready"
            time.sleep(_AWAY)

    def log(self, namespace: str, pod: str, container: str, *, previous: bool = False) -> str:
        """What a container has written; empty where it has not begun."""
        query = urlencode({"container": container, "previous": str(previous).lower()})
        code, body = self._ask(f"{_path('pods', namespace, pod)}/log?{query}")
        return body if code == 200 else ""

    def follow(self, namespace: str, pod: str, container: str) -> Iterator[str]:
        """The lines that a container writes, from its first on, until it ends."""
        path = f"{_path('pods', namespace, pod)}/log?{urlencode({'container': container, 'follow': 'true'})}"
        yield from self._stream(path, None)

    def until(
        self,
        plural: str,
        namespace: str | None,
        name: str,
        claim: Callable[[Object | None], T | None],
        what: str,
        limit: float = 60,
    ) -> T:
        """Watch an object until something holds of it, and give what the claim gives.

        Args:
            plural: its kind.
            namespace: its.
            name: its.
            claim: of the object, or of None while there is none; None or False: not yet.
            what: for the message when it does not come.
            limit: seconds.

        Raises:
            NotReached: not within `limit`.
        """
        return self.until_all(
            plural, namespace, lambda found: claim(found.get(name)), what, limit, fields=f"metadata.name={name}"
        )

    def until_all(
        self,
        plural: str,
        namespace: str | None,
        claim: Callable[[Mapping[str, Object]], T | None],
        what: str,
        limit: float = 60,
        *,
        labels: str = "",
        fields: str = "",
    ) -> T:
        """Watch all objects of a kind, by name, until something holds of them."""
        end = time.monotonic() + limit
        found: dict[str, Object] = {}
        while True:
            try:
                for found in self._states(_path(plural, namespace), labels, fields, end):
                    answer = claim(found)
                    if answer is not None and answer is not False:
                        return answer
            except (urllib3.exceptions.HTTPError, OSError):
                time.sleep(_AWAY)
            if time.monotonic() >= end:
                shown = "\n".join(told(f) for f in found.values()) or "nothing is there"
                raise NotReached(f"not within {limit:.0f} s: {what}\n{shown}")

    def _states(self, path: str, labels: str, fields: str, end: float) -> Iterator[dict[str, Object]]:
        found, version = self._listed(path, labels, fields)
        yield found
        left = end - time.monotonic()
        if left <= 0:
            return
        query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": str(max(1, int(left)))}
        query |= _selected(labels, fields)
        for line in self._stream(f"{path}?{urlencode(query)}", left + 1):
            event = json.loads(line)
            thing = event["object"]
            match event["type"]:
                case "ADDED" | "MODIFIED":
                    found[thing["metadata"]["name"]] = thing
                case "DELETED":
                    found.pop(thing["metadata"]["name"], None)
                case _:  # 410: what we know is too old
                    return
            yield found
            if time.monotonic() >= end:
                return

    def _listed(self, path: str, labels: str, fields: str) -> tuple[dict[str, Object], str]:
        code, body = self._ask(f"{path}?{urlencode(_selected(labels, fields))}")
        if code >= 500:
            raise OSError(f"{path}: {code}")
        answer = _good(code, body)
        return {i["metadata"]["name"]: i for i in answer["items"]}, answer["metadata"]["resourceVersion"]

    def _ask(self, path: str) -> tuple[int, str]:
        """Ask until somebody answers."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                answer = self._rest.request("GET", self._url(path), headers=self._headers(), _request_timeout=(5, 30))  # type: ignore[no-untyped-call]
                return answer.status, answer.read().decode("utf-8", "replace")
            except (urllib3.exceptions.HTTPError, ApiException, OSError):
                if time.monotonic() > end:
                    raise
                time.sleep(_AWAY)

    def _stream(self, path: str, seconds: float | None) -> Iterator[str]:
        answer = self._rest.pool_manager.request(
            "GET",
            self._url(path),
            headers=self._headers(),
            preload_content=False,
            timeout=urllib3.Timeout(connect=5, read=seconds),
        )
        try:
            pending = b""
            if answer.status < 300:
                for part in answer.stream(1 << 16, decode_content=False):
                    *lines, pending = (pending + part).split(b"\n")
                    yield from (line.decode("utf-8", "replace") for line in lines if line)
        finally:
            answer.close()

    def _url(self, path: str) -> str:
        return str(self._configuration.host).rstrip("/") + path

    def _headers(self) -> dict[str, str]:
        found = {"Accept": "application/json, */*"}
        token = self._configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        if token is not None:
            found["Authorization"] = str(token)
        return found


def ready(kind: str = "Ready") -> Callable[[Object | None], bool]:
    """The claim that a condition is true."""

    def claim(found: Object | None) -> bool:
        conditions = ((found or {}).get("status") or {}).get("conditions") or ()
        return any(c["type"] == kind and c["status"] == "True" for c in conditions)

    return claim


def told(thing: Mapping[str, Any]) -> str:
    """An object, for people: name, generation, status."""
    own = thing["metadata"]
    return f"{own['name']} (generation {own.get('generation')}): {json.dumps(thing.get('status'), indent=1)}"


def _path(plural: str, namespace: str | None, name: str | None = None) -> str:
    parts = [_GROUPS.get(plural, "api/v1")]
    if namespace and plural not in _WITHOUT_NAMESPACE:
        parts += ["namespaces", namespace]
    return "/" + "/".join([*parts, plural, *([name] if name else [])])


def _selected(labels: str, fields: str) -> dict[str, str]:
    chosen = {"labelSelector": labels, "fieldSelector": fields}
    return {name: value for name, value in chosen.items() if value}


def _good(code: int, body: str) -> Object:
    assert code < 300, body
    return dict(json.loads(body))
