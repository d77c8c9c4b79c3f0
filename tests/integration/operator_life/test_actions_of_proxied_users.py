"""For users whom a proxy names, the operator changes what actions change, and the API server lets it change nothing else."""

import asyncio
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock_operator.kubernetes.client import Kube
from penstock_operator.settings import Console
from penstock_operator.thread_pool import Pool
from penstock_operator.web.access import KubernetesAccess
from penstock_web.access import Denied

from ..running import until
from .world.chart import Chart
from .world.site import Site

CONSOLE = {"enabled": True, "actions": {"enabled": True}, "proxy": {"secretName": "proxy"}}
SECRET = "a-secret-of-the-proxy"
HEADERS = {"X-Penstock-Proxy-Secret": SECRET, "X-Forwarded-User": "ann", "X-Forwarded-Groups": "team"}
OTHER = "example.com/owner"


@pytest.fixture
def chart(site: Site) -> Iterator[Chart]:
    """Applied, with the console; ann's team edits the Connectors of the namespace."""
    made = Chart(site, [], console=CONSOLE)
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"namespace": site.namespace, "name": "team"}}
    rule = {"apiGroups": ["penstock.dev"], "resources": ["connectors"], "verbs": ["patch"]}
    site.api.apply({**rbac, "kind": "Role", "rules": [rule]})
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "team"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "team"}
    site.api.apply({**rbac, "kind": "RoleBinding", "roleRef": reference, "subjects": [group]})
    yield made
    made.remove()


def test_only_the_state_and_our_annotations_are_changed(chart: Chart, site: Site, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    kube = Kube.connect(kubeconfig=chart.kubeconfig())
    body: dict[str, Any] = {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "Connector",
        "metadata": {"namespace": site.namespace, "name": "orders", "annotations": {OTHER: "bob"}},
        "spec": {"class": "FileStreamSource", "config": {"file": "/data/a", "topic": "orders"}},
    }
    site.api.create(body)

    async def send(patch: Mapping[str, Any]) -> Mapping[str, Any]:
        pool = Pool(2)
        try:
            access = KubernetesAccess(Console.model_validate(CONSOLE), kube.server, pool, tmp_path / "secret")
            user = await access.user(HEADERS)
            assert user is not None
            return await access.patch(user, site.namespace, "orders", patch)
        finally:
            pool.close()

    def refused(patch: Mapping[str, Any]) -> str:
        try:
            asyncio.run(send(patch))
        except Denied as e:
            return str(e)
        return ""

    # The API server knows of the policy and of the bindings a moment later. Another value each time: one that was accepted
    # before is no change.
    numbers = itertools.count(2)
    until(lambda: "except its state" in refused({"spec": {"tasksMax": next(numbers)}}), what="the policy holds")
    policy = {"topicCreationPolicyRef": {"name": "x"}}
    for spec in ({"class": "FileStreamSink"}, {"config": {"topic": "x"}}, {"config": {"more": "x"}}, policy):
        assert "may not change the spec of a Connector, except its state" in refused({"spec": spec})
    for annotations in ({OTHER: "ann"}, {OTHER: None}, {"example.com/more": "x"}):
        text = refused({"metadata": {"annotations": annotations}})
        assert "may not change the annotations of a Connector, except Penstock's" in text
    assert "may not change the labels" in refused({"metadata": {"labels": {"team": "x"}}})
    assert "may not change the finalizers of others" in refused({"metadata": {"finalizers": ["example.com/x"]}})
    for state in ("Paused", "Stopped", "Running"):
        assert asyncio.run(send({"spec": {"state": state}}))["spec"]["state"] == state
    for value in ("a", "b", None):
        patched = asyncio.run(send({"metadata": {"annotations": {"penstock.dev/restart": value}}}))
        own = {OTHER: "bob"} if value is None else {OTHER: "bob", "penstock.dev/restart": value}
        assert patched["metadata"]["annotations"] == own
    kube.close()
