"""What the other tests rely on in a cluster with a node. It needs root, and takes a minute with everything built."""

import contextlib
import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .driving import Cluster, cluster, until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a cluster with a node needs root")

PROBE = "penstock.test/probe:1"
SETTINGS = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(f"test-{os.getpid()}") as up:
        folder = tmp_path_factory.mktemp("images")
        (folder / "note").write_text("from another image\n")
        files = folder / "files.tar"
        up.run("image", "--reference=penstock.test/files:1", f"--out={files}", f"{folder / 'note'}=/deep/down/note")
        loaded = up.run("load", Path(up.run("path", "probe.tar").strip()), files)
        assert sorted(loaded.splitlines()) == ["loaded penstock.test/files:1", f"loaded {PROBE}"]
        yield up


@pytest.fixture
def namespace(shared: Cluster, unique_name: Callable[[str], str]) -> str:
    name = "t" + unique_name("").rsplit("-", 1)[1]
    shared.kubectl("create", "namespace", name)
    until(lambda: "default" in shared.kubectl("get", "--namespace", name, "serviceaccounts"), "the service account")
    return name


def pod(namespace: str, name: str, *words: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "probe", "image": PROBE, "args": list(words), **spec.pop("container", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, **spec},
    }


def service(namespace: str, name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]},
    }


def await_ready(cluster: Cluster, namespace: str, *names: str) -> None:
    resources = [f"pod/{name}" for name in names]
    cluster.kubectl("wait", "--namespace", namespace, "--for=condition=Ready", "--timeout=60s", *resources)


def words_of(cluster: Cluster, namespace: str, name: str) -> str:
    """What a pod has said when it has ended well."""
    condition = "--for=jsonpath={.status.phase}=Succeeded"
    cluster.kubectl("wait", "--namespace", namespace, condition, "--timeout=60s", f"pod/{name}")
    return cluster.kubectl("logs", "--namespace", namespace, name)


def test_a_pod_runs_from_a_loaded_image_and_its_log_can_be_read(shared: Cluster, namespace: str) -> None:
    shared.apply(pod(namespace, "speaker", "say", "hello"))
    assert words_of(shared, namespace, "speaker") == "hello\n"


def test_a_command_can_be_run_in_a_pod(shared: Cluster, namespace: str) -> None:
    shared.apply(pod(namespace, "web", "serve"))
    await_ready(shared, namespace, "web")
    said = shared.kubectl("exec", "--namespace", namespace, "web", "--", "/bin/probe", "say", "from within")
    assert said == "from within\n"


def test_a_pod_resolves_a_service_and_reaches_it(shared: Cluster, namespace: str) -> None:
    shared.apply(pod(namespace, "web", "serve"), service(namespace, "web"))
    await_ready(shared, namespace, "web")
    shared.apply(pod(namespace, "client", "get", f"http://web.{namespace}.svc.cluster.local/"))
    assert words_of(shared, namespace, "client") == "hello from web\n"


def test_a_pod_reaches_itself_by_its_service(shared: Cluster, namespace: str) -> None:
    shared.apply(pod(namespace, "web", "serve"), service(namespace, "web"))
    await_ready(shared, namespace, "web")
    url = f"http://{shared.get('service', '--namespace', namespace, 'web')['spec']['clusterIP']}/"
    assert shared.kubectl("exec", "--namespace", namespace, "web", "--", "/bin/probe", "get", url) == "hello from web\n"


def test_a_program_on_the_machine_reaches_pods_and_services(shared: Cluster, namespace: str) -> None:
    shared.apply(pod(namespace, "web", "serve"), service(namespace, "web"))
    await_ready(shared, namespace, "web")
    there = shared.get("pod", "--namespace", namespace, "web")["status"]["podIP"]
    by_service = shared.get("service", "--namespace", namespace, "web")["spec"]["clusterIP"]
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for url in (f"http://{there}:8080/", f"http://{by_service}/"):
        with direct.open(url, timeout=10) as answer:
            assert answer.read() == b"hello from web\n"


