"""The operator with the rights that the chart gives it: nothing that it does is denied, nothing is allowed for nothing."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .test_topic_policies import RULES, policy
from .world.chart import Chart
from .world.plugin_versions import observed, plugin_version
from .world.proxy import Proxy
from .world.site import Site, condition

pytestmark = pytest.mark.slow

_PATH = re.compile(
    r"/(?:api/v1|apis/(?P<group>[^/]+)/[^/]+)(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<resource>[a-z]+)"
    r"(?:/(?P<name>[^/]+)(?:/(?P<sub>[a-z]+))?)?$"
)
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

NEVER_USED = {
    ("", "configmaps", "patch"): "a later release writes offsets to a ConfigMap",
}


def used(method: str, path: str, query: str) -> tuple[str, str, str, str] | None:
    """The right that a request needs: namespace, group, resource, verb; None: none (discovery)."""
    match = _PATH.match(path)
    if match is None or path.count("/") < 3 or (path.startswith("/apis/") and path.count("/") < 4):
        return None
    resource = match["resource"] + (f"/{match['sub']}" if match["sub"] else "")
    verb = _VERBS.get(method) or ("get" if match["name"] else "watch" if "watch=" in query else "list")
    return match["namespace"] or "", match["group"] or "", resource, verb


@pytest.fixture(params=["in-its-namespaces", "everywhere"])
def chart(request: pytest.FixtureRequest, site: Site) -> Iterator[Chart]:
    """Applied to the cluster."""
    made = Chart(site, [site.namespace] if request.param == "in-its-namespaces" else [])
    yield made
    made.remove()


def replace_plan(site: Site) -> None:
    """Put what cannot be read in the place of the latest plan, as a newer release may leave it."""
    plans = [c for c in site.api.list("v1", "ConfigMap", site.namespace) if "plan.json" in c.get("data", {})]
    latest = max(plans, key=lambda c: int(c["metadata"]["resourceVersion"]))
    plan = {"apiVersion": "v1", "kind": "ConfigMap", **latest}
    site.api.delete(plan)
    meta = {k: plan["metadata"][k] for k in ("name", "namespace", "labels", "ownerReferences")}
    site.api.create({**plan, "metadata": meta, "data": {"plan.json": "{}"}})


def whole_life(site: Site) -> None:
    """Everything that the operator ever does."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db", "namespace": site.namespace},
        "stringData": {"password": "a"},
    }
    for resource in (plugin_version(site), policy(site, RULES)):
        site.api.create(resource)
        observed(site, resource)
    config = {"file": "/data/a", "topic": "orders", "password": "${secret:db:password}"}
    site.create("orders", tasksMax=2, config=config, deletion={"offsets": "Reset"})
    site.until("orders", lambda b: condition(b, "Ready").startswith("False SecretMissing"), "it is told")
    site.api.create(secret)
    site.settled("orders")
    site.api.apply({**secret, "stringData": {"password": "b"}})
    site.until("orders", lambda b: b["status"]["tasks"][0]["incarnation"] == 2, "restarted for another secret")
    site.settled("orders")
    for n in range(3):  # so that old plans are removed
        site.change("orders", config={"file": f"/data/{n}"})
        site.settled("orders")
    replace_plan(site)
    site.change("orders", state="Paused")
    site.settled("orders", "Paused")
    site.change("orders", state="Running")
    site.settled("orders")
    site.annotate("orders", restart="a")
    site.until("orders", lambda b: b["status"].get("restartActions"), "restarted")
    site.settled("orders")
    foreign = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "others-0-1", "namespace": site.namespace},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }
    site.api.create(foreign)
    site.create("others")
    site.until("others", lambda b: "others-0-1" in condition(b, "Ready"), "a pod of that name is there")
    site.api.delete(foreign)
    site.settled("others")
    site.change("others", state="Paused")
    site.settled("others", "Paused")
    site.change("others", state="Running", spark={"executors": {"max": 1}})
    site.settled("others")
    (pod,) = site.kubelet.alive(site.key("others"))
    # Only an Event may say why. Its Secret is deleted, and the pod is kept.
    site.kubelet.kill(f"{site.namespace}/{pod['metadata']['name']}", 0)
    site.until("others", lambda b: b["status"]["tasks"][0]["restarts"], "its task is replaced")
    site.settled("others")
    for name in ("orders", "others"):
        site.delete(name)
        site.gone(name)


def test_the_operator_uses_every_right_that_the_chart_gives_it_and_needs_no_other(
    chart: Chart, site: Site, tmp_path: Path
) -> None:
    with Proxy(chart.kubeconfig(), tmp_path) as proxy:
        operator = chart.operator(proxy.kubeconfig)
        (operator.folder / "key").unlink()  # it makes one, and finds it again
        operator.start().ready()
        operator.kill()
        operator.ended()
        # Another one makes an authority for the webhook that can be used.
        name = {"name": "penstock-webhook-authority", "namespace": site.namespace}
        site.api.merge({"apiVersion": "v1", "kind": "Secret", "metadata": name}, {"data": {"ca.key": None}})
        operator.start()
        whole_life(site)
        assert operator.stop() == 0
        # What is refused in namespaces of other tests is so because they are being deleted.
        elsewhere = re.compile(rf"/namespaces/(?!{site.namespace}/)test-")
        denied = [a for a in proxy.asked if a.code in (401, 403) and not elsewhere.search(a.path)]
        assert denied == []
        asked = {found for r in proxy.requests if (found := used(r.method, r.path, r.query)) is not None}
    rights = chart.rights()
    missing = {u for u in asked if u not in rights and ("", *u[1:]) not in rights}
    assert missing == set()
    spare = {r for r in rights if not any(u[1:] == r[1:] and r[0] in ("", u[0]) for u in asked)}
    excused = {r for r in spare if r[1:] in NEVER_USED}
    assert spare - excused == set()
    assert {r[1:] for r in excused} == set(NEVER_USED)  # no excuse for what is used
    site.check()


def test_an_operator_without_rights_says_which_and_continues_when_it_has_them(site: Site, tmp_path: Path) -> None:
    chart = Chart(site, [site.namespace])
    role = next(d for d in chart.documents if d["kind"] == "Role" and any("pods" in r["resources"] for r in d["rules"]))
    pods = [r for r in role["rules"] if r["resources"] != ["pods"]]
    site.api.apply(
        {**role, "rules": [*pods, {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]}
    )
    operator = site.operator(chart.kubeconfig()).start()
    site.create("orders")
    told = site.until("orders", lambda b: "forbidden" in condition(b, "Ready"), "it is told")
    assert "cannot create resource" in condition(told, "Ready")
    site.api.apply(role)
    site.settled("orders")
    assert operator.starts == 1
    site.check()
