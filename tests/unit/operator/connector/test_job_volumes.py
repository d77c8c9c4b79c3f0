"""A job pod mounts nothing that the connector's own tasks may keep from it."""

from typing import Any

import pytest

from penstock_operator.connector.policy.template_policy import refusals
from penstock_operator.connector.render.job_volumes import sharable

from .test_pods import SETTINGS, connector, job_pod, task_pod

MOUNT = {"name": "data", "mountPath": "/data"}


def volume(pod: dict[str, Any], name: str = "data") -> dict[str, Any]:
    found = [{k: v for k, v in item.items() if k != "name"} for item in pod["spec"]["volumes"] if item["name"] == name]
    assert len(found) == 1
    return found[0]


def template(source: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "data", **source}], "volumeMounts": [MOUNT], **more}


@pytest.mark.parametrize(
    "source",
    [
        {"configMap": {"name": "a"}},
        {"secret": {"secretName": "a"}},
        {"projected": {"sources": []}},
        {"downwardAPI": {"items": []}},
        {"emptyDir": {"medium": "PersistedState"}},
        {"image": {"reference": "drivers:1"}},
        {"csi": {"driver": "secrets-store.csi.k8s.io", "readOnly": True}},
    ],
    ids=lambda s: next(iter(s)),
)
def test_job_pod_keeps_volumes_that_each_pod_has_separately(source: dict[str, Any]) -> None:
    pod = job_pod(template=template(source))
    assert volume(pod) == source
    assert MOUNT in pod["spec"]["containers"][0]["volumeMounts"]


def test_files_of_a_secret_are_in_tasks_and_in_job_pods_alike_with_their_mode_and_nothing_refuses_them() -> None:
    source = {"secret": {"secretName": "orders-tls", "defaultMode": 0o440}}
    mount = {"name": "data", "mountPath": "/etc/orders-tls", "readOnly": True}
    given = {"volumes": [{"name": "data", **source}], "volumeMounts": [mount]}
    assert refusals(connector(template=given), SETTINGS) == ()
    for pod in (task_pod(template=given), job_pod(template=given)):
        assert volume(pod) == source
        assert mount in pod["spec"]["containers"][0]["volumeMounts"]
        assert pod["spec"]["securityContext"]["fsGroup"] == 65532  # whom mode 0440 lets read


@pytest.mark.parametrize(
    "source",
    [
        {"persistentVolumeClaim": {"claimName": "orders"}},
        {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        {"hostPath": {"path": "/data"}},
        {"csi": {"driver": "local.csi.example.com"}},
        {"nfs": {"server": "a", "path": "/"}},
    ],
    ids=lambda s: next(iter(s)),
)
def test_a_job_pod_has_an_empty_folder_where_a_task_has_a_volume_of_its_own(source: dict[str, Any]) -> None:
    pod = job_pod(template=template(source))
    assert volume(pod) == {"emptyDir": {}}
    assert MOUNT in pod["spec"]["containers"][0]["volumeMounts"]
    assert volume(task_pod(template=template(source))) == source


def test_scratch_space_of_a_claim_is_an_empty_folder_for_a_job_pod() -> None:
    claim: dict[str, Any] = {"name": "scratch", "emptyDir": None, "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    assert volume(job_pod(template={"volumes": [claim]}), "scratch") == {"emptyDir": {}}


def test_init_containers_of_a_job_pod_see_the_empty_folder_too_and_no_block_device() -> None:
    mount = {"name": "data", "mountPath": "/data", "subPath": "a", "mountPropagation": "HostToContainer"}
    init = {
        "name": "fetch",
        "image": "x",
        "volumeMounts": [mount],
        "volumeDevices": [{"name": "data", "devicePath": "/d"}],
    }
    pod = job_pod(template=template({"persistentVolumeClaim": {"claimName": "orders"}}, initContainers=[init]))
    made = pod["spec"]["initContainers"][0]
    assert made["volumeMounts"] == [{"name": "data", "mountPath": "/data", "subPath": "a"}]
    assert "volumeDevices" not in made


def test_a_job_pod_leaves_a_node_that_is_unavailable_as_a_task_does() -> None:
    assert job_pod()["spec"]["tolerations"] == task_pod()["spec"]["tolerations"]


def test_a_job_pod_does_not_take_a_tasks_time_to_stop() -> None:
    assert job_pod(template={"terminationGracePeriodSeconds": 600})["spec"]["terminationGracePeriodSeconds"] == 5


@pytest.mark.parametrize("value", [None, "x", 1, True, [None], ["x"], [[]], [{"name": {}}], [{"name": []}]])
@pytest.mark.parametrize("field", ["volumeMounts", "volumeDevices"])
def test_what_is_no_list_of_mounts_is_left_for_the_api_server_to_report(field: str, value: Any) -> None:
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "a"}}
    container = {"name": "first", field: value}
    made = sharable({"volumes": [claim], "initContainers": [container]})
    assert made["initContainers"] == [container]
    assert made["volumes"] == [{"name": "data", "emptyDir": {}}]
