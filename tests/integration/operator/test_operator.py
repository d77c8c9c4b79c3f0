"""The whole shell around a reconcile of the test's own, on a real API server and a real broker."""

import asyncio
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock_model.contracts.task_reports import Claim, claim_key
from penstock_operator.context import Context
from penstock_operator.key import Key
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.election import LeaseLost
from penstock_operator.metrics import Metrics
from penstock_operator.operator import Operator
from penstock_operator.settings import Settings

from ..api_servers import ApiServer
from ..cluster_api.api import Api
from ..ports import free_port
from .faults import Fault, FaultProxy, fail, slow
from .test_kube import connector
from .test_status_topic import make, put, report
from .test_watching import our_pod

SECONDS = 60.0


def document(kafka: str, topic: str, namespace: str) -> dict[str, Any]:
    return {
        "release": {"name": "penstock", "namespace": namespace, "cluster": "here"},
        "watchNamespaces": [namespace],
        "worker": {"bootstrap.servers": kafka, "status.storage.topic": topic},
        "images": {"runtime": "r:1"},
        "metrics": {"port": free_port()},
        "probes": {"port": free_port()},
    }


class Running:
    """An operator in a thread, and the keys that it reconciled."""

    def __init__(self, kubeconfig: Path, settings: Settings, name: str) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.keys: queue.Queue[Key] = queue.Queue()
        self.error: BaseException | None = None
        self.context: Context | None = None
        self._kube = Kube.connect(kubeconfig=kubeconfig, on_request=self.metrics.requested)
        self._begun = threading.Event()
        self._name = name
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._begun.wait(SECONDS)

    def _run(self) -> None:
        async def run() -> None:
            self.loop = asyncio.get_running_loop()
            self.operator = Operator(
                self.settings, self._kube, b"k" * 32, self._reconcile, self.metrics, name=self._name
            )
            self._begun.set()
            await self.operator.run()

        try:
            asyncio.run(run())
        except BaseException as e:  # noqa: BLE001 (whatever it was is what a test asks for)
            self.error = e

    async def _reconcile(self, key: Key, context: Context) -> float | None:
        self.context = context
        await context.run(time.monotonic)
        self.keys.put(key)
        return None

    def key(self) -> Key:
        return self.keys.get(timeout=SECONDS)

    def probe(self, path: str) -> tuple[int, dict[str, Any]]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.settings.probes.port}{path}", timeout=5) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as e:
            with e:
                return e.code, json.load(e)
        except urllib.error.URLError:
            return 0, {}  # it does not listen yet

    def until_ready(self) -> "Running":
        deadline = time.monotonic() + SECONDS
        while self.probe("/readyz")[0] != 200:
            assert time.monotonic() < deadline, self.probe("/readyz")
            time.sleep(0.1)
        return self

    def stop(self) -> None:
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.operator.stop)
        self._thread.join(30)
        assert not self._thread.is_alive()
        self._kube.close()

    def wait(self) -> BaseException | None:
        self._thread.join(SECONDS)
        return self.error


Begin = Callable[..., Running]


@pytest.fixture
def begin(faults: FaultProxy, kafka: str, topic: str, namespace: str) -> Iterator[Begin]:
    made: list[Running] = []

    def start(name: str = "first") -> Running:
        made.append(Running(faults.kubeconfig, Settings.of(document(kafka, topic, namespace)), name))
        return made[-1]

    yield start
    for running in made:
        running.stop()


def test_connectors_are_reconciled_at_the_start_and_when_something_of_theirs_changes(
    begin: Begin, api: Api, kafka: str, topic: str, namespace: str
) -> None:
    make(kafka, topic)
    api.create(connector(namespace))
    running = begin().until_ready()
    key = Key(namespace, "orders-in")
    assert running.key() == key
    api.create(our_pod(namespace, operator=f"{namespace}.penstock"))
    assert running.key() == key
    put(kafka, topic, report(name=f"{namespace}.orders-in"))
    assert running.key() == key
    assert running.context is not None
    assert running.context.status.reports(f"{namespace}.orders-in")
    assert running.probe("/healthz") == (200, {"status": "ok"})
    text = (
        urllib.request.urlopen(f"http://127.0.0.1:{running.settings.metrics.port}/metrics", timeout=5).read().decode()
    )
    assert 'penstock_operator_reconcile_seconds_count{outcome="done"}' in text
    assert "penstock_operator_kafka_up 1.0" in text
    assert "penstock_operator_leading 1.0" in text


def test_nothing_is_written_but_the_lease(begin: Begin, api: Api, faults: FaultProxy, namespace: str) -> None:
    api.create(connector(namespace))
    running = begin().until_ready()
    running.key()
    api.delete(connector(namespace))
    running.key()
    running.stop()
    # None of them where the machine is slow: while requests are under way, the Lease is not given back.
    assert {a.path.rpartition("/")[0] for a in faults.writes() if a.method != "POST"} <= {
        f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    }
    assert {a.path for a in faults.writes() if a.method == "POST"} == {
        f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    }


