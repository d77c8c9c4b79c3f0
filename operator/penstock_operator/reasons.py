"""Condition types, and the reasons of conditions, tasks and Events, which users' scripts depend on. Pure.

Code names a reason only by its member. `docs/conditions.md` is generated from this table.
"""

from enum import Flag, StrEnum, auto
from typing import Final

__all__ = ["ConditionType", "EventType", "Reason", "Use", "event_type", "is_same_cause"]


class ConditionType(StrEnum):
    """Type of condition, with the meaning of each of its statuses."""

    means: str

    def __new__(cls, value: str, means: str) -> "ConditionType":
        """Create a member and its columns."""
        member = str.__new__(cls, value)
        member._value_, member.means = value, means
        return member

    READY = (
        "Ready",
        "`True`: everything is as `spec` requests, also if that is `Paused` or `Stopped`. `False`: it is not, or not yet. "
        "`Unknown`: the operator cannot determine it",
    )
    RECONCILING = (
        "Reconciling",
        "`True`: work is in progress, or is retried automatically. `False`: all is as `spec` requests, or "
        "`Stalled` is `True`. `Unknown`: as `Ready`",
    )
    STALLED = (
        "Stalled",
        "`True`: a user must change something, in the Connector or elsewhere; tasks that can run continue. Otherwise "
        "`False`. `Unknown`: as `Ready`",
    )
    CONFIG_VALID = (
        "ConfigValid",
        "`True`: the plugin accepts the configuration; the message contains its warnings. `False`: the message lists every "
        "problem. `Unknown`: the configuration has not been checked yet",
    )
    UPDATE_PENDING = (
        "UpdatePending",
        "`True`: a change has not reached all tasks of this connector, and the others keep running its last good plan: for "
        "example a change of the release or of a policy, or other plugin versions that some tasks try first. Otherwise "
        "absent",
    )
    LAGGING = (
        "Lagging",
        "`True`: the lag of a sink has grown for ten minutes; independent of `Ready`. Otherwise absent",
    )
    EXECUTORS_READY = (
        "ExecutorsReady",
        "`True`: the tasks have all executors that they need now (`spec.spark.executors`). `False`: fewer, or the connector "
        "cannot use executors; the tasks work without them, and `Ready` does not depend on it. Absent while none is needed",
    )

    AUTOSCALING = (
        "Autoscaling",
        "`True`: the number of tasks follows the lag (`spec.autoscaling`), also while it need not change. `False`: it "
        "does not change now, or the lag is unknown; independent of `Ready`. Absent without `spec.autoscaling`",
    )


