"""A Kubernetes, a Kafka in it and a release of Penstock, shared by all tests; a namespace for each."""

import os
import re
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from .choosing import Absent, Broken, archive, chosen, cluster
from .cluster import Cluster, Failed
from .kafka import Kafka
from .place import Place
from .release import Release, namespace_of
from .showing import show

_BUILDS: Final = 2400
"""Seconds that the first test may take: images and the cluster's programs are built before it, once per machine."""
_measured: list[tuple[str, float]] = []
_FOLDER: Final = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "own_cluster: breaks a node or a control plane, and so needs a cluster of ours")
    config.addinivalue_line("markers", "expects(*patterns): errors that the operator's log may hold after this test")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    own = [i for i in items if _FOLDER in i.path.parents]
    if not own:
        return
    own[0].add_marker(pytest.mark.timeout(_BUILDS))
    try:
        choice = chosen()
    except Absent:
        return  # the fixture tells
    if choice != "own":
        gone = [i for i in own if i.get_closest_marker("own_cluster")]
        config.hook.pytest_deselected(items=gone)
        items[:] = [i for i in items if i not in gone]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    funcargs = getattr(item, "funcargs", {})
    if _FOLDER in item.path.parents and report.failed and report.when in ("setup", "call"):
        place, release = funcargs.get("place"), funcargs.get("release")
        if place is not None and release is not None:
            report.sections.append(("what stands in the cluster", show(place.cluster, place.namespace, release)))
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if _measured:
        terminalreporter.section("measured on the cluster")
        for what, seconds in _measured:
            terminalreporter.line(f"{seconds:7.2f} s  {what}")


@pytest.fixture(scope="session")
def measured() -> Callable[[str, float], None]:
    """Keep a time, in seconds, for the end of the run, where all are printed; nothing is asserted of it."""

    def keep(what: str, seconds: float) -> None:
        _measured.append((what, seconds))

    return keep


@pytest.fixture(scope="session")
def kubernetes() -> Iterator[Cluster]:
    """The cluster: see choosing.py."""
    try:
        with cluster(chosen()) as found:
            yield found
    except Broken as e:
        pytest.fail(f"The cluster has not come up: {e}", pytrace=False)
    except Absent as e:
        if os.environ.get("CI", "").lower() in ("true", "1") or os.environ.get("PENSTOCK_CLUSTER"):
            pytest.fail(f"There is no cluster: {e}", pytrace=False)
        pytest.skip(f"no cluster: {e}")


@pytest.fixture
def second_node(kubernetes: Cluster) -> Iterator[str]:
    """The name of a node that has joined our own cluster and can run tasks; it leaves after the test."""
    image = archive("runtime")
    kubernetes.component("join")
    try:
        kubernetes.component("load", "--node", "2", image)
        yield f"penstock-{kubernetes.name}-2"
    finally:
        kubernetes.component("leave")


@pytest.fixture(scope="session")
def mark() -> str:
    """What every namespace of this run begins with."""
    return f"e2e-{uuid.uuid4().hex[:4]}"


@pytest.fixture(scope="session")
def namespaces(kubernetes: Cluster, mark: str) -> Iterator[Callable[[str], str]]:
    """Make namespaces that admit restricted pods only; those that still stand go at the end of the run."""
    made: list[str] = []

    def make(word: str) -> str:
        name = f"{mark}-{word}"
        kubernetes.apply(namespace_of(name))
        made.append(name)
        return name

    yield make
    kubernetes.delete_namespaces(*made)


@pytest.fixture(scope="session")
def kafka(kubernetes: Cluster, namespaces: Callable[[str], str]) -> Kafka:
    """A Kafka in the cluster."""
    made = Kafka(kubernetes, namespaces("kafka"))
    made.start()
    return made


@pytest.fixture(scope="session")
def installed(
    kubernetes: Cluster, kafka: Kafka, namespaces: Callable[[str], str], measured: Callable[[str, float], None]
) -> Iterator[Release]:
    """A release that runs the Connectors of all namespaces."""
    there = kubernetes.api.get("customresourcedefinitions", None, "connectors.penstock.dev") is not None
    if there and kubernetes.api.list("connectors") and kubernetes.kind == "foreign":
        pytest.fail("This cluster has Connectors, which tests could disturb: take another one", pytrace=False)
    keep = there and kubernetes.kind == "foreign"
    made = Release(kubernetes, namespaces("system"))
    begun = time.monotonic()
    try:
        made.install({"bootstrap.servers": kafka.servers}, crds={"install": not keep}, task={"nodeLostSeconds": 10})
    except Failed as e:
        pytest.fail(f"{e}\n{show(kubernetes, made.namespace, made)}", pytrace=False)
    measured("helm install --wait", time.monotonic() - begun)
    yield made
    made.uninstall()
    if not keep:
        kubernetes.kubectl("delete", "crd", "-l", "app.kubernetes.io/name=penstock", "--ignore-not-found")


@pytest.fixture
def release(installed: Release, request: pytest.FixtureRequest) -> Iterator[Release]:
    """The release; after the test its operator's log must be free of errors that nobody expects."""
    begin = len(installed.log.lines)
    yield installed
    marker = request.node.get_closest_marker("expects")
    troubles = installed.log.troubles(begin, marker.args if marker else ())
    assert not troubles, "the operator's log holds errors:\n" + "\n".join(troubles)


@pytest.fixture
def place(
    kubernetes: Cluster,
    kafka: Kafka,
    release: Release,
    namespaces: Callable[[str], str],
    request: pytest.FixtureRequest,
) -> Iterator[Place]:
    """A namespace of this test; removed after it, and with it the test's pods."""
    words = re.sub(r"\W+", "-", request.node.name.replace("_", "-")).removeprefix("test-").lower()
    made = Place(kubernetes, kafka, namespaces(f"{words[:30].strip('-')}-{uuid.uuid4().hex[:4]}"))
    yield made
    kubernetes.delete_namespaces(made.namespace)
