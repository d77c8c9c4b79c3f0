"""The pods that the operator makes: secure by default, merged with what users add, the same for the same facts."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock_model.contracts.job import Action
from penstock_model.contracts.pod_identity import PlanEpoch, PodIdentity
from penstock_model.contracts.task_spec import TaskState
from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.plan_config_map import config_map_of, plan_of
from penstock_operator.connector.model.plans import Plan, PodSettings
from penstock_operator.connector.model.pod_status import TaskPod, pod_of
from penstock_operator.connector.render.pod_manifests import PodManifests
from penstock_operator.names import GENERATION_ANNOTATION, INCARNATION_ANNOTATION, TASK_LABEL
from penstock_operator.settings import Settings

from .world.plugins import tasks_of

DOCUMENT: dict[str, Any] = {
    "release": {"name": "penstock", "namespace": "penstock-system"},
    "worker": {"bootstrap.servers": "kafka:9092"},
    "images": {"runtime": "penstock-runtime:0.1.0", "pullSecrets": ["registry"]},
}
SETTINGS = Settings.of(DOCUMENT)
EPOCH = PlanEpoch(generation=3, plan="p")


def connector(**spec: Any) -> Connector:
    metadata = {"name": "orders-in", "namespace": "shop", "uid": "u-1", "generation": 7}
    return Connector.read(
        {
            "apiVersion": "penstock.dev/v1alpha1",
            "kind": "Connector",
            "metadata": metadata,
            "spec": {"class": "FileStreamSource", **spec},
        }
    )


def plan(secrets: str = "", pod_settings: PodSettings | None = None) -> Plan:
    return Plan.of("asked", pod_settings or PodSettings.of(SETTINGS, ()), tasks_of(2), (), secrets)


def manifests(secrets: tuple[str, ...] = (), settings: Settings = SETTINGS, **spec: Any) -> PodManifests:
    return PodManifests(connector(**spec), settings, PodSettings.of(settings, secrets))


def task_pod(secrets: tuple[str, ...] = (), **spec: Any) -> dict[str, Any]:
    made = manifests(secrets, **spec)
    return made.task(plan(pod_settings=made.pod_settings), 1, 4, EPOCH, TaskState.RUNNING)


def job_pod(**spec: Any) -> dict[str, Any]:
    return manifests(("db",), **spec).job("orders-in-plan-1", Action.PLAN, "1")


@pytest.mark.parametrize("pod", [task_pod(), job_pod()], ids=["task", "job"])
def test_a_pod_asks_for_nothing_that_the_restricted_level_forbids(pod: dict[str, Any]) -> None:
    spec = pod["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"]:
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert {next(k for k in v if k != "name") for v in spec["volumes"]} <= {"configMap", "emptyDir", "secret"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()


@pytest.mark.parametrize("pod", [task_pod(), job_pod()], ids=["task", "job"])
def test_a_pod_has_no_token_for_the_api_server_and_ends_for_good(pod: dict[str, Any]) -> None:
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["spec"]["restartPolicy"] == "Never"


@pytest.mark.parametrize("make", [task_pod, job_pod], ids=["task", "job"])
def test_a_pod_holds_up_no_node_that_an_autoscaler_wants_to_empty_unless_its_connector_says_so(
    make: Callable[..., dict[str, Any]],
) -> None:
    mark = "cluster-autoscaler.kubernetes.io/safe-to-evict"
    assert make()["metadata"]["annotations"][mark] == "true"
    assert make(template={"annotations": {mark: "false"}})["metadata"]["annotations"][mark] == "false"


@pytest.mark.parametrize(
    ("given", "volume"),
    [({}, {"sizeLimit": "10Gi"}), ({"temporarySize": "2Gi"}, {"sizeLimit": "2Gi"}), ({"temporarySize": ""}, {})],
)
def test_a_pods_tmp_is_bounded_as_the_release_says(given: dict[str, str], volume: dict[str, str]) -> None:
    settings = Settings.of({**DOCUMENT, "task": given})
    made = manifests(settings=settings)
    for pod in (made.task(plan(), 1, 4, EPOCH, TaskState.RUNNING), made.job("orders-in-plan-1", Action.PLAN, "1")):
        assert {"name": "scratch", "emptyDir": volume} in pod["spec"]["volumes"]


def test_a_pod_belongs_to_its_connector_and_can_be_found_by_labels() -> None:
    metadata = task_pod()["metadata"]
    assert metadata["name"] == "orders-in-1-4"
    assert metadata["labels"] == {
        "app.kubernetes.io/managed-by": "penstock",
        "penstock.dev/operator": "penstock-system.penstock",
        "penstock.dev/connector": "orders-in",
        "penstock.dev/connector-uid": "u-1",
        "penstock.dev/role": "task",
        "penstock.dev/task": "1",
    }
    owner = metadata["ownerReferences"][0]
    assert (owner["kind"], owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == (
        "Connector",
        "u-1",
        True,
        False,
    )


def test_a_task_knows_which_life_it_is() -> None:
    env = {e["name"]: e for e in task_pod()["spec"]["containers"][0]["env"]}
    identity = PodIdentity.from_json(env["PENSTOCK_POD_IDENTITY"]["value"])
    assert (identity.connector_uid, identity.connector_generation) == ("u-1", 7)
    assert (identity.incarnation, identity.epoch) == (4, EPOCH)
    assert identity.token == "u-1/3/1/4"
    assert env["PENSTOCK_POD_UID"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.uid"


def test_only_the_secrets_that_are_referred_to_are_mounted() -> None:
    spec = task_pod(("db", "kafka"))["spec"]
    secrets = {v["name"]: v["secret"] for v in spec["volumes"] if "secret" in v}
    mounts = {m["mountPath"]: m for m in spec["containers"][0]["volumeMounts"]}
    assert sorted(s["secretName"] for s in secrets.values()) == ["db", "kafka"]
    assert mounts["/etc/penstock/secrets/db"]["readOnly"] is True


def test_a_short_pod_starts_without_a_secret_and_reports_that_it_is_missing() -> None:
    optional = [v["secret"]["optional"] for v in job_pod()["spec"]["volumes"] if "secret" in v]
    assert optional == [True]
    assert [v["secret"]["optional"] for v in task_pod(("db",))["spec"]["volumes"] if "secret" in v] == [False]


def test_a_short_pod_has_an_end() -> None:
    assert job_pod()["spec"]["activeDeadlineSeconds"] == 120


def test_a_template_is_merged_as_kubectl_would() -> None:
    pod = task_pod(
        template={
            "labels": {"team": "shop", "penstock.dev/task": "9"},
            "annotations": {"a": "b"},
            "resources": {"limits": {"memory": "4Gi"}},
            "nodeSelector": {"disk": "ssd"},
            "env": [{"name": "TZ", "value": "UTC"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "orders"}}],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "imagePullSecrets": [{"name": "mine"}],
            "securityContext": {"fsGroup": 1000},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
        }
    )
    container, spec = pod["spec"]["containers"][0], pod["spec"]
    assert pod["metadata"]["labels"]["team"] == "shop"
    assert pod["metadata"]["labels"]["penstock.dev/task"] == "1"
    assert pod["metadata"]["annotations"]["a"] == "b"
    assert container["resources"] == {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "4Gi"}}
    assert spec["nodeSelector"] == {"disk": "ssd"}
    assert [e["name"] for e in container["env"]][-1] == "TZ"
    assert "PENSTOCK_POD_IDENTITY" in [e["name"] for e in container["env"]]
    assert {v["name"] for v in spec["volumes"]} == {"plan", "scratch", "data"}
    assert "/data" in [m["mountPath"] for m in container["volumeMounts"]]
    assert spec["imagePullSecrets"] == [{"name": "registry"}, {"name": "mine"}]
    assert spec["securityContext"]["fsGroup"] == 1000
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    assert len(spec["containers"]) == 1


def test_resources_of_the_tasks_are_not_those_of_short_pods() -> None:
    pod = job_pod(template={"resources": {"limits": {"memory": "64Gi"}}, "nodeSelector": {"disk": "ssd"}})
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"memory": "512Mi"}
    assert pod["spec"]["nodeSelector"] == {"disk": "ssd"}


def test_a_pod_leaves_a_node_that_is_unavailable_after_half_a_minute() -> None:
    assert {t["tolerationSeconds"] for t in task_pod()["spec"]["tolerations"]} == {30}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({}, {}, True),
        ({}, {"restart": {"maxRestarts": 3}}, True),
        ({}, {"state": "Paused"}, True),
        ({}, {"template": {"nodeSelector": {"a": "b"}}}, False),
    ],
)
def test_a_pod_is_out_of_date_when_what_it_was_made_from_has_changed(
    one: dict[str, Any], other: dict[str, Any], same: bool
) -> None:
    first, second = manifests(**one), manifests(**other)
    assert (
        first.pod_hash(plan(pod_settings=first.pod_settings), 0)
        == second.pod_hash(plan(pod_settings=second.pod_settings), 0)
    ) is same


def test_another_plan_with_the_same_task_makes_no_other_pod() -> None:
    first = plan()
    second = replace(first, hash="other")
    assert manifests().pod_hash(first, 0) == manifests().pod_hash(second, 0)
    assert manifests().pod_hash(first, 0) != manifests().pod_hash(first, 1)


def test_a_changed_secret_makes_another_pod() -> None:
    assert manifests().pod_hash(plan("1"), 0) != manifests().pod_hash(plan("2"), 0)


def test_a_short_pod_plans_what_was_asked_for_as_if_it_were_to_run() -> None:
    document = manifests(state="Paused", config={"file": "/a"}).document()
    assert document["spec"]["state"] == "Running"
    assert document["spec"]["config"] == {"file": "/a"}
    assert document["metadata"] == {"name": "orders-in", "namespace": "shop", "uid": "u-1", "generation": 7}


def test_the_kubelet_asks_for_the_health_of_a_task_and_ends_it_unless_the_release_says_otherwise() -> None:
    def asked_of(*, ends: bool) -> list[str]:
        task_ = SETTINGS.task.model_copy(update={"liveness_probe": ends})
        made = manifests(settings=SETTINGS.model_copy(update={"task": task_}))
        container = made.task(plan(), 1, 4, EPOCH, TaskState.RUNNING)["spec"]["containers"][0]
        return sorted(f"{k} {container[k]['httpGet']['path']}" for k in container if k.endswith("Probe"))

    assert asked_of(ends=True) == ["livenessProbe /healthz", "readinessProbe /readyz", "startupProbe /healthz"]
    assert asked_of(ends=False) == ["readinessProbe /readyz"]  # a startup probe ends a task as well


def test_a_task_that_was_ready_and_fell_silent_before_it_was_killed_failed_its_health_check() -> None:
    def told(ready_since: str, code: int = 137, **meta: object) -> str:
        terminated = {
            "exitCode": code,
            "reason": "Error",
            "startedAt": "2026-11-22T10:00:00Z",
            "finishedAt": "2026-11-22T11:00:00Z",
        }
        manifest = {
            "metadata": {"name": "a", "uid": "u", "labels": {"penstock.dev/role": "task"}, **meta},
            "status": {
                "phase": "Failed",
                "containerStatuses": [{"name": "task", "state": {"terminated": terminated}}],
                "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": ready_since}],
            },
        }
        found = pod_of(manifest, 0.0)
        assert found is not None
        assert found.ended is not None
        assert found.ended.lost is (code > 128)
        return found.ended.reason

    assert told("2026-11-22T10:57:00Z") == "HealthCheckFailed"
    assert told("2026-11-22T11:00:01Z") == "Error"  # killed while it was ready
    assert told("2026-11-22T10:00:00Z") == "Error"  # it never was
    assert told("2026-11-22T10:57:00Z", code=1) == "Error"
    assert told("2026-11-22T10:57:00Z", deletionTimestamp="2026-11-22T10:58:00Z") == "Error"


@pytest.mark.parametrize("text", ["", "many", "-1", "1.5", "\u0663", "9" * 30])
def test_which_life_a_pod_is_does_not_go_by_marks_that_anybody_may_change(text: str) -> None:
    manifest = task_pod()
    manifest["metadata"]["uid"] = "u"
    for name in (INCARNATION_ANNOTATION, GENERATION_ANNOTATION):
        manifest["metadata"]["annotations"][name] = text
    manifest["metadata"]["labels"][TASK_LABEL] = "one"
    found = pod_of(manifest, 0.0)
    assert isinstance(found, TaskPod)
    assert (found.task, found.incarnation, found.generation) == (1, 4, 0)


def test_a_pod_with_our_labels_and_another_name_is_no_life_of_a_task() -> None:
    manifest = task_pod()
    for name in ("copy", "orders-in-1-debug", "orders-in-1-"):
        manifest["metadata"] |= {"name": name, "uid": "u"}
        found = pod_of(manifest, 0.0)
        assert isinstance(found, TaskPod)
        assert (found.task, found.incarnation) == (-1, 0)


@pytest.mark.parametrize("field", ["image", "securityContext", "podSecurityContext", "secrets", "resources"])
def test_a_plan_whose_shape_is_not_that_of_its_hash_is_none(field: str) -> None:
    made = plan().revised(PodSettings.of(SETTINGS, ("db",)), None)
    kept = config_map_of(made, manifests().plan_metadata(made))
    assert plan_of(kept) is not None
    about = json.loads(kept["data"]["plan.json"])
    about["shape"][field] = {"image": "miner", "secrets": ["other"]}.get(field, {"privileged": True})
    kept["data"]["plan.json"] = json.dumps(about)
    assert plan_of(kept) is None
    del about["shape"]
    kept["data"]["plan.json"] = json.dumps(about)
    assert plan_of(kept) is None
