"""The operator's console and Kafka Connect's REST API, as the chart installs them, with two operators."""

import http.client
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from ..integration.answers import ask
from ..integration.running import until
from .cluster import Cluster
from .kafka import Kafka
from .place import Connector, Place, task
from .release import Release

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PORT: Final = 8090
ASK: Final = """
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=20) as answer:
    print(answer.read().decode())
"""
"""Program of a pod: prints what a URL answers."""


class Console:
    """Console of the release, as this machine and pods reach it."""

    def __init__(self, cluster: Cluster, kafka: Kafka, release: Release) -> None:
        self.cluster = cluster
        self.release = release
        self._pods = kafka.namespace

    def from_a_pod(self, path: str) -> str:
        """Return what the Service answers to a pod of the namespace that `console.from` selects."""
        url = f"http://{self.release.console}.{self.release.namespace}.svc:{PORT}{path}"
        return self.cluster.python(self._pods, "toolbox", ASK, url)

    @contextmanager
    def forwarded(self, target: str = "") -> Iterator[int]:
        """Forward a local port to the Service, or to `pod/NAME`, until the block ends; yield the port."""
        context = ["--context", self.cluster.context] if self.cluster.context else []
        place = ["--namespace", self.release.namespace, target or f"service/{self.release.console}", f":{PORT}"]
        running = subprocess.Popen(
            [self.cluster.programs["kubectl"], *context, "port-forward", *place],
            env={**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with running:
            try:
                assert running.stdout is not None
                found = re.search(r"127\.0\.0\.1:(\d+) ->", running.stdout.readline())
                assert found is not None, "kubectl port-forward has ended"
                yield int(found[1])
            finally:
                running.kill()


class Stream:
    """Stream of a page, from what the page shows."""

    def __init__(self, port: int, path: str) -> None:
        found = re.search(r'data-stream="([^"]+)" data-seen="([^"]+)"', ask(port, path)[1])
        assert found is not None
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._connection.request("GET", f"{found[1]}?seen={found[2]}")
        self._answer = self._connection.getresponse()
        assert self._answer.headers["Content-Type"] == "text/event-stream"

    def until(self, part: str, claim: Callable[[str], bool]) -> str:
        """Read changes until one of this part of the page is as claimed; return its HTML."""
        while line := self._answer.readline().decode():
            if line.startswith("data: "):
                html = json.loads(line.removeprefix("data: ")).get("parts", {}).get(part)
                if html is not None and claim(html):
                    return str(html)
        raise AssertionError("the stream has ended")

    def close(self) -> None:
        """End it."""
        self._answer.close()
        self._connection.close()


def page_of(source: Connector) -> str:
    return f"/connectors/{source.namespace}/{source.name}"


def shows(port: int, source: Connector) -> None:
    """Wait until the page of a Connector is served, with its pod."""
    until(lambda: source.pod() in ask(port, page_of(source))[1], what="the page is served")


def leading(release: Release) -> str:
    """The pod of the operator that leads, of two that are there."""

    def found() -> str | None:
        leader, there = release.leader(), {p["metadata"]["name"] for p in release.operators()}
        return leader if leader in there and len(there) == 2 else None

    return until(found, what="one of two operators leads")


def token(place: Place, name: str, *verbs: str) -> str:
    """Token of a new service account with these rights on Connectors."""
    account = {"kind": "ServiceAccount", "name": name, "namespace": place.namespace}
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": name}}
    rule = {"apiGroups": ["penstock.dev"], "resources": ["connectors"], "verbs": [*verbs]}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    place.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}},
        {**rbac, "kind": "Role", "rules": [rule]},
        {**rbac, "kind": "RoleBinding", "roleRef": reference, "subjects": [account]},
    )
    return place.cluster.kubectl("create", "token", name, "--namespace", place.namespace).strip()


@pytest.fixture(scope="module")
def console(kubernetes: Cluster, kafka: Kafka, installed: Release) -> Iterator[Console]:
    """The console, with actions, of two operators. Pods of Kafka's namespace may connect."""
    pods = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": kafka.namespace}}}
    console = {"enabled": True, "from": [pods], "actions": {"enabled": True}}
    installed.change({"console": console, "operator": {"replicas": 2}})
    leading(installed)
    yield Console(kubernetes, kafka, installed)
    installed.roll_back()
    installed.operator()


@pytest.fixture
def orders(place: Place) -> Connector:
    source = place.datagen("orders", config={"rate": 50})
    source.reaches("Running")
    return source


