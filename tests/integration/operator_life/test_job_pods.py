"""Job pods that do not start, do not end, or are refused hold up nobody for long, and nobody else at all."""

from collections.abc import Callable

import pytest

from penstock_model.contracts.job import Action, JobAnswer, JobProblem, JobRequest, Outcome

from .world.answers import template
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


def test_pods_that_no_node_takes_keep_no_other_namespace_from_planning(make_site: Callable[..., Site]) -> None:
    site = make_site(spaces=2)
    stuck, other = site.namespaces
    site.kubelet.refuse(lambda pod: pod["metadata"]["namespace"] == stuck)
    site.operator(limits={"jobPods": 3}, job={"deadlineSeconds": 600}).start().ready()
    for n in range(5):
        site.create(f"c{n}", namespace=stuck)
    site.kubelet.pods.until(lambda pods: len(pods) == 2, "all slots but one are taken")
    for n in range(3):
        site.create(f"c{n}", namespace=other)
    for n in range(3):
        site.settled(f"{other}/c{n}")
    assert len([p for p in jobs(site) if p["metadata"]["namespace"] == stuck]) == 2
    site.check()


def test_a_pod_that_no_node_takes_gives_its_slot_to_the_next_and_is_tried_again(site: Site) -> None:
    site.kubelet.refuse(is_job)
    site.operator(limits={"jobPods": 1}, job=QUICK).start()
    for name in ("one", "two"):
        site.create(name)
    for name in ("one", "two"):
        assert "no node took the job pod within 4 s" in says(site, name, "Unschedulable", UNPLACED, "within")
    site.until("one", lambda b: b["status"]["job"]["attempts"] >= 2, "tried again")
    site.kubelet.let_go()
    for name in ("one", "two"):
        site.settled(name, seconds=120)
    assert site.requests() == []
    site.check()


def test_a_corrected_template_does_not_wait_for_the_deadline_of_the_pod_before(site: Site) -> None:
    site.kubelet.refuse(lambda pod: is_job(pod) and pod["spec"].get("nodeSelector") == {"disk": "fast"})
    site.operator(job={"deadlineSeconds": 600}).start()
    site.create("orders", template={"nodeSelector": {"disk": "fast"}})
    says(site, "orders", "Unschedulable", UNPLACED)
    site.change("orders", template={"nodeSelector": {"disk": "ssd"}})
    site.settled("orders")
    assert site.requests() == []
    site.check()


def test_a_pod_on_a_node_that_is_away_is_replaced_and_its_slot_is_free(site: Site) -> None:
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
    says(site, f"{site.namespaces[2]}/first", "waits for its turn")
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


def test_a_preparation_that_is_refused_is_told_and_tried_more_and_more_seldom_until_it_may(
    make_site: Callable[..., Site],
) -> None:
    prepared: list[str] = []
    wrong = JobProblem(property="offset.storage.topic", message="is not compacted")

    def answers(request: JobRequest) -> JobAnswer:
        answer = template(request)
        if request.action is not Action.PREPARE:
            return answer
        prepared.append(request.id)
        if len(prepared) > 3:
            return answer
        return answer.model_copy(update={"outcome": Outcome.INVALID, "standing": None, "problems": (wrong,)})

    site = make_site(answers=answers)
    site.operator().start()
    site.create("orders")
    site.settled("orders")
    assert prepared == []  # the plan's own pod has prepared
    site.change("orders", tasksMax=2)
    found = site.until("orders", lambda b: (b["status"].get("job") or {}).get("attempts", 0) >= 2, "tried twice")
    assert condition(found, "Stalled").startswith("True PrepareFailed: offset.storage.topic")
    site.settled("orders", seconds=120)
    assert len(prepared) == 4
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
    turn = "waits for its turn"

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