class EventType(StrEnum):
    """Type of a Kubernetes Event."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Use(Flag):
    """Places where users meet a reason.

    `READY`, `IN_PROGRESS`, `STALLED` and `UNKNOWN` are the four ways in which `Ready` is set (`verdict.Kind`). Reasons of
    `POD_START` and `API_SERVER` appear wherever a pod is waited for: at `Ready`, `UpdatePending`, `ExecutorsReady` and
    tasks.
    """

    READY = auto()
    IN_PROGRESS = auto()
    STALLED = auto()
    UNKNOWN = auto()
    NOT_RECONCILING = auto()
    NOT_STALLED = auto()
    CONFIG_VALID = auto()
    UPDATE_PENDING = auto()
    LAGGING = auto()
    EXECUTORS = auto()
    AUTOSCALING = auto()
    TASK = auto()
    EVENT = auto()
    POD_START = auto()
    API_SERVER = auto()


_NORMAL: Final = EventType.NORMAL
_WAIT: Final = "wait"
_IMAGE: Final = (
    "check the image's name, and that its registry is available and accepts images.pullSecrets (for a plugin's image also "
    "spec.template.imagePullSecrets)"
)
_TEMPLATE: Final = "check what spec.template mounts and runs"


class Reason(StrEnum):
    """Reason of a condition, task or Event, with its uses, its meaning and its remedy.

    The names of `Use.POD_START`, and `DeadlineExceeded`, `Forbidden`, `Invalid` and `Conflict` are Kubernetes' own.

    Attributes:
        use: where users encounter it.
        means: its meaning.
        do: the remedy for the user; empty: see the message.
        event: the type of an Event with this reason.
    """

    use: Use
    means: str
    do: str
    event: EventType

    def __new__(cls, value: str, use: Use, means: str, do: str = "", event: EventType = EventType.WARNING) -> "Reason":
        """Create a member and its columns."""
        member = str.__new__(cls, value)
        member._value_, member.use, member.means, member.do, member.event = value, use, means, do, event
        return member

    # As spec requests, and the states of a connector
    RUNNING = "Running", Use.READY | Use.EVENT, "all tasks run", "", _NORMAL
    PAUSED = "Paused", Use.READY | Use.EVENT, "all tasks are paused, as `spec.state` requests", "", _NORMAL
    STOPPED = "Stopped", Use.READY | Use.TASK | Use.EVENT, "no task runs, as `spec.state` requests", "", _NORMAL
    PENDING = "Pending", Use.EVENT, "no task runs: the tasks are starting, or wait for something", _WAIT, _NORMAL
    DEGRADED = "Degraded", Use.EVENT, "some tasks have failed, or only some run"
    FAILED = (
        "Failed",
        Use.TASK | Use.EVENT,
        "the task failed with an error; of a connector: all tasks failed, or it cannot start",
    )
    NOT_RECONCILING = "NotReconciling", Use.NOT_RECONCILING, "all is as `spec` requests, or `Stalled` is `True`"
    NOT_STALLED = "NotStalled", Use.NOT_STALLED, "no user must change anything"

    # In progress
    PLANNING = (
        "Planning",
        Use.IN_PROGRESS | Use.UPDATE_PENDING,
        "a job pod has the plugin validate the configuration and split the work into tasks",
        _WAIT,
        _NORMAL,
    )
    PREPARING = (
        "Preparing",
        Use.IN_PROGRESS | Use.TASK,
        "a job pod sets up the internal topics and fences earlier tasks",
        _WAIT,
        _NORMAL,
    )
    STARTING = (
        "Starting",
        Use.IN_PROGRESS | Use.TASK | Use.EXECUTORS,
        "tasks start, or have not completed their first round yet; executors start, or are not connected to their task yet",
        _WAIT,
        _NORMAL,
    )
    RESTARTING = "Restarting", Use.IN_PROGRESS, "tasks are replaced", _WAIT, _NORMAL
    PAUSING = "Pausing", Use.IN_PROGRESS, "not all tasks are paused yet", _WAIT, _NORMAL
    RESUMING = "Resuming", Use.IN_PROGRESS, "not all tasks run again yet", _WAIT, _NORMAL
    STOPPING = "Stopping", Use.IN_PROGRESS | Use.EVENT, "tasks are being stopped", _WAIT, _NORMAL
    WAITING = (
        "Waiting",
        Use.IN_PROGRESS,
        "pods or records of an earlier Connector of this name are being removed, a pod that changes the offsets is still "
        "running, or the operator checks whether the Connect name is free",
        _WAIT,
        _NORMAL,
    )
    CHANGING = "Changing", Use.IN_PROGRESS | Use.TASK, "the task has not reported the requested state yet", _WAIT
    SPEC_CHANGED = (
        "SpecChanged",
        Use.TASK,
        "the task is replaced, because its configuration or pod template changed",
        _WAIT,
    )
    RESTART_REQUESTED = (
        "RestartRequested",
        Use.IN_PROGRESS | Use.TASK | Use.EVENT,
        "an annotation requested a restart",
        _WAIT,
        _NORMAL,
    )
    RECONFIGURATION_REQUESTED = (
        "ReconfigurationRequested",
        Use.EVENT,
        "the plugin requested a task reconfiguration, because its data source has changed, such as new tables",
        _WAIT,
        _NORMAL,
    )
    DELETING = "Deleting", Use.IN_PROGRESS, "the Connector is being deleted", _WAIT, _NORMAL
    RESETTING_OFFSETS = "ResettingOffsets", Use.IN_PROGRESS, "a job pod resets the offsets", _WAIT, _NORMAL
    NAMESPACE_TERMINATING = (
        "NamespaceTerminating",
        Use.IN_PROGRESS,
        "the namespace is being deleted; no object can be created in it",
        _WAIT,
    )

    # The configuration
    VALID = "Valid", Use.CONFIG_VALID, "the plugin accepts the configuration", "read the warnings, if there are any"
    NOT_CHECKED = (
        "NotChecked",
        Use.CONFIG_VALID,
        "the configuration has not been checked yet; the message has the cause if something prevents it",
        "wait, or fix the cause",
    )
    CONFIG_INVALID = (
        "ConfigInvalid",
        Use.STALLED | Use.CONFIG_VALID | Use.TASK,
        "the configuration is wrong; the message lists every problem",
        "correct the configuration",
    )
    SECRET_MISSING = (
        "SecretMissing",
        Use.IN_PROGRESS,
        "a Secret or key that `spec.config` names is not in this namespace",
        "create it; the connector then starts automatically",
    )
    WORKER_SECRET_MISSING = (
        "WorkerSecretMissing",
        Use.IN_PROGRESS,
        "a Secret or key that the worker configuration names is not in this namespace",
        "create it; the connector then starts automatically",
    )
    POLICY_MISSING = (
        "PolicyMissing",
        Use.IN_PROGRESS | Use.UPDATE_PENDING,
        "the TopicCreationPolicy that `spec.topicCreationPolicyRef` names is not in this namespace ([details](#policies))",
        "create it; the connector then follows automatically",
    )
    POLICY_INVALID = (
        "PolicyInvalid",
        Use.STALLED | Use.UPDATE_PENDING,
        "a TopicCreationPolicy cannot be applied; the message lists every problem. On a Connector: the policy that it names "
        "or that selects it ([details](#policies))",
        "correct the policy",
    )
    POLICY_CONFLICT = (
        "PolicyConflict",
        Use.STALLED | Use.UPDATE_PENDING,
        "several TopicCreationPolicies with rules select the connector ([details](#policies))",
        "narrow a `connectorSelector`, name one in `spec.topicCreationPolicyRef`, or change what the message names",
    )
    PLUGIN_VERSION_MISSING = (
        "PluginVersionMissing",
        Use.IN_PROGRESS,
        "no verified PluginVersion of this namespace has a class in the version that `spec.version` or a `*.plugin.version` "
        "requests; the message lists the versions that exist ([details](#plugin-versions))",
        "create it, or request another version; the connector then follows automatically",
    )
    PLUGIN_VERSION_INVALID = (
        "PluginVersionInvalid",
        Use.STALLED,
        "PluginVersion: it cannot be used; the message lists every problem",
        "delete it, and create a correct one",
    )
    ACCEPTED = (
        "Accepted",
        Use.READY,
        "TopicCreationPolicy: its rules and limits are valid",
        "",
        _NORMAL,
    )
    VERIFYING = (
        "Verifying",
        Use.IN_PROGRESS,
        "PluginVersion: a pod inspects its image, or it waits for its turn. Until then, only Connectors that request "
        "exactly its version use it",
        _WAIT,
        _NORMAL,
    )
    VERIFIED = (
        "Verified",
        Use.READY,
        "PluginVersion: its image contains what it declares, and the runtime imports all its classes, or has listed "
        "its Java classes",
        "",
        _NORMAL,
    )
    VERIFICATION_FAILED = (
        "VerificationFailed",
        Use.IN_PROGRESS | Use.STALLED,
        "PluginVersion, `Stalled`: its image contains something else, or one of its classes cannot be imported. "
        "`Reconciling`: the pod ended without an answer, and the verification is retried",
        "see the message; publish another image, and create another PluginVersion",
    )
    DEFINITIONS_UNPUBLISHED = (
        "DefinitionsUnpublished",
        Use.IN_PROGRESS,
        "PluginVersion: a pod has inspected its image, but the configuration definitions in its log could not be "
        "published. Two more pods try; then it is `Verified` without them, and the message says why",
        "see the message",
    )
    NAME_CONFLICT = (
        "NameConflict",
        Use.STALLED | Use.IN_PROGRESS,
        "an older Connector has this name in Kafka; this one does nothing there, and has no finalizer",
        "rename one of them. If the cluster of the older one was rebuilt, or its release uninstalled: "
        "[installing](installing.md#a-cluster-that-was-rebuilt)",
    )
    NAME_RESERVED = (
        "NameReserved",
        Use.STALLED | Use.IN_PROGRESS,
        "`spec.connectName`, or a sink's group, begins with another namespace and a dot; such names are reserved for that "
        "namespace",
        "choose another name, or have the platform team allow it (`allowedConnectNames`)",
    )

    # Tasks
    TASKS_FAILED = (
        "TasksFailed",
        Use.IN_PROGRESS | Use.STALLED,
        "tasks fail with errors; with `Stalled` their restarts are used up",
        "read the message and `status.tasks[].trace`; then annotate `restart-failed`",
    )
    TASKS_LOST = (
        "TasksLost",
        Use.IN_PROGRESS,
        "pods were deleted, evicted, killed or ran out of memory; their tasks are `Pending`, and are replaced without "
        "limit, with growing pauses",
        "see the message; raise memory, check the nodes",
    )
    HINDERED = (
        "Hindered",
        Use.IN_PROGRESS | Use.TASK | Use.EXECUTORS,
        "a running task has a temporary problem, for example Kafka is unreachable; or a task cannot use its executors",
    )
    UNAVAILABLE = (
        "Unavailable",
        Use.IN_PROGRESS | Use.UPDATE_PENDING | Use.TASK,
        "Kafka, or a service that the plugin needs, cannot be reached or refuses requests; the message has the cause",
        "fix the cause; it is retried without limit, at least once a minute",
    )
    SUPERSEDED = (
        "Superseded",
        Use.IN_PROGRESS | Use.TASK,
        "a later incarnation of the task, or a later preparation of the connector, is recorded in Kafka, so the process has "
        "exited",
        "if the message names another operator or `penstock run`: stop that one, then annotate `restart`",
    )
    HEALTH_CHECK_FAILED = ("HealthCheckFailed", Use.TASK, "the process made no progress for minutes, and was replaced")
    PROCESS_KILLED = "ProcessKilled", Use.TASK, "the process was killed by a signal"
    SPARK_LOST = "SparkLost", Use.TASK, "the task lost its Spark session"
    JVM_LOST = "JvmLost", Use.TASK, "the JVM of the task's Java plugins was killed, or froze"
    ENDED = "Ended", Use.TASK, "the process exited without an error, although the task should run"
    DELETED = "Deleted", Use.TASK, "the pod was deleted"
    INIT_CONTAINER_FAILED = (
        "InitContainerFailed",
        Use.TASK,
        "an init container failed: one of `spec.template`, or one that copies the image of a PluginVersion "
        "(`penstock-plugin-0` and so on)",
    )
    LOST = "Lost", Use.TASK, "the pod ended, and Kubernetes does not say why"
    DISRUPTED = "Disrupted", Use.TASK, "Kubernetes ended the pod to make room or to empty its node"
    EVICTED = (
        "Evicted",
        Use.TASK,
        "the kubelet evicted the pod: its node ran short of a resource, or the pod exceeded a limit",
    )
    EVICTION_BY_EVICTION_API = (
        "EvictionByEvictionAPI",
        Use.TASK,
        "the eviction API removed the pod from its node, for example because of `kubectl drain` or an autoscaler",
    )
    DELETION_BY_TAINT_MANAGER = "DeletionByTaintManager", Use.TASK, "the pod does not tolerate a taint of its node"
    DELETION_BY_POD_GC = "DeletionByPodGC", Use.TASK, "the pod's node no longer exists"
    PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler", Use.TASK, "a pod with a higher priority took its place"
    TERMINATION_BY_KUBELET = (
        "TerminationByKubelet",
        Use.TASK,
        "the kubelet ended the pod, for example because its node shuts down",
    )

    # Job pods
    JOB_FAILED = (
        "JobFailed",
        Use.IN_PROGRESS | Use.UPDATE_PENDING,
        "the job pod ended without an answer; it is retried",
    )
    DEADLINE_EXCEEDED = (
        "DeadlineExceeded",
        Use.IN_PROGRESS | Use.UPDATE_PENDING,
        "the job pod did not end within `job.deadlineSeconds`; it is retried",
    )
    NODE_LOST = (
        "NodeLost",
        Use.IN_PROGRESS | Use.UPDATE_PENDING | Use.TASK,
        "the pod's node is unavailable, and another pod replaces it",
    )
    PREPARE_FAILED = (
        "PrepareFailed",
        Use.STALLED,
        "the tasks cannot be prepared, because of Kafka's setup; the message names the problem",
        "fix it; it is retried after 2, 4 ... 60 s, then every 5 minutes, and immediately after a change of spec, Secret or "
        "worker configuration",
    )
    RESET_FAILED = "ResetFailed", Use.IN_PROGRESS, "Kafka or the plugin refuses to reset the offsets; it is retried"
    OFFSETS_KEPT = "OffsetsKept", Use.IN_PROGRESS | Use.EVENT, "the deleted Connector's offsets stay in Kafka"

    # The operator
    KAFKA_UNAVAILABLE = (
        "KafkaUnavailable",
        Use.UNKNOWN | Use.IN_PROGRESS,
        "the operator cannot read the status topic. `Unknown`: tasks may still be running. `False`: the connector never "
        "ran; it starts automatically once the operator sees that no other has its Connect name",
        "fix the operator's connection to Kafka",
    )
    ROLLOUT_QUEUED = (
        "RolloutQueued",
        Use.UPDATE_PENDING,
        "the connector waits for its turn in the rollout of the release",
        _WAIT,
        _NORMAL,
    )
    ROLLOUT_STOPPED = (
        "RolloutStopped",
        Use.UPDATE_PENDING,
        "connectors that were Ready before are no longer Ready since they were restarted for the change; the message names "
        "those of your namespace",
        "fix, pause or stop those, or have the change reverted",
    )
    CANARY_RUNNING = (
        "CanaryRunning",
        Use.UPDATE_PENDING,
        "the first tasks run other plugin versions, as `spec.rollout` requests; the others follow if the first tasks run "
        "for its `canaryDuration` without a failure",
        _WAIT,
        _NORMAL,
    )
    CANARY_FAILED = (
        "CanaryFailed",
        Use.UPDATE_PENDING,
        "one of the first tasks, which run other plugin versions, has failed; the others stay on the previous versions",
        "set the previous version again, or another one; the others follow once the first tasks run for "
        "`spec.rollout.canaryDuration` without a failure",
    )
    STATUS_TOPIC_NOT_COMPACTED = (
        "StatusTopicNotCompacted",
        Use.UPDATE_PENDING,
        "Kafka deletes records of the status topic, because its `cleanup.policy` is not `compact`; tasks keep running, and "
        "none is ended for a restart or a change, because it might not start again",
        "set the policy to `compact`, as the message says; the requested changes then follow automatically",
    )
    LAG_GROWS = (
        "LagGrows",
        Use.LAGGING,
        "records are added to the topics faster than the sink writes them",
        "raise `tasksMax` up to the number of partitions, or find what slows the sink; see its metrics",
    )
    CONNECTED = (
        "Connected",
        Use.EXECUTORS,
        "all executors that tasks need now run, and are connected to the Spark session of their task if it has one",
        "",
        _NORMAL,
    )
    UNUSED = (
        "Unused",
        Use.EXECUTORS,
        "the connector, as it is configured, cannot use executors; its tasks deliver everything themselves",
        "remove `spec.spark.executors`, or see the message",
    )
    ON_TARGET = (
        "OnTarget",
        Use.AUTOSCALING,
        "the lag is within `targetLagSeconds`. If fewer tasks would suffice for `scaleDownAfterSeconds`, one is removed",
        "",
        _NORMAL,
    )
    LAG_ABOVE_TARGET = (
        "LagAboveTarget",
        Use.AUTOSCALING,
        "a task is further behind than `targetLagSeconds`. If that lasts for `scaleUpAfterSeconds`, and the lag does not "
        "shrink quickly enough, tasks are added",
        _WAIT,
        _NORMAL,
    )
    AT_MAXIMUM = (
        "AtMaximum",
        Use.AUTOSCALING,
        "a task is further behind than `targetLagSeconds`, and there are `spec.autoscaling.max` tasks",
        "raise `max`, give the tasks more CPU, or find what slows the sink",
    )
    MORE_TASKS_DO_NOT_HELP = (
        "MoreTasksDoNotHelp",
        Use.AUTOSCALING,
        "a task is further behind than `targetLagSeconds`, and more tasks would not change that: there are no more "
        "partitions, the lag is in one of them, the plugin creates no more tasks, or the tasks wait for something else",
        "see the message",
    )
    MEASURING = (
        "Measuring",
        Use.AUTOSCALING,
        "not all tasks have reported their load, which takes up to two minutes after their start",
        _WAIT,
        _NORMAL,
    )
    HELD = (
        "Held",
        Use.AUTOSCALING,
        "the number of tasks does not change until the connector runs and is Ready, and no change is in progress",
        _WAIT,
        _NORMAL,
    )
    LAG_UNKNOWN = (
        "LagUnknown",
        Use.AUTOSCALING,
        "the connector is a source, whose lag is not known",
        "remove `spec.autoscaling`, and set `tasksMax`",
    )
    AUTOSCALED = (
        "Autoscaled",
        Use.AUTOSCALING | Use.EVENT,
        "`spec.autoscaling` has changed the number of tasks; the message contains both numbers and the cause",
        "",
        _NORMAL,
    )
    OTHER_OPERATOR = (
        "OtherOperator",
        Use.EVENT,
        "two releases watch this namespace, and the other one runs this Connector",
        "remove the namespace from `watchNamespaces` of one of them",
    )

    # The API server
    QUOTA_EXCEEDED = (
        "QuotaExceeded",
        Use.API_SERVER,
        "a ResourceQuota is used up",
        "make room in it, or raise it; it is retried immediately when a pod of the namespace is removed",
    )
    RESOURCES_REFUSED = (
        "ResourcesRefused",
        Use.API_SERVER,
        "a LimitRange refuses the pod's resources, or a ResourceQuota demands requests or limits that the pod does not have",
        "change spec.template.resources for a task, job.resources of the release for a job pod, or the LimitRange",
    )
    ADMISSION_DENIED = "AdmissionDenied", Use.API_SERVER, "an admission webhook or policy refuses it"
    POD_SECURITY_VIOLATION = (
        "PodSecurityViolation",
        Use.API_SERVER,
        "the namespace's Pod Security level refuses the pod",
    )
    FORBIDDEN = (
        "Forbidden",
        Use.API_SERVER,
        "the operator's account lacks a permission",
        "grant it: a Role of the chart is missing or was changed",
    )
    INVALID = (
        "Invalid",
        Use.API_SERVER,
        "the API server finds the object invalid, for a reason other than a field of `spec.template`",
    )
    BAD_REQUEST = (
        "BadRequest",
        Use.API_SERVER,
        "the API server cannot read the object, for a reason other than a field of `spec.template`",
    )
    REFUSED = "Refused", Use.API_SERVER, "the API server refuses it without a reason"
    CONFLICT = "Conflict", Use.API_SERVER, "another client changes the object repeatedly"
    POD_NAME_TAKEN = "PodNameTaken", Use.API_SERVER, "a pod of that name belongs to something else", "remove that pod"
    ADMISSION_UNAVAILABLE = (
        "AdmissionUnavailable",
        Use.API_SERVER,
        "the server of an admission webhook does not respond",
        "fix it, or set the webhook's failurePolicy to Ignore",
    )
    API_SERVER_UNAVAILABLE = "ApiServerUnavailable", Use.API_SERVER, "the API server does not respond", "fix it"
    API_SERVER_BUSY = "ApiServerBusy", Use.API_SERVER, "the API server is overloaded and refuses requests", _WAIT
    OPERATOR_FAULT = (
        "OperatorFault",
        Use.API_SERVER,
        "the operator failed because of an internal error",
        "report it, with the trace from the operator's log",
    )

    # Pods that do not start
    UNSCHEDULABLE = (
        "Unschedulable",
        Use.POD_START,
        "no node accepts the pod",
        "add nodes or free some, or lower the requirements of spec.template (resources.requests, nodeSelector)",
    )
    CLAIM_MISSING = (
        "ClaimMissing",
        Use.POD_START,
        "a PersistentVolumeClaim that the pod mounts is not in the namespace, or is not bound to a volume",
        "create the PersistentVolumeClaim, have it bound, or correct its name in spec.template.volumes",
    )
    POD_NOT_STARTING = (
        "PodNotStarting",
        Use.POD_START,
        "the pod's start has taken more than 10 s",
        "describe the pod",
    )
    ERR_IMAGE_PULL = "ErrImagePull", Use.POD_START, "the image cannot be pulled", _IMAGE
    IMAGE_PULL_BACK_OFF = "ImagePullBackOff", Use.POD_START, "the image cannot be pulled", _IMAGE
    INVALID_IMAGE_NAME = "InvalidImageName", Use.POD_START, "the image's name is wrong", "correct the image's name"
    ERR_IMAGE_NEVER_PULL = (
        "ErrImageNeverPull",
        Use.POD_START,
        "the node does not have the image, and may not pull it",
        "load the image onto the node, or set images.pullPolicy: IfNotPresent",
    )
    REGISTRY_UNAVAILABLE = "RegistryUnavailable", Use.POD_START, "the image's registry does not respond"
    IMAGE_INSPECT_ERROR = "ImageInspectError", Use.POD_START, "the node cannot read the image"
    SIGNATURE_VALIDATION_FAILED = "SignatureValidationFailed", Use.POD_START, "the image's signature is wrong"
    CREATE_CONTAINER_CONFIG_ERROR = (
        "CreateContainerConfigError",
        Use.POD_START,
        "a Secret or ConfigMap of the pod is missing",
        "create the Secret or ConfigMap that the pod names, or correct the name",
    )
    CREATE_CONTAINER_ERROR = "CreateContainerError", Use.POD_START, "the node cannot create the container", _TEMPLATE
    RUN_CONTAINER_ERROR = "RunContainerError", Use.POD_START, "the node cannot start the container", _TEMPLATE
    START_ERROR = "StartError", Use.POD_START, "the node cannot start the container's process", _TEMPLATE
    CRASH_LOOP_BACK_OFF = "CrashLoopBackOff", Use.POD_START, "a container exits repeatedly"

    # Only Events
    TASK_FAILED = (
        "TaskFailed",
        Use.EVENT,
        "a task failed with an error; the message says when it restarts",
    )
    TASK_LOST = "TaskLost", Use.EVENT, "a task lost its pod; the message says when it restarts"
    TASK_UNAVAILABLE = (
        "TaskUnavailable",
        Use.EVENT,
        "a task stopped, because Kafka or another service cannot be reached",
    )
    RESTART_REFUSED = "RestartRefused", Use.EVENT, "an annotation requested a restart that is not possible"
    OFFSETS_ACTION_SUCCEEDED = (
        "OffsetsActionSucceeded",
        Use.EVENT,
        "an offsets action that an annotation requested has succeeded",
        "",
        _NORMAL,
    )
    OFFSETS_ACTION_REFUSED = (
        "OffsetsActionRefused",
        Use.EVENT,
        "an offsets action that an annotation requested is refused: nothing was done in Kafka, and its token is used up",
    )
    OFFSETS_ACTION_FAILED = (
        "OffsetsActionFailed",
        Use.EVENT,
        "an offsets action that an annotation requested has failed, or its outcome is unknown; it is not retried",
        "check the offsets, then request it with a new token",
    )


_ROUTINE: Final = frozenset(r for r in Reason if r.event is EventType.NORMAL)
_ALTERNATING: Final = frozenset((Reason.ERR_IMAGE_PULL, Reason.IMAGE_PULL_BACK_OFF))
"""Reasons between which a pod alternates while its image cannot be pulled."""


def event_type(reason: str) -> EventType:
    """Return the type of an Event with this reason; reasons of Kubernetes that are not in this table are Warnings."""
    return EventType.NORMAL if reason in _ROUTINE else EventType.WARNING


def is_same_cause(reason: str, before: str | None) -> bool:
    """Return whether a reason has the same cause as the previous one, so that it needs no new Event."""
    return reason == before or {reason, before} <= _ALTERNATING
