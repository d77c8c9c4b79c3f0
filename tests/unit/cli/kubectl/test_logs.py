"""`kubectl penstock logs`: the command of kubectl that it becomes."""

import subprocess
import sys
from typing import Any

import pytest

from .cluster import Cluster

MAIN = "import sys; from penstock_cli.kubectl.command import main; sys.exit(main(sys.argv[1:]))"


def logs_of(cluster: Cluster, tasks: int, *words: str) -> list[str]:
    each: list[dict[str, Any]] = [{"id": n, "pod": f"orders-{n}-1"} for n in range(tasks)]
    metadata = {"name": "orders", "namespace": "shop", "uid": "u"}
    cluster.answers("get", out={"metadata": metadata, "spec": {}, "status": {"tasks": each}})
    done = subprocess.run([sys.executable, "-c", MAIN, "logs", "orders", *words], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    return cluster.calls()[-1][0]


@pytest.mark.parametrize(("tasks", "requests"), [(1, 10), (60, 120)])
def test_all_lines_of_all_tasks_are_shown(cluster: Cluster, tasks: int, requests: int) -> None:
    words = logs_of(cluster, tasks, "--follow")
    assert "--selector=penstock.dev/connector-uid=u,penstock.dev/role=task" in words
    assert f"--max-log-requests={requests}" in words
    assert [w for w in words if w.startswith("--tail")] == ["--tail=-1"]


def test_the_last_lines_are_shown_on_request(cluster: Cluster) -> None:
    assert [w for w in logs_of(cluster, 2, "--tail", "5") if w.startswith("--tail")][-1] == "--tail=5"


def test_the_log_of_a_task_is_that_of_its_pod(cluster: Cluster) -> None:
    assert logs_of(cluster, 2, "--task", "1") == ["logs", "orders-1-1"]


def test_a_task_without_a_pod_has_no_log(cluster: Cluster) -> None:
    metadata = {"name": "orders", "namespace": "shop", "uid": "u"}
    cluster.answers("get", out={"metadata": metadata, "spec": {}, "status": {"tasks": [{"id": 0}]}})
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "logs", "orders", "--task", "0"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 5
    assert "it has no pod; see `kubectl penstock status orders -n shop`" in done.stderr
