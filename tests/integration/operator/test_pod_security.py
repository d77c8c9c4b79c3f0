"""The operator's own check of templates says what Kubernetes' Pod Security admission says of the pods made from them."""

from typing import Any

import pytest
from tests.unit.operator.connector.controls import CONTROLS
from tests.unit.operator.connector.world.plugins import tasks_of

from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_spec import TaskState
from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.plans import Plan, PodSettings
from penstock_operator.connector.policy.template_policy import refusals
from penstock_operator.connector.render.pod_manifests import PodManifests
from penstock_operator.settings import Settings

from ..cluster_api.api import Api, ApiRefused


def _settings(level: str) -> Settings:
    return Settings.of(
        {
            "release": {"name": "penstock", "namespace": "penstock-system"},
            "worker": {"bootstrap.servers": "k:1"},
            "images": {"runtime": "r:1"},
            "podSecurity": {"level": level},
        }
    )


def _connector(template: dict[str, Any], namespace: str) -> Connector:
    return Connector.read(
        {
            "apiVersion": "penstock.dev/v1alpha1",
            "kind": "Connector",
            "metadata": {"name": "orders-in", "namespace": namespace, "uid": "0b1a4b0e-0000-4000-8000-000000000000"},
            "spec": {"class": "FileStreamSource", "template": template},
        }
    )


@pytest.mark.parametrize("level", ["Baseline", "Restricted"])
def test_every_control_is_refused_here_exactly_where_kubernetes_refuses_it(api: Api, level: str) -> None:
    name = api.new_namespace()
    api.merge(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": level.lower()}}},
    )
    settings, differ = _settings(level), []
    answer = tasks_of(1)
    plan = Plan.of("asked", PodSettings.of(settings, ()), answer, (), "")
    for control in CONTROLS:
        connector = _connector(control.template, name)
        maker = PodManifests(connector, settings, PodSettings.of(settings, ()))
        pod = maker.task(plan, 0, 1, PlanEpoch(generation=1, plan="p"), TaskState.RUNNING)
        pod["spec"]["serviceAccountName"] = "default"
        try:
            api.call("POST", f"/api/v1/namespaces/{name}/pods", pod, dryRun="All", fieldValidation="Strict")
            theirs = ""
        except ApiRefused as e:
            theirs = str(e)
        ours = [p.property for p in refusals(connector, settings)]
        if bool(theirs) != bool(ours):  # what is wrong in itself is refused before the level is looked at
            differ.append((control.name, ours, theirs))
    assert differ == []