def test_a_pod_finds_the_machine_by_name_and_no_name_of_the_world(shared: Cluster, namespace: str) -> None:
    shared.apply(pod(namespace, "asker", "resolve", "host.penstock.internal"))
    assert words_of(shared, namespace, "asker").strip() == shared.status()["Network"]["Host"]
    shared.apply(pod(namespace, "other", "resolve", "example.org"))
    failed = "--for=jsonpath={.status.phase}=Failed"
    shared.kubectl("wait", "--namespace", namespace, failed, "--timeout=60s", "pod/other")
    assert "no such host" in shared.kubectl("logs", "--namespace", namespace, "other")


def test_an_image_volume_shows_the_files_of_another_image(shared: Cluster, namespace: str) -> None:
    volume = {"name": "files", "image": {"reference": "penstock.test/files:1", "pullPolicy": "Never"}}
    mount = {"name": "files", "mountPath": "/files"}
    reader = pod(
        namespace, "reader", "show", "/files/deep/down/note", volumes=[volume], container={"volumeMounts": [mount]}
    )
    shared.apply(reader)
    assert words_of(shared, namespace, "reader") == "from another image\n"


def test_a_restricted_namespace_refuses_a_pod_that_asks_for_too_much(shared: Cluster, namespace: str) -> None:
    shared.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    refused = shared.apply(pod(namespace, "bold", container={"securityContext": {"privileged": True}}), fails=True)
    assert 'violates PodSecurity "restricted:latest"' in refused
    meek = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    shared.apply(pod(namespace, "meek", "say", "well", container={"securityContext": meek}))
    assert words_of(shared, namespace, "meek") == "well\n"


def test_deleting_a_namespace_ends_its_pods(shared: Cluster, namespace: str) -> None:
    shared.apply(pod(namespace, "web", "serve", namespace))
    await_ready(shared, namespace, "web")
    assert f"probe serve {namespace}" in shared.run("enter", "ps", "-A", "-o", "args=")
    shared.kubectl("delete", "namespace", namespace, "--timeout=60s")
    assert f"probe serve {namespace}" not in shared.run("enter", "ps", "-A", "-o", "args=")


def test_pods_live_on_while_every_component_is_killed(shared: Cluster, namespace: str) -> None:
    shared.apply(pod(namespace, "web", "serve"))
    await_ready(shared, namespace, "web")
    before = shared.get("pod", "--namespace", namespace, "web")["status"]["containerStatuses"][0]["containerID"]
    for component in shared.status()["Components"]:
        shared.run("restart", "--kill", component["Name"])
    # The kubelet lists its pods anew, the scheduler its node: a new pod has passed through all of them.
    shared.apply(pod(namespace, "new", "get", f"http://web.{namespace}/"), service(namespace, "web"))
    assert words_of(shared, namespace, "new") == "hello from web\n"
    assert shared.kubectl("exec", "--namespace", namespace, "web", "--", "/bin/probe", "say", "still") == "still\n"
    after = shared.get("pod", "--namespace", namespace, "web")["status"]["containerStatuses"][0]
    assert (after["containerID"], after["restartCount"]) == (before, 0)


def test_a_component_that_dies_comes_back_and_one_that_is_stopped_does_not(shared: Cluster) -> None:
    def of(name: str) -> Any:
        return next(c for c in shared.status()["Components"] if c["Name"] == name)

    restarts = of("kube-scheduler")["Restarts"]
    shared.run("enter", "kill", "-9", str(of("kube-scheduler")["PID"]))
    until(lambda: of("kube-scheduler")["Restarts"] > restarts and of("kube-scheduler")["Running"], "it is back")
    shared.run("stop", "kube-scheduler")
    assert not of("kube-scheduler")["Running"]
    shared.run("start", "kube-scheduler")
    assert of("kube-scheduler")["Running"]


