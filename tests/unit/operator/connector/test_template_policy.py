"""What a template may ask for is the platform's choice, control by control, and the refusal names the field."""

from collections.abc import Callable
from typing import Any

import pytest

from penstock_model.contracts.job import Action
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_spec import TaskState
from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.plans import Plan, PodSettings
from penstock_operator.connector.policy.template_policy import refusals, with_template_policy
from penstock_operator.connector.render.pod_manifests import PodManifests
from penstock_operator.settings import Settings

from .controls import CONTROLS, Control
from .world.plugins import tasks_of

LEVELS = ("Unrestricted", "Baseline", "Restricted")


def settings(level: str = "Restricted", account: str = "penstock-operator", **more: Any) -> Settings:
    release = {"name": "penstock", "namespace": "penstock-system", "serviceAccount": account}
    return Settings.of(
        {
            "release": release,
            "worker": {"bootstrap.servers": "k:1"},
            "images": {"runtime": "r:1"},
            "podSecurity": {"level": level},
            **more,
        }
    )


def connector(template: dict[str, Any], namespace: str = "shop") -> Connector:
    metadata = {"name": "orders-in", "namespace": namespace, "uid": "u-1", "generation": 7}
    return Connector.read(
        {
            "apiVersion": "penstock.dev/v1alpha1",
            "kind": "Connector",
            "metadata": metadata,
            "spec": {"class": "FileStreamSource", "template": template},
        }
    )


def told(template: dict[str, Any], given: Settings | None = None, namespace: str = "shop") -> dict[str, str]:
    """What is refused, by field."""
    return {p.property: p.message for p in refusals(connector(template, namespace), given or settings())}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("control", CONTROLS, ids=lambda c: c.name)
def test_a_control_is_refused_from_its_level_on_under_the_fields_path(control: Control, level: str) -> None:
    refused = control.refused_by != "" and LEVELS.index(level) >= LEVELS.index(control.refused_by)
    assert set(told(control.template, settings(level))) == (
        {f"spec.template.{f}" for f in control.fields} if refused else set()
    )


def test_every_problem_of_a_template_is_reported_together() -> None:
    template = {
        "volumes": [{"name": "host", "hostPath": {"path": "/"}}],
        "securityContext": {"runAsUser": 0},
        "env": [{"name": "PENSTOCK_POD_IDENTITY", "value": "x"}],
        "priorityClassName": "system-node-critical",
    }
    assert set(told(template)) == {
        "spec.template.volumes[host].hostPath",
        "spec.template.securityContext.runAsUser",
        "spec.template.env[PENSTOCK_POD_IDENTITY]",
        "spec.template.priorityClassName",
    }
    assert (
        "(podSecurity.level of the release is Restricted)" in told(template)["spec.template.securityContext.runAsUser"]
    )


@pytest.mark.parametrize("level", LEVELS)
def test_a_priority_of_the_system_is_refused_unless_everything_is_open(level: str) -> None:
    assert bool(told({"priorityClassName": "system-cluster-critical"}, settings(level))) is (level != "Unrestricted")
    assert told({"priorityClassName": "batch"}, settings(level)) == {}


