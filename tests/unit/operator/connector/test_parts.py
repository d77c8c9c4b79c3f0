"""The smaller decisions: merging, secrets, names, what a pod's status says, what status remembers."""

import base64
from typing import Any

import pytest

from penstock_model.contracts.task_reports import TerminationMessage
from penstock_model.resources.connector_status import ConnectorStatus
from penstock_model.resources.task_restart import TaskEnd
from penstock_operator import names
from penstock_operator.connector.decide.end_classification import kind_and_reason
from penstock_operator.connector.model.kafka_connectivity import KafkaTrouble
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.connector.model.pod_status import Phase, TaskPod, pod_of
from penstock_operator.connector.model.secrets import Reference, examine, references
from penstock_operator.connector.policy.strategic_merge import merged

from .world.world import World


@pytest.mark.parametrize(
    ("base", "patch", "result"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}}, {"a": {"b": 1, "c": 3}}),
        ({"a": 1}, {"a": None}, {}),
        (
            {"env": [{"name": "A", "value": "1"}]},
            {"env": [{"name": "A", "value": "2"}, {"name": "B"}]},
            {"env": [{"name": "A", "value": "2"}, {"name": "B"}]},
        ),
        (
            {"volumes": [{"name": "a"}, {"name": "b"}]},
            {"volumes": [{"name": "a", "$patch": "delete"}]},
            {"volumes": [{"name": "b"}]},
        ),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}, {"tolerations": [{"key": "b"}]}),
        (
            {"ports": [{"containerPort": 1, "protocol": "TCP"}]},
            {"ports": [{"containerPort": 1, "name": "x"}]},
            {"ports": [{"containerPort": 1, "protocol": "TCP", "name": "x"}]},
        ),
        ({"command": ["a"]}, {"command": ["b", "c"]}, {"command": ["b", "c"]}),
    ],
)
def test_strategic_merge(base: Any, patch: Any, result: Any) -> None:
    assert merged(base, patch) == result


def secret(**data: str) -> dict[str, Any]:
    return {"data": {k: base64.b64encode(v.encode()).decode() for k, v in data.items()}}


def test_references_may_be_anywhere_in_a_value_and_in_the_worker_configuration() -> None:
    config = {"url": "jdbc:x?user=${secret:db:user}&password=${secret:db:pw}", "file": "${file:/a:b}"}
    found = references(config, {"sasl.password": "${secret:kafka:pw}"})
    assert found == (
        Reference("db", "pw", "url"),
        Reference("db", "user", "url"),
        Reference("kafka", "pw", "sasl.password", True),
    )


def test_a_hash_shows_that_a_value_has_changed_and_not_what_it_is() -> None:
    wanted = references({"p": "${secret:db:pw}"}, {})
    one = examine(wanted, {"db": secret(pw="hunter2", other="1")}, b"key")
    assert one.hash == examine(wanted, {"db": secret(pw="hunter2", other="2")}, b"key").hash
    assert one.hash != examine(wanted, {"db": secret(pw="hunter3")}, b"key").hash
    assert one.hash != examine(wanted, {"db": secret(pw="hunter2")}, b"another key").hash
    assert len(one.hash or "") == 16


def test_a_missing_secret_and_a_missing_key_are_distinguished_and_reported_with_their_property() -> None:
    wanted = references({"p": "${secret:db:pw}"}, {"sasl.password": "${secret:kafka:pw}"})
    found = examine(wanted, {"db": None, "kafka": secret(user="x")}, b"key")
    assert found.missing == (
        "Secret db is missing (p of spec.config refers to it)",
        "Secret kafka has no key pw (sasl.password of the worker configuration refers to it)",
    )
    assert found.worker_missing
    assert found.hash is None


def test_trouble_with_kafka_is_reported_once_it_has_lasted() -> None:
    trouble = KafkaTrouble()
    assert trouble.lasting("away", 100.0) == (None, 15.0)
    assert trouble.lasting("away", 104.0) == (None, 11.0)
    assert trouble.lasting("away", 114.0) == (None, 1.0)
    assert trouble.lasting("away", 115.0) == ("away", None)
    assert trouble.lasting(None, 116.0) == (None, None)
    assert trouble.lasting("away", 120.0) == (None, 15.0)


def pod(status: dict[str, Any], **metadata: Any) -> TaskPod:
    found = pod_of(
        {
            "metadata": {
                "name": "orders-in-0-2",
                "uid": "p",
                "creationTimestamp": "2026-11-21T10:00:00Z",
                "labels": {"penstock.dev/connector-uid": "u", "penstock.dev/role": "task", "penstock.dev/task": "0"},
                "annotations": {"penstock.dev/incarnation": "2", "penstock.dev/pod-hash": "abc"},
                **metadata,
            },
            "spec": {
                "nodeName": "node-1",
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "orders-data"}}],
            },
            "status": status,
        },
        now=1_795_255_230.0,  # 2026-11-21T10:00:30Z
    )
    assert isinstance(found, TaskPod)
    return found