@pytest.fixture
def second(shared: Cluster) -> Iterator[str]:
    """The name of a second node, which leaves after the test."""
    shared.run("join")
    try:
        shared.run("load", "--node", "2", Path(shared.run("path", "probe.tar").strip()))
        yield f"penstock-{shared.name}-2"
    finally:
        shared.run("leave")


def on(node: str, seconds: int = 3) -> dict[str, Any]:
    """Of a pod: where it runs, and how long it stays when that node is away."""
    stays = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
    return {"nodeName": node, "tolerations": [stays]}


def test_pods_of_two_nodes_reach_each_other_by_address_and_by_name(
    shared: Cluster, namespace: str, second: str
) -> None:
    for name, spec in {"near": {}, "far": on(second)}.items():
        shared.apply(pod(namespace, name, "serve", **spec), service(namespace, name))
    await_ready(shared, namespace, "near", "far")
    there = shared.get("pod", "--namespace", namespace, "far")
    assert there["spec"]["nodeName"] == second
    for client, server in (("near", "far"), ("far", "near"), ("far", "far")):
        url = f"http://{server}.{namespace}.svc.cluster.local/"
        said = shared.kubectl("exec", "--namespace", namespace, client, "--", "/bin/probe", "get", url)
        assert said == f"hello from {server}\n"
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"http://{there['status']['podIP']}:8080/", timeout=10) as answer:
        assert answer.read() == b"hello from far\n"
    assert shared.run("enter", "--node", "2", "hostname").strip() == second


def test_a_node_that_is_frozen_is_unavailable_and_its_pods_end_when_it_continues(
    shared: Cluster, namespace: str, second: str
) -> None:
    def leaving() -> bool:
        return "deletionTimestamp" in shared.get("pod", "--namespace", namespace, "far")["metadata"]

    shared.apply(pod(namespace, "far", "serve", **on(second)))
    await_ready(shared, namespace, "far")
    address = shared.get("pod", "--namespace", namespace, "far")["status"]["podIP"]
    shared.run("freeze")
    shared.kubectl("wait", "--for=condition=Ready=Unknown", "--timeout=90s", f"node/{second}")
    until(leaving, "it is told to go", 90)
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with pytest.raises(OSError, match="timed out"):
        direct.open(f"http://{address}:8080/", timeout=2)
    assert shared.get("pod", "--namespace", namespace, "far")["status"]["phase"] == "Running"
    shared.run("thaw")
    shared.kubectl("wait", "--namespace", namespace, "--for=delete", "--timeout=60s", "pod/far")
    shared.kubectl("wait", "--for=condition=Ready", "--timeout=60s", f"node/{second}")


def test_a_kubelet_that_is_unavailable_leaves_its_pods_to_themselves(
    shared: Cluster, namespace: str, second: str
) -> None:
    shared.apply(pod(namespace, "far", "serve", **on(second)))
    await_ready(shared, namespace, "far")
    shared.run("stop", "--kill", "second-kubelet")
    shared.kubectl("delete", "--namespace", namespace, "--wait=false", "pod/far")
    address = shared.get("pod", "--namespace", namespace, "far")["status"]["podIP"]
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"http://{address}:8080/", timeout=10) as answer:
        assert answer.read() == b"hello from far\n"
    shared.run("start", "second-kubelet")
    shared.kubectl("wait", "--namespace", namespace, "--for=delete", "--timeout=60s", "pod/far")


def test_a_node_that_leaves_is_forgotten_with_its_pods_and_may_join_again(
    shared: Cluster, namespace: str, second: str
) -> None:
    shared.apply(pod(namespace, "far", "serve", namespace, **on(second)))
    await_ready(shared, namespace, "far")
    assert f"probe serve {namespace}" in shared.run("enter", "ps", "-A", "-o", "args=")
    shared.run("freeze")
    shared.run("leave")
    assert f"probe serve {namespace}" not in shared.run("enter", "ps", "-A", "-o", "args=")
    assert second not in shared.kubectl("get", "nodes", "--output=name")
    assert not [c for c in shared.status()["Components"] if c["Name"].startswith("second")]
    assert "there is no second node" in shared.run("freeze", fails=True)
    shared.kubectl("wait", "--namespace", namespace, "--for=delete", "--timeout=120s", "pod/far")  # a minute
    shared.run("join")
    assert second in shared.kubectl("get", "nodes", "--output=name")


