"""What tests of the operator's shell share: a real API server, a client of it, a proxy that spoils answers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock_operator.kubernetes.client import Kube
from penstock_operator.metrics import Metrics

from ..api_servers import ApiServer
from .faults import FaultProxy


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:  # the first of them waits for what the API server is built from, once per machine
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(1500))


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def kube(api_server: ApiServer, metrics: Metrics) -> Iterator[Kube]:
    """The client that is tested."""
    made = Kube.connect(kubeconfig=api_server.kubeconfig, on_request=metrics.requested)
    yield made
    made.close()


@pytest.fixture
def faults(api_server: ApiServer, tmp_path: Path) -> Iterator[FaultProxy]:
    """A proxy before the API server."""
    with FaultProxy(api_server.kubeconfig, tmp_path) as made:
        yield made


@pytest.fixture
def spoilt(faults: FaultProxy, metrics: Metrics) -> Iterator[Kube]:
    """A client that goes through the proxy; it waits 2 s for an answer."""
    made = Kube.connect(kubeconfig=faults.kubeconfig, on_request=metrics.requested, timeouts=(1.0, 2.0))
    yield made
    made.close()