def container(**state: Any) -> list[dict[str, Any]]:
    return [{"name": "istio-proxy", "state": {"running": {}}}, {"name": "task", "state": state}]


def test_a_running_pod() -> None:
    found = pod({"phase": "Running", "containerStatuses": container(running={"startedAt": "2026-11-21T10:00:03Z"})})
    assert (found.phase, found.incarnation, found.pod_hash, found.started) == (Phase.RUNNING, 2, "abc", 1_795_255_203.0)


def test_the_end_of_the_tasks_own_container_counts_though_a_sidecar_lives() -> None:
    word = TerminationMessage(exit_code=1, message="no such file").to_message()
    ended = {"exitCode": 1, "reason": "Error", "message": word, "finishedAt": "2026-11-21T10:00:20Z"}
    found = pod({"phase": "Running", "containerStatuses": container(terminated=ended)})
    assert found.phase is Phase.ENDED
    assert found.ended is not None
    assert (found.ended.lost, found.ended.describe()) == (False, "no such file")


def ended(code: int, reason: str, **more: str) -> dict[str, Any]:
    """The status of a pod whose task's container has ended so."""
    terminated = {"exitCode": code, "reason": reason, **more}
    return {"phase": "Failed", "containerStatuses": container(terminated=terminated)}


def failed(**status: Any) -> dict[str, Any]:
    return {"phase": "Failed", **status}


EVICTED = "The node was low on resource: memory."
SCRATCH_FULL = 'Usage of EmptyDir volume "scratch" exceeds the limit "10Mi". '
SHUT_DOWN = "Pod was terminated in response to imminent node shutdown."


def target(reason: str, message: str = "") -> dict[str, Any]:
    return {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}


FETCH = {"name": "fetch", "state": {"terminated": {"exitCode": 3}}}


@pytest.mark.parametrize(
    ("status", "lost", "told"),
    [
        (failed(reason="Evicted", message=EVICTED), True, f"Evicted: {EVICTED}"),
        (ended(137, "OOMKilled"), True, "OOMKilled: the task used more memory"),
        (ended(128, "StartError", message="exec: python3: not found"), True, "StartError: exec: python3: not found"),
        (
            failed(initContainerStatuses=[FETCH]),
            True,
            "InitContainerFailed: init container fetch exited with code 3",
        ),
        (ended(137, "Error"), True, "the process was killed by signal 9"),
        (ended(137, "ContainerStatusUnknown"), True, "ContainerStatusUnknown"),
        (failed(reason="NodeShutdown", message=SHUT_DOWN), True, "NodeShutdown: Pod was terminated"),
        (
            failed(conditions=[target("DeletionByTaintManager")]),
            True,
            "DeletionByTaintManager: pod orders-in-0-2 does not tolerate a taint of node node-1",
        ),
        (
            {**ended(0, "Completed"), "conditions": [target("EvictionByEvictionAPI", "Eviction API: evicting")]},
            True,
            "EvictionByEvictionAPI: the eviction API removed pod orders-in-0-2 from node node-1, as a drain",
        ),
        (
            {**ended(137, "Error"), "conditions": [target("PreemptionByScheduler")]},
            True,
            "PreemptionByScheduler: a pod with a higher priority took the place of pod orders-in-0-2 on node node-1",
        ),
        (
            {**ended(0, "Completed"), "reason": "Evicted", "message": SCRATCH_FULL},
            True,
            'Evicted: Usage of EmptyDir volume "scratch" exceeds the limit "10Mi"; raise task.temporarySize of the release',
        ),
        (
            {**ended(0, "Completed"), "conditions": [target("TerminationByKubelet", SHUT_DOWN)]},
            True,
            f"TerminationByKubelet: the kubelet of node node-1 stopped pod orders-in-0-2: {SHUT_DOWN}",
        ),
        ({**ended(1, "Error"), "conditions": [target("EvictionByEvictionAPI")]}, False, "exit code 1"),
        (ended(1, "Error"), False, "exit code 1"),
    ],
)
def test_how_a_pod_ended(status: dict[str, Any], lost: bool, told: str) -> None:
    found = pod(status)
    assert found.ended is not None
    assert found.ended.lost is lost
    assert found.ended.describe().startswith(told)


def test_the_cause_of_an_oomkilled_task_names_its_memory_limit() -> None:
    manifest = {
        "metadata": {"name": "a", "uid": "u", "labels": {names.ROLE_LABEL: "task"}},
        "status": ended(137, "OOMKilled"),
        "spec": {"containers": [{"name": "task", "resources": {"limits": {"memory": "1Gi"}}}]},
    }
    found = pod_of(manifest, 0.0)
    assert found is not None
    assert found.ended is not None
    assert "than its limit of 1Gi; raise spec.template.resources.limits.memory" in found.ended.describe()


