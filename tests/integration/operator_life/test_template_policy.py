"""What the platform does not allow a Connector's pods, on a real API server: told at once, and no pod for it."""

from typing import Any

from .site import Site

HOST: dict[str, Any] = {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]}


def condition(body: dict[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {c["type"]: c for c in body.get("status", {}).get("conditions", ())}.get(kind, {})
    return found


def test_a_template_that_is_refused_gets_no_pod_and_one_that_is_mended_runs(site: Site) -> None:
    site.operator().start()
    template = {**HOST, "securityContext": {"runAsUser": 0}, "env": [{"name": "PENSTOCK_LIFE", "value": "{}"}]}
    site.create("orders", template=template)
    body = site.until("orders", lambda b: condition(b, "Stalled"), "refused")
    told = condition(body, "ConfigValid")["message"]
    for field in ("volumes[host].hostPath", "securityContext.runAsUser", "env[PENSTOCK_LIFE]"):
        assert f"spec.template.{field}: " in told
    assert site.kubelet.pods.objects == {}
    site.change("orders", template={"volumes": None, "securityContext": None, "env": None, "nodeSelector": {}})
    site.settled("orders")
    site.check()


def test_a_level_that_is_raised_ends_no_pod_and_lets_no_other_come(site: Site) -> None:
    opened = site.operator(podSecurity={"level": "Unrestricted"}).start()
    site.create("orders", template=HOST, deletion={"offsets": "Reset"})
    site.settled("orders")
    before = set(site.kubelet.pods.objects)
    opened.stop()
    site.operator().start()
    body = site.until("orders", lambda b: condition(b, "Stalled"), "refused")
    assert body["status"]["state"] == "Running"
    assert set(site.kubelet.pods.objects) == before
    site.delete("orders")  # its offsets are reset by a pod without the template
    site.gone("orders")
    site.check()


def test_a_template_that_the_namespace_does_not_admit_is_told_with_kubernetes_own_words(site: Site) -> None:
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
