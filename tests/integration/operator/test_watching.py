"""kopf on a real API server, watching: every change becomes a key, nothing is written, nothing ends it in silence."""

import asyncio
import queue
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import aiohttp
import pytest

from penstock_operator.errors import Refused
from penstock_operator.key import Key
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.event_keys import Event, EventKeys
from penstock_operator.kubernetes.kinds import CONNECTOR, PLUGIN_VERSION, POD, POLICY, SECRET
from penstock_operator.kubernetes.watch import KopfWatch
from penstock_operator.kubernetes.watch_health import WatchHealth
from penstock_operator.kubernetes.watch_session import open_session
from penstock_operator.metrics import Metrics
from penstock_operator.queue.index import ConnectorIndex
from penstock_operator.settings import Settings

from ..cluster_api.api import Api
from .faults import Asked, FaultProxy, expire, fail
from .test_kube import connector, pod

KINDS = [CONNECTOR, POD, POLICY, PLUGIN_VERSION, SECRET]
SECONDS = 60.0


class Watcher:
    """A `KopfWatch` through the proxy, and what it told."""

    def __init__(self, faults: FaultProxy, namespaces: tuple[str, ...], metrics: Metrics) -> None:
        self._faults = faults
        self._watches = len(KINDS) * max(len(namespaces), 1)
        self.keys: queue.Queue[Key] = queue.Queue()
        self.seen: list[Event] = []
        self.gaps: queue.Queue[None] = queue.Queue()
        self.listed: queue.Queue[None] = queue.Queue()
        self.ended: queue.Queue[None] = queue.Queue()
        self.kube = Kube.connect(kubeconfig=faults.kubeconfig, on_request=metrics.requested)
        settings = Settings.of(
            {
                "release": {"name": "penstock", "namespace": "ns"},
                "watchNamespaces": list(namespaces),
                "worker": {"bootstrap.servers": "kafka:9092"},
                "images": {"runtime": "r:1"},
            }
        )
        self.index = ConnectorIndex({})
        self.streams = WatchHealth(
            KINDS, namespaces, on_gap=lambda: self.gaps.put(None), on_listed=lambda: self.listed.put(None)
        )
        self.watching = KopfWatch(
            self.kube.server,
            settings,
            EventKeys(self.index, self.keys.put, self.keys.put),
            deliver=self._deliver,
            kinds=KINDS,
            health=self.streams,
        )
        self.watching.start(lambda: self.ended.put(None))

    def _deliver(self, told: Callable[[Event], None], event: Event) -> None:
        self.seen.append(event)
        told(event)

    def ready(self) -> "Watcher":
        self.listed.get(timeout=SECONDS)
        self._faults.wait_for(lambda a: a.code == 200 and "watch=" in a.query, count=self._watches)
        return self

    def key(self) -> Key:
        return self.keys.get(timeout=SECONDS)

    def until(self, key: Key) -> None:
        while self.key() != key:
            pass

    def close(self) -> None:
        self.watching.stop(15.0)
        self.kube.close()


@pytest.fixture
def watch(faults: FaultProxy, metrics: Metrics) -> Iterator[Callable[..., Watcher]]:
    made: list[Watcher] = []

    def begin(*namespaces: str) -> Watcher:
        made.append(Watcher(faults, namespaces, metrics))
        return made[-1]

    yield begin
    for watcher in made:
        watcher.close()
    assert faults.writes() == [], "whoever watches writes nothing"


Watch = Callable[..., Watcher]


def our_pod(namespace: str, name: str = "orders-in-0-1", operator: str = "ns.penstock") -> dict[str, Any]:
    found = pod(namespace, name)
    found["metadata"]["labels"] = {
        "app.kubernetes.io/managed-by": "penstock",
        "penstock.dev/operator": operator,
        "penstock.dev/connector": "orders-in",
    }
    return found


def secret(namespace: str, name: str = "db", **more: Any) -> dict[str, Any]:
    metadata = {"namespace": namespace, "name": name}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"password": "hunter22"}, **more}


def with_secret(namespace: str) -> dict[str, Any]:
    found = connector(namespace)
    found["spec"]["config"]["password"] = "${secret:db:password}"
    return found


def test_a_connector_s_life_is_seen_and_leaves_no_trace_of_kopf(watch: Watch, api: Api, namespace: str) -> None:
    key = Key(namespace, "orders-in")
    api.create(connector(namespace))
    watcher = watch(namespace).ready()
    assert watcher.key() == key
    changed = api.merge(connector(namespace), {"spec": {"tasksMax": 2}})
    assert watcher.key() == key
    api.merge(connector(namespace), {"metadata": {"annotations": {"penstock.dev/restart": "1"}}})
    assert watcher.key() == key
    found = api.get(connector(namespace))
    assert "finalizers" not in found["metadata"]
    assert found["metadata"]["annotations"] == {"penstock.dev/restart": "1"}
    assert {f["manager"] for f in found["metadata"]["managedFields"]} == {
        f["manager"] for f in changed["metadata"]["managedFields"]
    }
    api.delete(connector(namespace))
    assert watcher.key() == key
    with pytest.raises(queue.Empty):
        watcher.keys.get_nowait()


