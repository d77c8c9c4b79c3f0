"""Job pods that do not start, do not end, or are refused hold up nobody for long, and nobody else at all."""

from collections.abc import Callable

import pytest

from .world.kubelet import UNPLACED
from .world.proxy import Proxy
from .world.site import Site, condition
from .world.watched import Json

pytestmark = pytest.mark.slow

QUICK = {"deadlineSeconds": 4}


def is_job(pod: Json) -> bool:
    return bool(pod["metadata"]["labels"]["penstock.dev/role"] == "job")


def jobs(site: Site) -> list[Json]:
    return [p for p in list(site.kubelet.pods.objects.values()) if is_job(p)]


def says(site: Site, name: str, *words: str, seconds: float = 60) -> str:
    return condition(
        site.until(name, lambda b: all(w in condition(b, "Ready") for w in words), " ".join(words), seconds), "Ready"
    )


def test_a_pod_that_no_node_takes_gives_its_slot_to_the_next_and_is_tried_again(site: Site) -> None:
    site.kubelet.refuse(is_job)
    site.operator(limits={"jobPods": 1}, job=QUICK).start()
    for name in ("one", "two"):
        site.create(name)
    for name in ("one", "two"):
        assert "the job pod was not scheduled within 4 s" in says(
            site, name, "Unschedulable", UNPLACED.rstrip("."), "within"
        )
    site.until("one", lambda b: b["status"]["operatorState"]["job"]["attempts"] >= 2, "tried again")
    site.kubelet.let_go()
    for name in ("one", "two"):
        site.settled(name, seconds=120)
    assert site.requests() == []
    site.check()


def test_a_pod_on_a_node_that_is_unavailable_is_replaced_and_its_slot_is_free(site: Site) -> None:
    site.kubelet.hold(is_job)
    site.operator(limits={"jobPods": 1}, task={"nodeLostSeconds": 2}).start()
    site.create("orders")
    site.kubelet.pods.until(lambda pods: any(p["spec"].get("nodeName") for p in pods.values()), "a node has it")
    lost = jobs(site)[0]["metadata"]
    site.kubelet.let_go()
    site.kubelet.hold(lambda pod: pod["metadata"]["uid"] == lost["uid"])
    site.kubelet.keep(lambda pod: pod["metadata"]["uid"] == lost["uid"])
    path = f"/api/v1/namespaces/{lost['namespace']}/pods/{lost['name']}"
    site.api.call("DELETE", path, {"gracePeriodSeconds": 1})  # as the control plane does with a node that is away
    site.create("others")  # there is one slot
    site.settled("others")
    site.settled("orders")
    assert lost["name"] in [p["metadata"]["name"] for p in jobs(site)]
    assert any(job == f"{site.namespace}/{lost['name']}-1" for job, _ in site.kubelet.jobs)
    site.change("orders", state="Stopped")
    site.settled("orders", "Stopped")
    site.kubelet.let_go()
    site.kubelet.pods.until(lambda pods: not any(map(is_job, pods.values())), "the node is back, and ends it")
    assert site.requests() == []
    site.check()


def test_job_pods_that_live_count_after_a_restart_of_the_operator(make_site: Callable[..., Site]) -> None:
    site = make_site(spaces=3)
    site.kubelet.hold(is_job)
    operator = site.operator(limits={"jobPods": 2}).start()
    for namespace in site.namespaces[:2]:
        site.create("orders", namespace=namespace)
    site.kubelet.pods.until(lambda pods: len(pods) == 2, "both slots are taken")
    operator.kill()
    operator.ended()
    site.create("first", namespace=site.namespaces[2])
    operator.start()
    says(site, f"{site.namespaces[2]}/first", "waiting for its turn")
    assert len(jobs(site)) == 2
    site.kubelet.let_go()
    site.settled(f"{site.namespaces[2]}/first")
    site.check()


def test_a_pod_that_the_namespace_refuses_is_tried_more_and_more_seldom_and_again_when_it_may(
    site: Site, proxy: Proxy
) -> None:
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "small", "namespace": site.namespace},
        "spec": {"limits": [{"type": "Pod", "max": {"memory": "64Mi"}}]},
    }
    site.api.create(limits)
    site.operator(proxy.kubeconfig).start()
    site.create("orders")
    assert "maximum memory usage per Pod is 64Mi" in says(site, "orders", "64Mi")
    version = site.get("orders")["metadata"]["resourceVersion"]
    proxy.wait_for(lambda a: a.method == "POST" and a.path.endswith("/pods") and a.code == 403, count=4)
    refused = [a for a in proxy.asked if a.method == "POST" and a.path.endswith("/pods") and a.code == 403]
    assert len(refused) <= 5
    assert site.get("orders")["metadata"]["resourceVersion"] == version  # told once
    site.api.delete(limits)
    site.settled("orders", seconds=120)
    assert site.requests() == []
    site.check()


def test_own_edits_and_deletions_go_before_the_plans_of_a_release(site: Site) -> None:
    first = site.operator(limits={"jobPods": 1}).start()
    names = [f"c{n}" for n in range(8)]
    for name in names:
        site.create(name, deletion={"offsets": "Reset"} if name == "c6" else {})
    for name in names:
        site.settled(name)
    assert first.stop() == 0
    site.kubelet.hold(is_job)
    before = len(site.kubelet.jobs)
    site.operator(limits={"jobPods": 1}, images={"runtime": "runtime:2"}).start()
    turn = "waiting for its turn"

    for name in names:
        site.until(
            name, lambda b: condition(b, "UpdatePending").startswith("True Planning"), "the release's plan is due"
        )
    site.kubelet.pods.until(lambda pods: any(map(is_job, pods.values())), "the slot is taken")
    held = jobs(site)[0]["metadata"]["name"]
    own = [n for n in ("c5", "c6", "c7") if not held.startswith(n)]
    for name in own:
        site.delete(name) if name == "c6" else site.change(name, config={"topic": "others"})
    site.create("new")
    for name in [*own, "new"]:
        says(site, name, turn)
    site.kubelet.let_go()
    for name in [n for n in (*names, "new") if n != "c6"]:
        site.settled(name, seconds=120)
    site.gone("c6")
    done = [job.partition("/")[2].split("-")[0] for job, _ in site.kubelet.jobs[before:]]
    assert set(done[1:4]) <= {*own, "new"}  # and then one of the release has its turn
    assert max(done.index(name) for name in [*own, "new"]) <= 5
    site.check()
