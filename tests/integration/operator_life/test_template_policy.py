"""What the platform does not allow a Connector's pods, on a real API server: told at once, and no pod for it."""

from typing import Any

import pytest

from penstock_model.contracts.job import Action

from .world.site import Site

HOST: dict[str, Any] = {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]}


def condition(body: dict[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {c["type"]: c for c in body.get("status", {}).get("conditions", ())}.get(kind, {})
    return found


def test_a_field_that_pods_do_not_have_is_refused_and_running_tasks_continue(site: Site) -> None:
    site.operator().start()
    site.create("orders")
    site.settled("orders")
    site.change("orders", template={"resources": {"limit": {"memory": "1Gi"}}})
    body = site.until("orders", lambda b: condition(b, "ConfigValid").get("status") == "False", "it is refused")
    told = condition(body, "ConfigValid")["message"]
    assert "spec.template.resources.limit: pods have no such field" in told
    assert "did you mean limits?" in told
    assert body["status"]["tasks"][0]["incarnation"] == 1
    site.check()


def test_a_template_that_the_namespace_does_not_admit_is_reported_with_kubernetes_own_words(site: Site) -> None:
    site.api.merge(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": site.namespace}},
        {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}},
    )
    site.operator(podSecurity={"level": "Unrestricted"}).start()
    site.create("orders", template=HOST)
    body = site.until(
        "orders", lambda b: condition(b, "Ready").get("reason") == "PodSecurityViolation", "the namespace refuses it"
    )
    assert "hostPath" in condition(body, "Ready")["message"]
    site.check()


def bounds(site: Site, memory: str) -> None:
    """A LimitRange of the namespace."""
    limit = {"type": "Container", "max": {"memory": memory}}
    metadata = {"name": "bounds", "namespace": site.namespace}
    site.api.create({"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": [limit]}})


@pytest.mark.parametrize(
    ("job", "template", "setting"),
    [
        ({"limits": {"memory": "1Gi"}}, {}, "change job.resources of the release"),
        (
            {"limits": {"memory": "128Mi"}},
            {"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}}},
            "change spec.template.resources, ",
        ),
    ],
    ids=["job-pod", "task-pod"],
)
def test_a_limit_range_names_the_setting_that_asks_for_too_much(
    site: Site, job: dict[str, Any], template: dict[str, Any], setting: str
) -> None:
    bounds(site, "256Mi")
    site.operator(job={"resources": job}).start()
    site.create("orders", template=template)
    body = site.until("orders", lambda b: condition(b, "Ready").get("reason") == "ResourcesRefused", "it is refused")
    told = condition(body, "Ready")["message"]
    assert "maximum memory usage per Container is 256Mi, but limit is 1Gi" in told
    assert setting in told
    assert "Role" not in told
    site.check()


WRONG: tuple[dict[str, Any], ...] = (
    {"initContainers": [{"name": "first", "image": "x", "volumeMounts": "data"}]},
    {"volumes": [{"name": "data", "emptyDir": {"sizeLimit": {}}}]},
    {"securityContext": {"seLinuxOptions": {"type": []}}},
    {"securityContext": {"sysctls": [{"name": {}, "value": "1"}]}},
    {"initContainers": [{"name": "first", "image": "x", "securityContext": {"capabilities": {"add": [{}]}}}]},
)


def test_a_template_with_values_of_wrong_types_is_reported_and_its_connector_can_be_stopped_mended_and_deleted(
    site: Site,
) -> None:
    site.operator().start()
    for number, template in enumerate(WRONG):
        site.create(f"orders-{number}", template=template, deletion={"offsets": "Reset"})
    for number in range(len(WRONG)):
        body = site.until(
            f"orders-{number}",
            lambda b: condition(b, "Stalled").get("status") == "True",
            "refused",
        )
        assert condition(body, "Ready")["status"] == "False"
    assert site.kubelet.pods.objects == {}
    site.change("orders-0", template=None)
    site.settled("orders-0")
    for number in range(len(WRONG)):  # offsets are reset by a pod without the template
        site.delete(f"orders-{number}")
    for number in range(len(WRONG)):
        site.gone(f"orders-{number}")
    site.check()


def test_a_list_of_mounts_that_is_left_empty_is_none(site: Site) -> None:
    site.operator().start()
    first = {"name": "first", "image": "x", "volumeMounts": None, "env": None}
    site.create("orders", template={"initContainers": [first]})
    site.settled("orders")
    site.check()


def resets(site: Site) -> list[str]:
    return [pod for pod, action in site.kubelet.jobs if action is Action.RESET_OFFSETS]


def test_a_template_that_the_api_server_refuses_does_not_hold_up_a_reset(site: Site) -> None:
    site.operator().start()
    site.create("orders", deletion={"offsets": "Reset"})
    site.settled("orders")
    # Its types are right; the API server wants a term.
    near: dict[str, Any] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    site.change("orders", template={"affinity": {"nodeAffinity": near}})
    body = site.until("orders", lambda b: condition(b, "ConfigValid").get("status") == "False", "refused")
    field = "spec.template.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    assert condition(body, "ConfigValid")["message"].startswith(f"{field}: Required value")
    site.delete("orders")
    site.gone("orders")
    assert len(resets(site)) == 1
    assert site.requests() == []
    site.check()


@pytest.mark.slow
def test_a_template_that_no_node_takes_does_not_hold_up_a_reset(site: Site) -> None:
    site.kubelet.refuse(lambda pod: pod["spec"].get("nodeSelector") == {"disk": "none"})
    site.operator(job={"deadlineSeconds": 4}).start()
    site.create("orders", deletion={"offsets": "Reset"})
    site.settled("orders")
    site.change("orders", template={"nodeSelector": {"disk": "none"}})
    site.delete("orders")
    told = site.until(
        "orders", lambda b: "is released at" in condition(b, "Ready").get("message", ""), "what it waits for"
    )
    assert "immediately with spec.deletion.offsets: Keep" in condition(told, "Ready")["message"]
    site.gone("orders")
    assert len(resets(site)) == 1
    site.check()


@pytest.mark.slow
def test_an_image_of_the_last_plan_that_is_gone_does_not_hold_up_a_reset(site: Site) -> None:
    first = site.operator(job={"deadlineSeconds": 4}).start()
    site.create("orders", deletion={"offsets": "Reset"})
    site.settled("orders")
    assert first.stop() == 0
    site.kubelet.cannot_pull("penstock-runtime:test")
    site.delete("orders")
    site.operator(job={"deadlineSeconds": 4}, images={"runtime": "penstock-runtime:2"}).start()
    site.gone("orders")
    assert len(resets(site)) == 1
    site.check()


def test_a_reset_whose_image_cannot_be_pulled_says_so_and_ends_immediately_with_keep(site: Site) -> None:
    site.operator(job={"deadlineSeconds": 4}).start()
    site.create("orders", deletion={"offsets": "Reset"})
    site.settled("orders")
    site.kubelet.cannot_pull("penstock-runtime:test")
    site.delete("orders")
    told = site.until(
        "orders", lambda b: "is released at" in condition(b, "Ready").get("message", ""), "what it waits for"
    )
    assert condition(told, "Ready")["reason"] == "ImagePullBackOff"
    assert "penstock-runtime:test" in condition(told, "Ready")["message"]
    site.change("orders", deletion={"offsets": "Keep"})
    site.gone("orders")
    assert resets(site) == []
    site.check()