def test_only_pods_of_this_release_are_seen_and_of_them_only_the_metadata(
    watch: Watch, api: Api, faults: FaultProxy, namespace: str
) -> None:
    watcher = watch(namespace).ready()
    api.create(our_pod(namespace, "theirs-0-1", "ns.another"))
    api.create(pod(namespace, "nobody-s"))
    api.create(our_pod(namespace))
    assert watcher.key() == Key(namespace, "orders-in")
    api.call("DELETE", f"/api/v1/namespaces/{namespace}/pods/orders-in-0-1", gracePeriodSeconds="0")
    assert watcher.key() == Key(namespace, "orders-in")
    assert {e["object"]["metadata"]["name"] for e in watcher.seen} == {"orders-in-0-1"}
    assert all("spec" not in e["object"] for e in watcher.seen)
    selector = "labelSelector=app.kubernetes.io/managed-by=penstock,penstock.dev/operator=ns.penstock"
    asked = [a for a in faults.asked if a.path.endswith("/pods")]
    assert asked
    assert all(selector in unquote(a.query) for a in asked)


def test_a_change_of_a_secret_wakes_those_that_name_it_and_its_values_are_never_seen(
    watch: Watch, api: Api, namespace: str
) -> None:
    api.create(secret(namespace))
    api.create(secret(namespace, "release", type="helm.sh/release.v1"))
    api.create(with_secret(namespace))
    watcher = watch(namespace).ready()
    watcher.key()
    api.merge(secret(namespace), {"stringData": {"password": "hunter33"}})
    assert watcher.key() == Key(namespace, "orders-in")
    secrets = [e["object"] for e in watcher.seen if e["object"]["metadata"]["name"] in ("db", "release")]
    assert {s["metadata"]["name"] for s in secrets} == {"db"}
    assert not any("data" in s for s in secrets)
    api.delete(secret(namespace))
    assert watcher.key() == Key(namespace, "orders-in")


def test_policies_and_plugin_versions_wake_their_connectors(watch: Watch, api: Api, namespace: str) -> None:
    named = connector(namespace)
    named["spec"] |= {"class": "Files", "topicCreationPolicyRef": {"name": "any"}}
    api.create(named)
    watcher = watch(namespace).ready()
    watcher.key()
    meta = {"namespace": namespace, "name": "any"}
    api.create(
        {
            "apiVersion": "penstock.dev/v1alpha1",
            "kind": "TopicCreationPolicy",
            "metadata": meta,
            "spec": {"default": {"replicationFactor": 1, "partitions": 5}},
        }
    )
    assert watcher.key() == Key(namespace, "orders-in")
    image = f"registry.example/files@sha256:{'0' * 64}"
    api.create(
        {
            "apiVersion": "penstock.dev/v1alpha1",
            "kind": "PluginVersion",
            "metadata": meta,
            "spec": {
                "plugin": "files",
                "version": "1.4.2",
                "image": image,
                "classes": [{"alias": "Files", "type": "source"}],
            },
        }
    )
    assert watcher.key() == Key(namespace, "orders-in")


def test_all_namespaces_are_watched_where_none_are_listed(watch: Watch, api: Api, namespace: str) -> None:
    watcher = watch().ready()
    other = api.new_namespace()
    api.create(connector(other))
    watcher.until(Key(other, "orders-in"))
    api.create(connector(namespace))
    watcher.until(Key(namespace, "orders-in"))
    api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})


def test_only_listed_namespaces_are_asked_for(watch: Watch, api: Api, faults: FaultProxy, namespace: str) -> None:
    other = api.new_namespace()
    watcher = watch(namespace).ready()
    api.create(connector(other))
    api.create(connector(namespace))
    assert watcher.key() == Key(namespace, "orders-in")
    lists = {a.path for a in faults.asked if "limit=" in a.query or "watch=" in a.query}
    assert lists == {kind.path(namespace) for kind in KINDS}
    api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})


def test_a_broken_connection_loses_no_event(watch: Watch, api: Api, faults: FaultProxy, namespace: str) -> None:
    watcher = watch(namespace).ready()
    faults.spoil(fail(503), path="watch=", times=3)
    faults.hang_up()
    api.create(connector(namespace))
    assert watcher.key() == Key(namespace, "orders-in")
    assert watcher.ended.empty()


