"""Real API servers with the project's definitions, for tests that need no node: no pods run there."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from .cluster_api.api import Api, ApiRefused

__all__ = ["CLUSTER", "ROOT", "ApiServer", "api", "api_server", "namespace", "run", "running_api_server"]

ROOT = Path(__file__).parents[2]
CLUSTER = ROOT / "tests" / "cluster" / "cluster"


@dataclass(frozen=True)
class ApiServer:
    """A running API server.

    Attributes:
        name: name of the cluster, for `tests/cluster/cluster --name`.
        kubeconfig: of an administrator.
        api: a client.
        cache: where kubectl keeps what it knows of the server: not in the home folder, where another server was known
            under the same address.
    """

    name: str
    kubeconfig: Path
    api: Api
    cache: Path

    def cluster(self, *words: str) -> str:
        """What a command of `tests/cluster/cluster` prints: `stop`, `start`, `restart`, `kubectl`..."""
        return run(self.name, *words)

    def kubectl(self, *words: str) -> str:
        """What kubectl prints."""
        return self.cluster("kubectl", "--cache-dir", str(self.cache), *words)


def run(name: str, *words: str, timeout: float = 120) -> str:
    done = subprocess.run(
        [CLUSTER, "--name", name, *words], capture_output=True, text=True, timeout=timeout, check=False
    )
    if done.returncode:
        raise RuntimeError(f"cluster {' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


@contextmanager
def running_api_server(word: str, folders: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A real API server that knows the project's resources. It goes with the tests, also when they are killed.

    It has no node, so that pods stay as they are created, and status is the test's to write.
    """
    if shutil.which("go") is None:
        pytest.skip("a Kubernetes API server is built from source, and Go is not installed")
    name = f"{word}-{os.getpid()}"
    run(name, "up", "--api-only", "--with-parent", str(os.getpid()), timeout=1400)
    try:
        kubeconfig = Path(run(name, "kubeconfig").strip())
        before, cache = (folders.mktemp("kubectl") for _ in range(2))  # before it knows the definitions, after
        crds = ("--filename", str(ROOT / "crds"))
        run(name, "kubectl", "--cache-dir", str(before), "apply", "--server-side", *crds)
        run(name, "kubectl", "--cache-dir", str(before), "wait", "--for=condition=Established", *crds)
        server = ApiServer(name, kubeconfig, Api(kubeconfig), cache)
        yield server
        server.api.close()
    finally:
        run(name, "down")


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server that all tests of the run share.

    Make a namespace for each test with `api_server.api.new_namespace()`, or ask for the fixture `namespace`.
    """
    with running_api_server("server", tmp_path_factory) as server:
        yield server


@pytest.fixture
def api(api_server: ApiServer) -> Api:
    """A client of the server."""
    return api_server.api


@pytest.fixture
def namespace(api: Api) -> Iterator[str]:
    """A namespace of this test's own."""
    name = api.new_namespace()
    yield name
    try:
        api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    except ApiRefused as refused:
        if refused.code != 404:
            raise