def test_down_leaves_nothing_of_two_nodes_of_which_one_is_frozen(tmp_path: Path) -> None:
    env = {"PENSTOCK_CLUSTER_DIR": str(tmp_path / "clusters")}
    with cluster(f"two-{os.getpid()}", "--nodes", "2", env=env) as up:
        status = up.status()
        network = Path(f"/proc/{status['PID']}/ns/net").readlink().name
        assert len(up.kubectl("get", "nodes", "--output=name").splitlines()) == 2
        up.run("freeze")
        up.run("down")
        assert not {kind: found for kind, found in traces(status, network).items() if found}


def test_down_leaves_nothing(tmp_path: Path) -> None:
    settings = [Path("/proc/sys", name).read_text() for name in SETTINGS]
    with cluster(f"gone-{os.getpid()}", env={"PENSTOCK_CLUSTER_DIR": str(tmp_path / "clusters")}) as up:
        status = up.status()
        network = Path(f"/proc/{status['PID']}/ns/net").readlink().name
        for kind, found in traces(status, network).items():
            assert found, kind
        assert "up already" in up.run("up")
        up.run("load", Path(up.run("path", "probe.tar").strip()))
        up.kubectl("run", "web", f"--image={PROBE}")
        await_ready(up, "default", "web")
        assert [Path("/proc/sys", name).read_text() for name in SETTINGS] == settings
        up.run("down")
        assert not {kind: found for kind, found in traces(status, network).items() if found}
        assert "There is no cluster" in up.run("down")


def traces(status: dict[str, Any], network: str) -> dict[str, Any]:
    """What a cluster has outside of its own namespaces."""
    listed = subprocess.run(["ip", "-json", "route", "show", "table", "all"], capture_output=True, check=True).stdout
    groups = Path("/sys/fs/cgroup").glob(f"**/{status['Cgroup'].lstrip('/')}")
    return {
        "folder": [p for p in [Path(status["Folder"])] if p.exists()],
        "interface": [p.name for p in Path("/sys/class/net").iterdir() if p.name == status["Interface"]],
        "routes": [r["dst"] for r in json.loads(listed) if r.get("dev") == status["Interface"]],
        "cgroups": [str(p) for p in groups],
        "processes": [p for p, of in networks().items() if of == network],
    }


def networks() -> dict[str, str]:
    """The network namespace of each process that has one."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is a zombie
            found[process.name] = (process / "ns" / "net").readlink().name
    return found


def test_what_a_cluster_mounts_is_not_mounted_on_the_machine(shared: Cluster) -> None:
    assert shared.status()["Folder"] not in Path("/proc/mounts").read_text()
    assert "overlay" in shared.run("enter", "cat", "/proc/mounts")


def test_an_up_that_fails_shows_the_log_of_the_culprit_and_leaves_nothing(shared: Cluster, tmp_path: Path) -> None:
    tools = Path(shared.run("build").strip())
    broken = tmp_path / "tools"
    shutil.copytree(tools, broken, symlinks=True)
    (broken / "kube-scheduler").unlink()
    (broken / "kube-scheduler").write_text("#!/bin/sh\necho it is broken\nexit 3\n")
    (broken / "kube-scheduler").chmod(0o755)
    env = {
        **os.environ,
        "PENSTOCK_CLUSTER_TOOLS": str(broken),
        "PENSTOCK_CLUSTER_DIR": str(tmp_path / "clusters"),
        "PENSTOCK_CACHE": str(tmp_path),
    }
    up: list[str | Path] = [broken / "control", "up", "--name", f"broken-{os.getpid()}"]
    done = subprocess.run(up, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "kube-scheduler has died 4 times in a row: exit status 3" in done.stderr
    assert "it is broken" in done.stderr
    assert not (tmp_path / "clusters").exists()
