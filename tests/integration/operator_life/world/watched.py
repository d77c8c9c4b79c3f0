"""What stands under a path of the API server, followed by list and watch, so that tests wait for it and never sleep."""

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar
from urllib.parse import urlencode, urlsplit

from penstock_operator.kubernetes.api_server import Connection

__all__ = ["Json", "Watched", "key_of"]

Json = dict[str, Any]
T = TypeVar("T")
_AGAIN: Final = 0.2
_WATCH_SECONDS: Final = 300


def key_of(body: Mapping[str, Any]) -> str:
    """`<namespace>/<name>`."""
    return f"{body['metadata'].get('namespace', '')}/{body['metadata']['name']}"


class Watched:
    """The objects under some paths, as they are now; a path whose watch ends is listed again.

    Args:
        connection: how to reach the API server.
        paths: lists of objects.
        labels: a label selector.
        on_event: told of every object that is new, changed or (True) gone, from the threads that watch.
    """

    def __init__(
        self,
        connection: Connection,
        *paths: str,
        labels: str = "",
        on_event: Callable[[Json, bool], None] = lambda body, gone: None,
    ) -> None:
        self._url = urlsplit(connection.server)
        self._context = ssl.create_default_context(cafile=connection.ca)
        if connection.certificate:
            self._context.load_cert_chain(connection.certificate, connection.key)
        self._labels = labels
        self._on_event = on_event
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._sockets: dict[str, http.client.HTTPSConnection] = {}
        self._listed: set[str] = set()
        self._path_of: dict[str, str] = {}
        self.objects: dict[str, Json] = {}
        self.events = 0
        self._threads = [threading.Thread(target=self._run, args=(p,), name=f"watch {p}", daemon=True) for p in paths]
        for thread in self._threads:
            thread.start()
        self.until(lambda _: len(self._listed) == len(paths), f"a first list of {paths}")

    def until(self, claim: Callable[[dict[str, Json]], T], what: str, seconds: float = 60.0) -> T:
        """The first true answer of a claim about the objects by key."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while not (found := claim(self.objects)):
                left = deadline - time.monotonic()
                if left <= 0 or not self._changed.wait(min(left, 0.5)):
                    assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
            return found

    def close(self) -> None:
        """Watch no more."""
        self._closing.set()
        for connection in list(self._sockets.values()):
            if connection.sock is not None:
                with suppress(OSError):
                    connection.sock.shutdown(2)
        for thread in self._threads:
            thread.join(10)

    def _run(self, path: str) -> None:
        while not self._closing.is_set():
            try:
                self._watch(path, self._list(path))
            except (OSError, http.client.HTTPException, ValueError, KeyError):
                self._closing.wait(_AGAIN)

    def _list(self, path: str) -> str:
        response, connection = self._get(path, {})
        try:
            body = json.loads(response.read())
        finally:
            connection.close()
        found = {}
        for item in body["items"]:
            found[key_of(item)] = item
        gone = [k for k in self.objects if self._path_of[k] == path and k not in found]
        for key in gone:
            self._take(path, self.objects[key], gone=True)
        for item in found.values():
            self._take(path, item, gone=False)
        with self._changed:
            self._listed.add(path)
            self._changed.notify_all()
        return str(body["metadata"]["resourceVersion"])

    def _watch(self, path: str, version: str) -> None:
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(_WATCH_SECONDS)}
        response, connection = self._get(path, query)
        self._sockets[path] = connection
        try:
            while not self._closing.is_set() and (line := response.readline()):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                self._take(path, event["object"], gone=event["type"] == "DELETED")
        finally:
            del self._sockets[path]
            connection.close()

    def _take(self, path: str, body: Json, *, gone: bool) -> None:
        key = key_of(body)
        with self._changed:
            self.events += 1
            if gone:
                self.objects.pop(key, None)
            else:
                self.objects[key], self._path_of[key] = body, path
            self._changed.notify_all()
        self._on_event(body, gone)

    def _get(self, path: str, query: Mapping[str, str]) -> tuple[http.client.HTTPResponse, http.client.HTTPSConnection]:
        host, port = self._url.hostname or "", self._url.port or 443
        connection = http.client.HTTPSConnection(host, port, context=self._context, timeout=_WATCH_SECONDS + 30)
        try:
            more = {**query, "labelSelector": self._labels} if self._labels else query
            connection.request("GET", f"{path}?{urlencode(more)}")
            response = connection.getresponse()
            if response.status != http.HTTPStatus.OK:
                raise OSError(f"{path}: {response.status}")
        except BaseException:
            connection.close()
            raise
        return response, connection