def test_records_of_a_connector_that_went_while_nobody_watched_are_looked_at(
    begin: Begin, api: Api, kafka: str, topic: str, namespace: str
) -> None:
    make(kafka, topic)
    installation = api.create(lease_of(namespace))["metadata"]["uid"]

    def claim(name: str, operator: str, cluster: str) -> tuple[bytes, bytes]:
        value = Claim(
            connector_uid="gone",
            namespace=namespace,
            name=name,
            created="",
            operator=operator,
            cluster=cluster,
            installation=installation,
        )
        return claim_key(f"{namespace}.{name}"), value.to_value()

    ours = f"{namespace}/penstock"
    put(
        kafka,
        topic,
        claim("ours", ours, "here"),
        claim("theirs", "another/penstock", "here"),
        claim("elsewhere", ours, "another"),
    )
    running = begin().until_ready()
    assert running.key() == Key(namespace, "ours")
    with pytest.raises(queue.Empty):
        running.keys.get(timeout=1.0)


def test_a_second_operator_waits_and_takes_over_immediately_when_the_first_ends(
    begin: Begin, api: Api, namespace: str
) -> None:
    api.create(connector(namespace))
    first = begin("first").until_ready()
    first.key()
    second = begin("second")
    deadline = time.monotonic() + SECONDS
    while "its holder, first" not in str(second.probe("/readyz")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert second.probe("/healthz")[0] == 200
    assert second.keys.empty()
    first.stop()
    holder = api.get(lease_of(namespace))["spec"].get("holderIdentity") or ""
    assert not holder.startswith("first")  # given back, not left to run out
    assert second.key() == Key(namespace, "orders-in")


def lease_of(namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": namespace, "name": "penstock-operator"},
    }


def test_an_operator_that_was_taken_over_ends(begin: Begin, api: Api, namespace: str) -> None:
    running = begin().until_ready()
    api.merge(lease_of(namespace), {"spec": {"holderIdentity": "another"}})
    assert isinstance(running.wait(), LeaseLost)


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "times"), [(fail(503), None), (slow(29), 1)], ids=["refused", "not answered"])
def test_an_operator_that_cannot_renew_its_lease_does_nothing_until_it_can(
    begin: Begin, api: Api, faults: FaultProxy, namespace: str, fault: Fault, times: int | None
) -> None:
    running = begin().until_ready()
    faults.spoil(fault, path="/leases/", times=times)
    deadline = time.monotonic() + SECONDS
    while running.operator._lease.is_held:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    deadline = time.monotonic() + 5.0  # the request that is not answered is under way for longer
    while "lease" not in running.operator.queue._blockers:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    api.create(connector(namespace))
    with pytest.raises(queue.Empty):
        running.keys.get(timeout=2.0)
    faults.heal()
    assert running.key() == Key(namespace, "orders-in")


def test_an_operator_one_of_whose_parts_ends_by_a_fault_ends_as_a_whole(begin: Begin) -> None:
    """It would go on without renewing its Lease, say, and nobody would see why."""
    running = begin().until_ready()

    def broken() -> bool:
        raise ZeroDivisionError("oh")

    running.operator._lease.attempt = broken  # type: ignore[method-assign]
    assert isinstance(running.wait(), ZeroDivisionError)


@pytest.mark.slow
def test_an_operator_whose_watch_dies_ends_with_an_error(begin: Begin, faults: FaultProxy) -> None:
    running = begin().until_ready()
    faults.spoil(fail(404, reason="NotFound"), path="connectors", times=None)
    faults.hang_up()
    assert "kopf has stopped" in str(running.wait())


@pytest.fixture
def process(
    api_server: ApiServer, kafka: str, topic: str, namespace: str, tmp_path: Path
) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    made: list[subprocess.Popen[str]] = []
    (tmp_path / "key").write_bytes(os.urandom(32))

    def start(**changes: Any) -> subprocess.Popen[str]:
        (tmp_path / "operator.yaml").write_text(yaml.safe_dump({**document(kafka, topic, namespace), **changes}))
        command = [
            sys.executable,
            "-m",
            "penstock_operator",
            "--config",
            str(tmp_path / "operator.yaml"),
            "--key",
            str(tmp_path / "key"),
            "--kubeconfig",
            str(api_server.kubeconfig),
            "--termination",
            str(tmp_path / "termination"),
        ]
        (tmp_path / "termination").touch()
        made.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path))
        return made[-1]

    yield start
    for one in made:
        one.kill()
        one.communicate()


def lines_until(one: subprocess.Popen[str], text: str) -> list[dict[str, Any]]:
    assert one.stderr is not None
    found = []
    for line in one.stderr:
        found.append(json.loads(line))
        if text in found[-1]["message"]:
            return found
    raise AssertionError(f"ended without it: {found}")


def test_the_process_ends_as_asked_and_its_log_is_json(
    process: Callable[..., subprocess.Popen[str]],
) -> None:
    one = process()
    lines = lines_until(one, "Watching; there are 0 connectors")
    assert all(line["level"] == "info" for line in lines), lines
    one.send_signal(signal.SIGTERM)
    _, rest = one.communicate(timeout=30)
    assert one.returncode == 0
    assert "has stopped as requested" in json.loads(rest.splitlines()[-1])["message"]


def test_a_wrong_configuration_ends_the_process_with_everything_that_is_wrong_in_its_pods_status(
    process: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    one = process(logLevel="LOUD", probes={"port": 0})
    _, text = one.communicate(timeout=60)
    assert one.returncode == 2
    messages = [json.loads(line)["message"] for line in text.splitlines()]
    assert len(messages) == 2
    assert all("operator.yaml: " in m for m in messages)
    assert (tmp_path / "termination").read_text().splitlines() == messages