def test_a_job_pod_that_ran_out_of_memory_names_the_setting_of_the_release() -> None:
    job = {"name": "job", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}
    manifest = {
        "metadata": {"name": "a", "uid": "u", "labels": {names.ROLE_LABEL: "job"}},
        "status": {"phase": "Failed", "containerStatuses": [job]},
        "spec": {"containers": [{"name": "job", "resources": {"limits": {"memory": "512Mi"}}}]},
    }
    found = pod_of(manifest, 0.0)
    assert found is not None
    assert found.ended is not None
    assert found.ended.describe() == (
        "OOMKilled: the job pod used more memory than its limit of 512Mi; raise job.resources.limits.memory of the release"
    )


@pytest.mark.parametrize(
    ("reason", "of_pod", "shown", "told"),
    [
        (None, "Error", "SparkLost", "gone"),
        ("JvmLost", "Error", "JvmLost", "gone"),
        ("OOMKilled", "Error", "OOMKilled", "gone"),
        ("OOMKilled", "OOMKilled", "OOMKilled", "OOMKilled: gone"),
        ("Forged", "Error", "SparkLost", "gone"),
    ],
)
def test_a_task_that_lost_a_child_process_is_named_as_what_it_lost(
    reason: str | None, of_pod: str, shown: str, told: str
) -> None:
    word = TerminationMessage(exit_code=4, message="gone", reason=reason).to_message()
    found = pod(ended(4, of_pod, message=word)).ended
    assert found is not None
    assert kind_and_reason(found) == (TaskEnd.LOST, shown)
    assert found.describe() == told


def waiting(reason: str, **more: str) -> dict[str, Any]:
    return {"phase": "Pending", "containerStatuses": container(waiting={"reason": reason, **more})}


NO_CLAIM = 'persistentvolumeclaim "orders-data" not found'
UNBOUND = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


@pytest.mark.parametrize(
    ("status", "hindrance"),
    [
        (waiting("ContainerCreating"), "PodNotStarting"),
        (waiting("ImagePullBackOff", message="m"), "ImagePullBackOff: m; check the image's name"),
        (
            waiting(
                "ErrImagePull", message="lookup r on 10.96.0.10:53: read udp 10.1.0.2:57454->10.96.0.10:53: timeout"
            ),
            "ErrImagePull: lookup r on 10.96.0.10:53: read udp 10.1.0.2->10.96.0.10:53: timeout; check the image's name",
        ),
        (
            waiting("CreateContainerConfigError"),
            "CreateContainerConfigError: container task cannot start; create the Secret or ConfigMap",
        ),
        (
            {"phase": "Pending", "conditions": [{**UNSCHEDULABLE, "message": "0/1 nodes are available"}]},
            "Unschedulable: 0/1 nodes are available; add nodes or free some",
        ),
        (
            {"phase": "Pending", "conditions": [{**UNSCHEDULABLE, "message": f"0/1 nodes: {NO_CLAIM}."}]},
            f"ClaimMissing: 0/1 nodes: {NO_CLAIM}. (volume data mounts claim orders-data); create the "
            "PersistentVolumeClaim, have it bound",
        ),
        (
            {"phase": "Pending", "conditions": [{**UNSCHEDULABLE, "message": UNBOUND}]},
            f"ClaimMissing: {UNBOUND} (volume data mounts claim orders-data); create the PersistentVolumeClaim",
        ),
    ],
)
def test_why_a_pod_does_not_start_and_what_to_do(status: dict[str, Any], hindrance: str) -> None:
    found = pod(status)
    assert found.phase is Phase.WAITING
    assert found.hindrance is not None
    assert ": ".join(found.hindrance).startswith(hindrance)


def test_when_a_pod_was_asked_to_end() -> None:
    found = pod({"phase": "Running"}, deletionTimestamp="2026-11-21T10:01:00Z", deletionGracePeriodSeconds=30)
    assert (found.leaving, found.leaves_by) == (1_795_255_230.0, 1_795_255_260.0)


def test_a_pod_of_others_is_none_of_ours() -> None:
    assert pod_of({"metadata": {"name": "x", "uid": "y", "labels": {}}, "status": {}}, 0.0) is None


def test_what_is_written_fits_the_resource_and_is_remembered() -> None:
    world = World(spec={"tasksMax": 2}, annotations={"penstock.dev/restart-failed": "t1"})
    world.settle()
    world.end("orders-in-0-1", 1, message="bad", trace="Traceback")
    world.reconcile()
    ConnectorStatus.model_validate(world.status)
    persisted = PersistedState.of(world.status)
    assert persisted.epoch is not None
    assert (persisted.task(0).has_ended, persisted.task(0).failures, persisted.task(0).trace) == (True, 1, "Traceback")
    assert persisted.task(1).state == "Running"
    assert persisted.task(0).versions == {"connector": "1.4.2"}
    assert [h.token for h in persisted.handled] == ["t1"]


@pytest.mark.parametrize("status", [None, {}, {"observedGeneration": -1}, {"tasks": []}])
def test_a_status_that_says_nothing_is_remembered_as_nothing(status: dict[str, Any] | None) -> None:
    assert PersistedState.of(status) == PersistedState()