TOKEN = {"volumes": [{"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}]}


@pytest.mark.parametrize(
    ("template", "field"),
    [
        ({"automountServiceAccountToken": True}, "automountServiceAccountToken"),
        (TOKEN, "volumes[t].projected.sources.serviceAccountToken"),
    ],
)
def test_a_token_of_the_api_server_is_for_connectors_only_where_the_platform_opens_it(
    template: dict[str, Any], field: str
) -> None:
    assert set(told(template)) == {f"spec.template.{field}"}
    assert told(template, settings("Baseline")) == {}
    assert told({"serviceAccountName": "cloud-identity"}) == {}


@pytest.mark.parametrize("level", LEVELS)
def test_nobody_runs_as_the_operator_at_any_level(level: str) -> None:
    given, field = settings(level), "spec.template.serviceAccountName"
    assert set(told({"serviceAccountName": "penstock-operator"}, given, "penstock-system")) == {field}
    assert told({"serviceAccountName": "penstock-operator"}, given, "shop") == {}
    # Where the release uses the namespace's default account, every pod there is of that one: without its token.
    given = settings(level, account="default")
    assert told({"nodeSelector": {"a": "b"}}, given, "penstock-system") == {}
    for template in ({"automountServiceAccountToken": True}, TOKEN):
        assert len(told(template, given, "penstock-system")) == 1


@pytest.mark.parametrize(
    ("template", "field"),
    [
        ({"env": [{"name": "PENSTOCK_POD_IDENTITY", "value": "{}"}]}, "env[PENSTOCK_POD_IDENTITY]"),
        ({"env": [{"name": "PENSTOCK_ANYTHING", "value": "x"}]}, "env[PENSTOCK_ANYTHING]"),
        ({"env": [{"name": "PENSTOCK_POD_IDENTITY", "$patch": "delete"}]}, "env[PENSTOCK_POD_IDENTITY]"),
        ({"envFrom": [{"prefix": "PENSTOCK_", "configMapRef": {"name": "a"}}]}, "envFrom[0].prefix"),
        ({"envFrom": [{"prefix": "PEN", "configMapRef": {"name": "a"}}]}, "envFrom[0].prefix"),
        ({"volumes": [{"name": "plan", "configMap": {"name": "mine"}}]}, "volumes[plan]"),
        ({"volumes": [{"name": "secret-0", "secret": {"secretName": "mine"}}]}, "volumes[secret-0]"),
        ({"volumes": [{"name": "scratch", "$patch": "delete"}]}, "volumes[scratch]"),
        ({"volumeMounts": [{"name": "a", "mountPath": "/etc/penstock/task/"}]}, "volumeMounts[/etc/penstock/task]"),
    ],
)
def test_names_that_identify_a_task_are_reserved(template: dict[str, Any], field: str) -> None:
    for level in LEVELS:
        assert set(told(template, settings(level))) == {f"spec.template.{field}"}


@pytest.mark.parametrize(
    "template",
    [
        {"env": [{"name": "PYTHONPATH", "value": "/data"}, {"name": "LD_PRELOAD", "value": "/data/a.so"}]},
        {"envFrom": [{"configMapRef": {"name": "a"}}, {"prefix": "DB_", "secretRef": {"name": "b"}}]},
        {"volumes": [{"name": "tmp", "emptyDir": {}}], "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]},
    ],
)
def test_what_a_process_of_the_tenant_does_in_its_own_pod_is_the_tenants(template: dict[str, Any]) -> None:
    assert told(template) == {}


def test_what_the_platform_has_set_itself_is_no_connectors_fault() -> None:
    root = settings(task={"podSecurityContext": {"runAsUser": 0}})
    assert told({"nodeSelector": {"a": "b"}}, root) == {}
    assert set(told({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, root)) == {
        "spec.template.securityContext.seccompProfile.type"
    }


def test_no_pod_is_made_from_a_template_that_is_refused() -> None:
    found = with_template_policy(connector({"volumes": [{"name": "host", "hostPath": {"path": "/"}}]}), settings())
    assert [p.property for p in found.reading.problems] == ["spec.template.volumes[host].hostPath"]
    answer = tasks_of(1)
    pod_settings = PodSettings.of(settings(), ())
    plan = Plan.of("asked", pod_settings, answer, (), "")
    manifests = PodManifests(found, settings(), pod_settings)
    task = manifests.task(plan, 0, 1, PlanEpoch(generation=1, plan="p"), TaskState.RUNNING)
    for pod in (task, manifests.job("orders-in-reset-1", Action.RESET_OFFSETS, "1")):
        assert "hostPath" not in str(pod)


def test_a_sidecar_that_says_nothing_keeps_to_the_restricted_level() -> None:
    found = connector({"initContainers": [{"name": "proxy", "image": "x", "securityContext": {"runAsUser": 7}}]})

    def sidecar(level: str) -> dict[str, Any]:
        job = PodManifests(found, settings(level), PodSettings.of(settings(level), ())).job("a", Action.PLAN, "1")
        made: dict[str, Any] = job["spec"]["initContainers"][0]["securityContext"]
        return made

    assert sidecar("Restricted") == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsUser": 7,
    }
    assert sidecar("Baseline") == {"runAsUser": 7}


def test_the_platform_gives_pods_their_security_contexts_for_a_cluster_that_deals_out_users() -> None:
    """OpenShift's restricted-v2 gives each namespace its own range of users, and refuses a pod that names another."""
    given = settings(task={"podSecurityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}})
    spec = PodManifests(connector({}), given, PodSettings.of(given, ())).job("a", Action.PLAN, "1")["spec"]
    assert not {"runAsUser", "runAsGroup", "fsGroup"} & spec["securityContext"].keys()
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("value", [{}, [], [{}], {"a": {}}, 1.5])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda v: {"securityContext": {"seLinuxOptions": {"type": v}}},
        lambda v: {"securityContext": {"sysctls": [{"name": v}]}},
        lambda v: {"initContainers": [{"name": "a", "image": "x", "securityContext": {"capabilities": {"add": [v]}}}]},
        lambda v: {"initContainers": [{"name": v, "image": "x"}]},
        lambda v: {"volumes": [{"name": v, "emptyDir": {}}]},
        lambda v: {"volumeMounts": [{"name": v, "mountPath": v}]},
        lambda v: {"env": [{"name": v}]},
    ],
    ids=["type", "sysctl", "capability", "container", "volume", "mount", "variable"],
)
def test_a_value_of_a_wrong_type_is_refused_here_or_by_the_api_server_and_stops_nothing(
    wrap: Callable[[Any], dict[str, Any]], value: Any
) -> None:
    for level in LEVELS:
        given = settings(level)
        found = with_template_policy(connector(wrap(value)), given)
        PodManifests(found, given, PodSettings.of(given, ())).job("a", Action.PLAN, "1")


@pytest.mark.parametrize(
    "path",
    [
        "/etc//penstock/task",
        "//etc/penstock",
        "/etc/./penstock/task",
        "/data/../etc/penstock",
        "etc/penstock/task",
        "/etc/penstock/.",
    ],
)
def test_a_folder_is_penstocks_however_its_path_is_written(path: str) -> None:
    assert len(told({"volumeMounts": [{"name": "a", "mountPath": path}]}, settings("Unrestricted"))) == 1
    assert told({"volumeMounts": [{"name": "a", "mountPath": "/etc/penstocks"}]}) == {}


def test_a_template_that_is_too_long_is_refused_as_a_whole() -> None:
    variables = [{"name": f"A{n}", "value": "x"} for n in range(5_000)]
    assert set(told({"env": variables}, settings("Unrestricted"))) == {"spec.template"}
    assert told({"env": variables[:1_000]}) == {}