def test_what_was_deleted_while_history_expired_is_asked_for(
    watch: Watch, api: Api, faults: FaultProxy, namespace: str
) -> None:
    api.create(our_pod(namespace))
    watcher = watch(namespace).ready()
    watcher.until(Key(namespace, "orders-in"))
    rule = faults.spoil(expire(), path="pods.*watch=")
    faults.hang_up()
    faults.wait_for(lambda a: a.path.endswith("/pods") and "watch=" not in a.query, count=2)
    watcher.gaps.get(timeout=SECONDS)
    assert rule.hits == 1
    assert watcher.ended.empty()


@pytest.mark.parametrize("code", [403, 429, 500, 503])
def test_a_server_that_refuses_for_a_while_is_waited_for(
    watch: Watch, api: Api, faults: FaultProxy, namespace: str, code: int
) -> None:
    faults.spoil(fail(code, retry_after=1), path="connectors", times=3)
    api.create(connector(namespace))
    watcher = watch(namespace).ready()
    assert watcher.key() == Key(namespace, "orders-in")


def test_credentials_that_expire_are_renewed(watch: Watch, api: Api, faults: FaultProxy, namespace: str) -> None:
    watcher = watch(namespace).ready()
    rule = faults.spoil(fail(401, reason="Unauthorized"), path="connectors.*watch=")
    faults.hang_up()
    api.create(connector(namespace))
    assert watcher.key() == Key(namespace, "orders-in")
    assert rule.hits == 1


def test_every_event_of_a_watch_is_a_sign_of_life(
    faults: FaultProxy, metrics: Metrics, api: Api, namespace: str
) -> None:
    """A watch lasts for ten minutes. One that is told of changes all the time must not count as dead after four."""
    kube = Kube.connect(kubeconfig=faults.kubeconfig, on_request=metrics.requested)
    now = 0.0
    streams = WatchHealth([POD], (namespace,), clock=lambda: now)

    async def watch() -> None:
        nonlocal now
        async with (
            open_session(kube.server, streams, set()) as session,
            session.get(f"{faults.url}{POD.path(namespace)}?watch=true") as response,
        ):
            parts = response.content.iter_chunked(1 << 20)
            for minute in range(10):
                now = minute * 60.0
                await asyncio.to_thread(api.create, pod(namespace, f"pod-{minute}"))
                assert f"pod-{minute}".encode() in await anext(parts)
                assert streams.check_alive() is None
            now += 300.0
            assert streams.check_alive() is not None

    asyncio.run(watch())
    kube.close()


def test_a_watch_whose_session_was_closed_says_that_its_connection_is_gone(
    faults: FaultProxy, metrics: Metrics, namespace: str
) -> None:
    """As new credentials close it. kopf knows this error, and would end at the RuntimeError that aiohttp raises."""
    kube = Kube.connect(kubeconfig=faults.kubeconfig, on_request=metrics.requested)

    async def read() -> None:
        session = open_session(kube.server, WatchHealth([POD], (namespace,)), set())
        path = f"{faults.url}{POD.path(namespace)}"
        async with session.get(f"{path}?watch=true") as watch, session.get(f"{path}?watch=true") as body:
            assert watch.status == body.status == 200
            await session.close()
            with pytest.raises(aiohttp.ClientConnectionError):
                await anext(watch.content.iter_chunked(1024))
            with pytest.raises(aiohttp.ClientConnectionError):
                await body.text()

    asyncio.run(read())
    kube.close()


@pytest.mark.slow
def test_a_watch_that_kopf_gives_up_is_reported(watch: Watch, faults: FaultProxy, namespace: str) -> None:
    watcher = watch(namespace).ready()
    faults.spoil(fail(404, reason="NotFound"), path="connectors", times=None)
    faults.hang_up()
    watcher.ended.get(timeout=SECONDS)
    faults.heal()


def test_the_session_refuses_to_write(faults: FaultProxy, metrics: Metrics, tmp_path: Path) -> None:
    kube = Kube.connect(kubeconfig=faults.kubeconfig, on_request=metrics.requested)

    async def write() -> None:
        async with open_session(kube.server, WatchHealth([]), set()) as session:
            await session.patch(f"{faults.url}/api/v1/namespaces/default/configmaps/a", json={})

    with pytest.raises(Refused, match="may only read"):
        asyncio.run(write())
    assert faults.asked == []
    kube.close()


def test_requests_are_counted_by_verb_and_kind(
    watch: Watch, faults: FaultProxy, metrics: Metrics, namespace: str
) -> None:
    watch(namespace).ready()
    faults.wait_for(lambda a: a.code == 200 and "watch=" in a.query, count=len(KINDS))

    def counted() -> set[tuple[str, str]]:
        return {(verb, kind) for verb, kind, code in metrics.requests() if code == "200"}

    wanted = {(verb, kind.kind) for kind in KINDS for verb in ("list", "watch")}
    deadline = time.monotonic() + SECONDS
    while not wanted <= counted():
        assert time.monotonic() < deadline
    assert isinstance(faults.asked[0], Asked)
