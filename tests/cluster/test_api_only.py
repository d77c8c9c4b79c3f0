"""A cluster without a node: for tests that need a real API server and nothing that runs pods. It needs no root."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .driving import SCRIPT, Cluster, cluster, until


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with cluster(f"api-{os.getpid()}", "--api-only") as up:
        yield up


def test_it_takes_custom_resources(shared: Cluster) -> None:
    shared.apply(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.org"},
            "spec": {
                "group": "example.org",
                "names": {"kind": "Thing", "plural": "things"},
                "scope": "Namespaced",
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {
                            "openAPIV3Schema": {"type": "object", "properties": {"size": {"type": "integer"}}},
                        },
                    }
                ],
            },
        }
    )
    shared.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd/things.example.org")
    thing = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "a"}}
    shared.apply({**thing, "size": 3})
    assert shared.get("things", "a")["size"] == 3
    assert 'expected "integer"' in shared.apply({**thing, "size": "large"}, fails=True)


def test_what_belongs_to_a_deleted_object_is_collected(shared: Cluster) -> None:
    shared.kubectl("create", "configmap", "owner")
    uid = shared.get("configmap", "owner")["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    shared.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "ownerReferences": [owner]}},
    )
    shared.kubectl("delete", "configmap", "owner")
    shared.kubectl("wait", "--for=delete", "--timeout=30s", "configmap/owned")


def test_a_deleted_namespace_goes_with_all_that_is_in_it(shared: Cluster) -> None:
    shared.kubectl("create", "namespace", "short")
    shared.kubectl("create", "configmap", "within", "--namespace=short")
    shared.kubectl("delete", "namespace", "short", "--timeout=30s")


def test_a_watch_from_before_a_compaction_must_start_again(shared: Cluster) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    version = json.loads(shared.kubectl("get", "--raw", path))["metadata"]["resourceVersion"]
    shared.kubectl("create", "configmap", "later")
    watch = f"{path}?watch=1&timeoutSeconds=1&resourceVersion={version}"
    assert '"type":"ADDED"' in shared.kubectl("get", "--raw", watch)
    assert "etcd forgot everything before revision" in shared.run("compact")
    assert '"code":410' in shared.kubectl("get", "--raw", watch)


def test_a_stopped_api_server_answers_nobody_until_it_is_started(shared: Cluster) -> None:
    shared.run("stop", "kube-apiserver")
    assert "refused" in shared.kubectl("get", "namespaces", fails=True)
    shared.run("start", "kube-apiserver")
    assert "default" in shared.kubectl("get", "namespaces")


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    env = {**os.environ, "PENSTOCK_CLUSTER_DIR": str(tmp_path / "clusters")}
    name = f"orphan-{os.getpid()}"
    waiting = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(waiting, stdin=subprocess.PIPE) as parent:
        up = ["up", "--api-only", "--name", name, "--with-parent", str(parent.pid)]
        subprocess.run([SCRIPT, *up], env=env, check=True, capture_output=True)
        folder = tmp_path / "clusters" / name
        assert folder.exists()
        parent.kill()
    until(lambda: not folder.exists(), "the cluster has gone")
    assert not processes_of(folder)


def test_down_leaves_nothing(tmp_path: Path) -> None:
    with cluster(f"gone-{os.getpid()}", "--api-only", env={"PENSTOCK_CLUSTER_DIR": str(tmp_path / "clusters")}) as up:
        folder = Path(up.status()["Folder"])
        assert len(processes_of(folder)) >= 4
        up.run("down")
        assert not folder.exists()
        assert not processes_of(folder)


def test_a_supervisor_that_is_killed_takes_its_components_with_it(tmp_path: Path) -> None:
    with cluster(f"dead-{os.getpid()}", "--api-only", env={"PENSTOCK_CLUSTER_DIR": str(tmp_path / "clusters")}) as up:
        status = up.status()
        os.kill(status["PID"], 9)
        until(lambda: not processes_of(Path(status["Folder"])), "its components have ended")
        assert not up.status()["Up"]
        up.run("up", "--api-only")
        assert up.status()["Up"]


def processes_of(folder: Path) -> list[str]:
    """The command lines that name the cluster's folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text()
        except OSError:
            continue
        if str(folder) in words:
            found.append(words)
    return found
