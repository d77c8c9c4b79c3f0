"""Render the manifests of a connector's pods and of the objects that they mount, with secure defaults. Pure."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from penstock_model.contracts import pod_layout as layout
from penstock_model.contracts.executor_pod import ExecutorPod
from penstock_model.contracts.job import Action, JobRequest
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.contracts.pod_identity import PlanEpoch, PodIdentity
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.task_spec import TaskState
from penstock_model.resources.connector import Connector
from penstock_model.resources.executors import Executors
from penstock_operator import names
from penstock_operator.connector.model.executors import CreateExecutor, executors_of
from penstock_operator.connector.model.plans import Plan, PodSettings
from penstock_operator.connector.model.pod_resources import job_resources
from penstock_operator.connector.model.pod_status import TaskPod
from penstock_operator.connector.policy.strategic_merge import merged
from penstock_operator.connector.policy.template_policy import with_init_containers
from penstock_operator.connector.render.job_volumes import sharable
from penstock_operator.connector.render.pod_hash import pod_hash
from penstock_operator.connector.render.pod_spec import SPARK_SECRET_KEY, pod_spec, with_executors
from penstock_operator.settings import Settings

__all__ = ["FIELDS_OF_TASKS", "PodManifests", "metadata"]

_CONTAINER_FIELDS: Final = frozenset(
    ("resources", "env", "envFrom", "volumeMounts", "volumeDevices", "lifecycle", "imagePullPolicy", "stdin", "tty")
)
"""Fields of `spec.template` that belong to the container; the others belong to the pod."""
FIELDS_OF_TASKS: Final = ("resources", "terminationGracePeriodSeconds")
"""Fields of `spec.template` that a job pod does not use."""
_BLOCKS: Final = "spark-blocks"
_PORTS: Final = {
    "spark-master": layout.SPARK_MASTER_PORT,
    "spark-driver": layout.SPARK_DRIVER_PORT,
    _BLOCKS: layout.SPARK_BLOCKS_PORT,
}
"""Ports of a task pod for its executors, by the names in the chart's NetworkPolicies."""
_EXECUTOR_GRACE: Final = 10
"""Grace period of an executor in seconds; its batch is lost in any case."""
_REPLACEABLE: Final = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
"""Annotation without which the cluster autoscaler would not remove a node with the pod: the pod's owner is of an unknown
kind, and it has a local volume.
"""