def test_the_service_shows_a_connector_with_its_tasks_and_their_rate(console: Console, orders: Connector) -> None:
    row = re.search(rf'<tr id="row:{orders.namespace}/orders">.*?</tr>', console.from_a_pod("/"))
    assert row is not None
    assert ">Running<" in row[0]
    assert ">1/1<" in row[0]
    page = console.from_a_pod(page_of(orders))
    assert orders.pod() in page
    with console.forwarded() as port:
        stream = Stream(port, page_of(orders))
        tasks = stream.until("tasks", lambda html: re.search(r'<td class="num">[4-6]\d(\.\d+)?</td>', html) is not None)
        stream.close()
    assert orders.pod() in tasks


def last_record(tasks: str) -> str:
    """When the last record was delivered, as the rows of tasks show it."""
    return max(re.findall(r'<td><time datetime="([^"]+)">', tasks), default="")


def test_an_open_page_shows_the_pod_of_a_task_fail_and_records_move_again(console: Console, orders: Connector) -> None:
    before = orders.pod()
    uid = orders.lives()[before]
    with console.forwarded() as port:
        stream = Stream(port, page_of(orders))
        orders.kubectl("delete", "pod", before, "--wait=false")
        stream.until("tasks", lambda html: "Running" not in html)
        back = stream.until("tasks", lambda html: "Running" in html)
        stream.until("tasks", lambda html: "Running" in html and last_record(html) > last_record(back))
        stream.close()
    orders.until_pods(lambda pods: before not in pods or pods[before]["metadata"]["uid"] != uid, "another pod")


def test_the_service_answers_as_the_rest_api_of_kafka_connect(console: Console, orders: Connector) -> None:
    answer: dict[str, Any] = json.loads(
        console.from_a_pod(f"/connect/{orders.namespace}/connectors?expand=status&expand=info")
    )
    assert set(answer) == {"orders"}
    status = answer["orders"]["status"]
    assert (status["connector"]["state"], status["type"]) == ("RUNNING", "source")
    assert [(t["id"], t["state"]) for t in status["tasks"]] == [(0, "RUNNING")]
    assert answer["orders"]["info"]["config"]["topic"] == orders.topic


def test_both_operators_serve_the_page_before_and_after_the_leader_is_deleted(
    console: Console, orders: Connector
) -> None:
    release = console.release
    leader = leading(release)
    (standby,) = (p["metadata"]["name"] for p in release.operators() if p["metadata"]["name"] != leader)
    for pod in (leader, standby):
        with console.forwarded(f"pod/{pod}") as port:
            status, page = ask(port, page_of(orders))
            assert (status, orders.pod() in page) == (200, True), pod
    with console.forwarded(f"pod/{standby}") as port:
        console.cluster.kubectl("delete", "pod", leader, "--namespace", release.namespace)
        shows(port, orders)
    rollout = ("rollout", "status", f"deployment/{release.deployment}", "--namespace", release.namespace)
    console.cluster.kubectl(*rollout, "--timeout=90s")
    assert leading(release) != leader
    for found in release.operators():
        with console.forwarded(f"pod/{found['metadata']['name']}") as port:
            shows(port, orders)
    assert orders.pod() in console.from_a_pod(page_of(orders))


def test_a_user_pauses_with_the_own_rights_and_is_refused_without(
    console: Console, orders: Connector, place: Place
) -> None:
    path = f"{page_of(orders)}/actions/pause"
    with console.forwarded() as port:

        def pause(given: str) -> tuple[int, str]:
            return ask(port, path, "POST", {"Authorization": f"Bearer {given}", "X-Penstock-Console": "1"})

        status, text = pause(token(place, "reader", "get", "list"))
        assert status == 403
        assert "reader" in text
        assert pause("unknown")[0] == 401
        assert orders.get()["spec"].get("state", "Running") == "Running"

        editor = token(place, "editor", "patch")
        assert until(lambda: (found := pause(editor))[0] < 300 and found, what="the right holds")
        orders.reaches("Paused")
        assert task(orders.get())["state"] == "Paused"
        managers = {m["manager"] for m in orders.get()["metadata"]["managedFields"]}
        assert "penstock-console" in managers

        basic = {"Authorization": f"Bearer {editor}"}
        rest = f"/connect/{orders.namespace}/connectors/orders"
        assert ask(port, f"{rest}/resume", "PUT", basic)[0] == 202
        orders.reaches("Running")
