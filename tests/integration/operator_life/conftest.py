"""The whole operator on a real API server and a real Kafka; kubelet, short pods and tasks are played."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock_operator.kubernetes.api_server import Connection
from penstock_operator.kubernetes.client import Kube

from ..api_servers import ApiServer, running_api_server
from .world.processes import Stable
from .world.proxy import Proxy
from .world.site import Site

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:  # the first of them waits for what the API server is built from, once per machine
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(1500))


@pytest.fixture(scope="session")
def life_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server of these tests alone, since they kill it."""
    with running_api_server("life", tmp_path_factory) as server:
        yield server


@pytest.fixture(scope="session")
def connection(life_server: ApiServer) -> Iterator[Connection]:
    """How to reach it."""
    kube = Kube.connect(kubeconfig=life_server.kubeconfig)
    yield kube.server.connection
    kube.close()


@pytest.fixture(scope="session")
def stable() -> Iterator[Stable]:
    """Forks operators."""
    made = Stable()
    yield made
    made.close()


@pytest.fixture
def make_site(
    life_server: ApiServer, connection: Connection, kafka: str, stable: Stable, tmp_path: Path
) -> Iterator[Callable[..., Site]]:
    """Make sites that differ from the usual one."""
    made: list[Site] = []

    def make(**more: Any) -> Site:
        folder = tmp_path / f"site-{len(made)}"
        site = Site(life_server, connection, **{"servers": kafka, "folder": folder, "stable": stable, **more})
        made.append(site)
        return site

    yield make
    for site in made:
        site.close()


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    """Namespace, node, status topic."""
    return make_site()


@pytest.fixture
def proxy(life_server: ApiServer, tmp_path: Path) -> Iterator[Proxy]:
    """Between an operator and the API server."""
    with Proxy(life_server.kubeconfig, tmp_path) as made:
        yield made