def metadata(
    connector: Connector,
    name: str,
    *,
    operator: str,
    role: str,
    task: int | None = None,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the metadata of an object of a Connector, which Kubernetes deletes together with the Connector."""
    own = connector.metadata
    result: dict[str, Any] = {
        "name": name,
        "namespace": own.namespace,
        "labels": names.labels(operator=operator, connector=own.name, uid=own.uid or "", role=role, task=task),
        "ownerReferences": [
            names.owner_reference(connector.api_version, connector.kind, own.name, own.uid),
        ],
    }
    if annotations:
        result["annotations"] = dict(annotations)
    return result


@dataclass(frozen=True, slots=True)
class PodManifests:
    """Renderer of the manifests of one Connector.

    Attributes:
        connector: the resource.
        settings: settings of the release.
        pod_settings: settings of newly requested pods; a pod of a plan has those of the plan.
        mounts: images of PluginVersions for newly requested pods. Job pods that call the plugin mount them, since their
            request contains the current Connector.
    """

    connector: Connector
    settings: Settings
    pod_settings: PodSettings
    mounts: tuple[PluginMount, ...] = ()

    @property
    def operator(self) -> str:
        """Return the label of the release."""
        return self.settings.release.label

    def pod_hash(self, plan: Plan, task: int) -> str:
        """Return the `pod_hash` of a task pod."""
        return pod_hash(plan, task, plan.pod_settings, self.connector.spec.template)

    def task(
        self,
        plan: Plan,
        task: int,
        incarnation: int,
        epoch: PlanEpoch,
        state: TaskState,
        status: StatusSnapshot | None = None,
    ) -> dict[str, Any]:
        """Return the pod of a task.

        Args:
            plan: plan of the task.
            task: number of the task.
            incarnation: number of this start of the task.
            epoch: epoch of the last preparation.
            state: initial state of the task.
            status: records that the operator has read from the status topic, so that the task need not read them again.
        """
        own = self.connector.metadata
        identity = PodIdentity(
            connector_uid=own.uid or "",
            connector_generation=own.generation,
            epoch=epoch,
            incarnation=incarnation,
            token=f"{own.uid}/{epoch.generation}/{task}/{incarnation}",
            state=state,
            status=status,
        )
        pod = self._task_pod(plan, task, names.pod_name(own.name, task, incarnation), identity)
        annotations = {
            names.INCARNATION_ANNOTATION: str(incarnation),
            names.POD_HASH_ANNOTATION: self.pod_hash(plan, task),
            names.GENERATION_ANNOTATION: str(own.generation),
            names.STATE_ANNOTATION: state.value,
            **({names.PLUGIN_VERSIONS_ANNOTATION: ",".join(plan.plugin_versions)} if plan.mounts else {}),
        }
        meta = pod["metadata"]
        return {**pod, "metadata": {**meta, "annotations": {**meta.get("annotations", {}), **annotations}}}

    def job(
        self, name: str, action: Action, key: str, plan: Plan | None = None, *, plain: bool = False
    ) -> dict[str, Any]:
        """Return a job pod.

        Args:
            name: name of the pod.
            action: action of the pod.
            key: key of its work, which its answer repeats.
            plan: plan with its image; None: the requested image.
            plain: whether to ignore `spec.template`.
        """
        settings = self.settings
        pod_settings = self.pod_settings_of(plan)
        secrets = tuple(
            sorted({*pod_settings.secrets, *self.pod_settings.secrets})
        )  # its request may contain references of the current spec
        pod_settings = replace(pod_settings, resources=job_resources(settings), secrets=secrets)
        mounts = self.mounts_of(action, plan)
        command = layout.JOB_MODULE, layout.REQUEST_FILE
        spec = pod_spec(settings, layout.JOB_CONTAINER, command, pod_settings, mounts, reports_missing=True)
        mount = {"name": "request", "configMap": {"name": names.request_name(name)}}
        spec["volumes"] = [mount, *spec["volumes"]]
        spec["containers"][0]["volumeMounts"].insert(0, {"name": "request", "mountPath": _folder(layout.REQUEST_FILE)})
        spec["activeDeadlineSeconds"] = settings.job.deadline_seconds
        spec["terminationGracePeriodSeconds"] = 5
        annotations = {names.ACTION_ANNOTATION: action.value, names.KEY_ANNOTATION: key}
        meta = metadata(self.connector, name, operator=self.operator, role="job", annotations=annotations)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        if plain:
            return pod
        whole = self._with_template(pod, layout.JOB_CONTAINER, besides=FIELDS_OF_TASKS)
        return {**whole, "spec": sharable(whole["spec"])}

    def executor(self, creation: CreateExecutor) -> dict[str, Any]:
        """Return the pod of an executor, which Kubernetes deletes together with the pod of its task.

        It has the image and plugins of the task's pod, and the same fields of `spec.template` as job pods. It mounts no
        Secret of the Connector, since the task sends it values with variables resolved.
        """
        plan, pod, settings = creation.plan, creation.pod, self.settings
        executors = executors_of(plan.tasks[pod.task]) or Executors(max=1)
        resources = executors.resources
        sizes = {"requests": resources.all_requests, "limits": resources.all_limits}
        pod_settings = replace(plan.pod_settings, resources=sizes, secrets=())
        command = (layout.EXECUTOR_MODULE,)
        spec = pod_spec(settings, layout.EXECUTOR_CONTAINER, command, pod_settings, plan.mounts, reports_missing=True)
        spec = with_executors(spec, pod.spark_secret, {_BLOCKS: layout.SPARK_BLOCKS_PORT})
        host = f"[{pod.address}]" if ":" in pod.address else pod.address
        work = ExecutorPod(master=f"spark://{host}:{layout.SPARK_MASTER_PORT}", cores=resources.cores)
        container = spec["containers"][0]
        container["env"] = [{"name": layout.EXECUTOR_VARIABLE, "value": work.to_json()}, *container["env"]]
        spec["terminationGracePeriodSeconds"] = _EXECUTOR_GRACE
        annotations = {names.QUICK_ENDS_ANNOTATION: str(creation.quick_ends)} if creation.quick_ends else {}
        if creation.last_end is not None:
            annotations[names.LAST_END_ANNOTATION] = ": ".join(creation.last_end)
        meta = self._metadata_of_pod(pod, creation.name, names.EXECUTOR)
        meta["annotations"] = annotations
        whole = self._with_template(
            {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec},
            layout.EXECUTOR_CONTAINER,
            besides=FIELDS_OF_TASKS,
        )
        return {**whole, "spec": sharable(whole["spec"])}

    def spark_secret(self, pod: TaskPod, secret: str) -> dict[str, Any]:
        """Return the Secret that a task's pod shares with its executors, which Kubernetes deletes together with the pod."""
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": self._metadata_of_pod(pod, pod.spark_secret, names.EXECUTOR),
            "immutable": True,
            "data": {SPARK_SECRET_KEY: base64.b64encode(secret.encode()).decode()},
        }

    def _metadata_of_pod(self, pod: TaskPod, name: str, role: str) -> dict[str, Any]:
        """Return the metadata of an object that belongs to a task's pod."""
        meta = metadata(self.connector, name, operator=self.operator, role=role, task=pod.task)
        return {**meta, "ownerReferences": [names.owner_reference("v1", "Pod", pod.name, pod.uid)]}

    def pod_settings_of(self, plan: Plan | None) -> PodSettings:
        """Return the pod settings of a plan; None: those of newly requested pods."""
        return self.pod_settings if plan is None else plan.pod_settings

    def mounts_of(self, action: Action, plan: Plan | None) -> tuple[PluginMount, ...]:
        """Return the images that a job pod mounts; listing offsets needs none, since it does not call the plugin."""
        if action is Action.LIST_OFFSETS:
            return ()
        return plan.mounts if action is Action.PREPARE and plan is not None else self.mounts

    def request(self, name: str, request: JobRequest) -> dict[str, Any]:
        """Return the ConfigMap with the request of a job pod."""
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(self.connector, names.request_name(name), operator=self.operator, role="job"),
            "immutable": True,
            "data": {layout.REQUEST_FILE.rpartition("/")[2]: request.to_json()},
        }

    def plan_metadata(self, plan: Plan) -> dict[str, Any]:
        """Return the metadata of the ConfigMap that stores a plan."""
        name = names.plan_name(self.connector.metadata.name, plan.hash)
        return metadata(self.connector, name, operator=self.operator, role="plan")

    def list_metadata(self) -> dict[str, Any]:
        """Return the metadata of the ConfigMap with the list of offsets."""
        return metadata(
            self.connector, names.list_name(self.connector.metadata.name), operator=self.operator, role="offsets"
        )

    def document(self) -> dict[str, Any]:
        """Return the Connector for a job pod, always as Running, since a stopped connector would have no tasks to plan."""
        document = self.connector.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"status"})
        document["spec"]["state"] = "Running"
        document["metadata"] = {k: document["metadata"][k] for k in ("name", "namespace", "uid", "generation")}
        return dict(document)

    def _task_pod(self, plan: Plan, task: int, name: str, identity: PodIdentity) -> dict[str, Any]:
        settings = self.settings
        own = self.connector.metadata
        reports_missing = not settings.secrets.watch
        command = layout.TASK_MODULE, layout.TASK_FILE
        pod_settings = self.pod_settings_of(plan)
        spec = pod_spec(
            settings, layout.TASK_CONTAINER, command, pod_settings, plan.mounts, reports_missing=reports_missing
        )
        volume = {
            "name": "plan",
            "configMap": {
                "name": names.plan_name(own.name, plan.hash),
                "items": [{"key": f"task-{task}.json", "path": layout.TASK_FILE.rpartition("/")[2]}],
            },
        }
        spec["volumes"] = [volume, *spec["volumes"]]
        container = spec["containers"][0]
        container["volumeMounts"].insert(0, {"name": "plan", "mountPath": _folder(layout.TASK_FILE)})
        container["ports"] = [{"name": "metrics", "containerPort": layout.METRICS_PORT, "protocol": "TCP"}]
        container |= _probes(ends=settings.task.liveness_probe)
        container["env"] = [{"name": layout.POD_IDENTITY_VARIABLE, "value": identity.to_json()}, *container["env"]]
        spec["terminationGracePeriodSeconds"] = settings.task.termination_grace_period_seconds
        if executors_of(plan.tasks[task]) is not None:
            spec = with_executors(spec, names.spark_secret_name(name, own.uid or ""), _PORTS)
        meta = metadata(self.connector, name, operator=self.operator, role="task", task=task)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        return self._with_template(pod, layout.TASK_CONTAINER)

    def _with_template(self, pod: dict[str, Any], container: str, besides: tuple[str, ...] = ()) -> dict[str, Any]:
        template = {k: v for k, v in self.connector.spec.template.items() if k not in besides}
        labels, annotations = template.pop("labels", None) or {}, template.pop("annotations", None) or {}
        inner = {k: template.pop(k) for k in [*template] if k in _CONTAINER_FIELDS}
        spec = with_init_containers(merged(pod["spec"], template), self.settings.pod_security.level)
        if inner:
            spec = merged(spec, {"containers": [{"name": container, **inner}]})
        meta = dict(pod["metadata"])
        meta["labels"] = {**labels, **meta["labels"]}  # users cannot replace Penstock's labels, which select the pods
        meta["annotations"] = {**_REPLACEABLE, **annotations, **meta.get("annotations", {})}
        return {**pod, "metadata": meta, "spec": spec}


_READINESS: Final = {"timeoutSeconds": 5, "periodSeconds": 5, "failureThreshold": 3}
"""Settings of the readiness probe: a frozen task becomes unready within 20 seconds."""


def _probes(*, ends: bool) -> dict[str, Any]:
    """Return the probes of a task, with long limits: a loaded node or a long garbage collection is not a failure.

    The kubelet kills a task that has not answered, or has reported no progress of its loop, for three minutes. A task is
    ready while it runs or is paused, nothing hinders it, and Kafka answers its requests.

    Args:
        ends: whether the kubelet may kill a task (`task.livenessProbe`); if not, it only checks whether the task is ready.
    """
    health = {"httpGet": {"path": layout.HEALTH_PATH, "port": "metrics"}, "timeoutSeconds": 10}
    readiness = {"httpGet": {"path": layout.READY_PATH, "port": "metrics"}, **_READINESS}
    if not ends:
        return {"readinessProbe": readiness}
    return {
        "startupProbe": {**health, "periodSeconds": 5, "failureThreshold": 120},
        "livenessProbe": {**health, "periodSeconds": 20, "failureThreshold": 9},
        "readinessProbe": readiness,
    }


def _folder(file: str) -> str:
    return file.rpartition("/")[0]
