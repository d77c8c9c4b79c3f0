"""Status of a Connector: reports of the operator, and state that it keeps across its restarts. Pure."""

from typing import Annotated, Final, Literal

from pydantic import Field

from penstock_model.resources.base import Condition, Count, StatusPart, Time
from penstock_model.resources.constraints import Mark, list_of

__all__ = [
    "ActiveTopic",
    "AutoscalingState",
    "AutoscalingStatus",
    "CanaryStatus",
    "Conditions",
    "ConnectorStatus",
    "EpochStatus",
    "ExecutorsStatus",
    "JobStatus",
    "OffsetsAction",
    "OffsetsActionState",
    "OperatorState",
    "PlanStatus",
    "PluginVersions",
    "ResolvedConnector",
    "RestartAction",
    "RolloutStatus",
    "TaskState",
    "TaskStatus",
]

Conditions = Annotated[list[Condition], Mark(**list_of("map", "type"))]
"""Conditions, with one entry per type."""

_GENERATION: Final = (
    "The metadata.generation that this status describes; while it is lower than that of the resource, a "
    "change is being processed."
)


class ResolvedConnector(StatusPart):
    """The plugin that spec.class and spec.version resolve to."""

    class_name: str = Field(alias="class", description="The name of the class that runs.")
    type: str | None = Field(None, description="source or sink.")
    version: str | None = Field(None, description="The chosen version.")
    plugin_version: str | None = Field(
        None, description="The PluginVersion of the plugin. Absent for plugins of the runtime image."
    )


class PluginVersions(StatusPart):
    """The versions of the plugins that a task runs, as it reports them."""

    connector: str | None = Field(None, description="The version of the connector.")
    key_converter: str | None = Field(None, description="The version of the key converter.")
    value_converter: str | None = Field(None, description="The version of the value converter.")
    header_converter: str | None = Field(None, description="The version of the header converter.")
    transforms: dict[str, str] | None = Field(None, description="The versions of the transforms, by alias.")
    predicates: dict[str, str] | None = Field(None, description="The versions of the predicates, by alias.")


class ExecutorsStatus(StatusPart):
    """The executors of a task (spec.spark.executors)."""

    wanted: Count = Field(ge=0, description="The number of executors that the task should have now.")
    ready: Count = Field(
        ge=0,
        description="The number of executors that run, and are connected to the task if its Spark session has started.",
    )
    reason: str | None = Field(
        None, description="Why fewer executors are ready, or why the task uses none, as one word."
    )
    message: str | None = Field(None, description="The cause in a sentence.")


class TaskStatus(StatusPart):
    """One task."""

    id: int = Field(ge=0, description="The number of the task, starting at 0.")
    state: str = Field(
        description="Running, Paused, Stopping or Stopped. Pending: it has not confirmed yet that it runs, or it waits "
        "until retryAt because its pod was lost or a service is unavailable. Restarting: its pod is being replaced, for a "
        "change, a request, a failure or a deletion. Failed: it has failed; retryAt is the time of the next start, if it is "
        "restarted automatically."
    )
    reason: str | None = Field(
        None, description="The cause, as one word such as ImagePullBackOff, if it does not run as expected."
    )
    message: str | None = Field(None, description="The cause in a sentence.")
    since: Time | None = Field(None, description="When this state began.")
    pod: str | None = Field(None, description="The name of its pod.")
    pod_uid: str | None = Field(None, alias="podUID", description="The UID of its pod.")
    incarnation: int | None = Field(
        None, ge=0, description="The number of starts. It increases before the pod of the next start is created."
    )
    restarts: Count | None = Field(None, ge=0, description="The number of restarts after a failure or a lost pod.")
    failures: Count | None = Field(
        None, ge=0, description="The number of consecutive failures, limited by spec.restart."
    )
    losses: Count | None = Field(
        None, ge=0, description="The number of consecutive lost pods (lost node, eviction, out of memory)."
    )
    unavailable: Count | None = Field(
        None,
        ge=0,
        description="The number of consecutive exits because Kafka or another service was unreachable.",
    )
    retry_at: Time | None = Field(None, description="The earliest time of the next start. Absent if none is planned.")
    started_at: Time | None = Field(None, description="When the container of its pod started.")
    last_record_time: Time | None = Field(
        None,
        description="When it last delivered a record, as of its last report: while it delivers, it reports once a minute. "
        "Absent if it never has.",
    )
    last_loop_time: Time | None = Field(
        None,
        description="When its loop last completed. Present only while the task is hindered; otherwise its loop completes "
        "continuously.",
    )
    versions: PluginVersions | None = Field(None, description="The versions of the plugins that it runs.")
    executors: ExecutorsStatus | None = Field(
        None, description="Its executors. Absent while it wants none. It works without them, too."
    )
    trace: str | None = Field(None, description="The trace of its last failure, shortened and without secrets.")


class AutoscalingStatus(StatusPart):
    """The number of tasks that spec.autoscaling has chosen."""

    tasks: Count = Field(ge=1, description="The number of tasks that is requested instead of spec.tasksMax.")
    last_scale_time: Time | None = Field(None, description="When the number last changed. Absent if it never has.")
    message: str | None = Field(None, description="Why it last changed.")


class ActiveTopic(StatusPart):
    """A topic that the connector has used since it was created or its topics were reset."""

    name: str = Field(description="The name of the topic.")
    task: int | None = Field(None, ge=0, description="The task that used it first.")
    since: Time | None = Field(None, description="When the task first used it.")


class OffsetsAction(StatusPart):
    """An action on offsets or topics that an annotation requested."""

    token: str = Field(
        description="The value of the annotation; for alter, the word before the JSON. The same token never acts twice."
    )
    action: str = Field(description="The requested action: list, alter, reset or reset-topics.")
    result: Literal["Pending", "Succeeded", "Refused", "Failed"] = Field(
        description="Pending, Succeeded, Refused (nothing was done) or Failed."
    )
    message: str | None = Field(None, description="The result in a sentence.")
    at: Time | None = Field(None, description="The time of the result.")


class RestartAction(StatusPart):
    """A restart that an annotation requested."""

    token: str = Field(description="The value of the annotation. The same value never acts twice.")
    action: str = Field(description="The requested action: restart, restart-failed or restart-tasks.")
    tasks: Annotated[list[int], Mark(**list_of("atomic"))] | None = Field(
        None, description="The tasks that were restarted."
    )
    result: Literal["Succeeded", "Refused"] | None = Field(
        None, description="Succeeded, or Refused (nothing was done)."
    )
    message: str | None = Field(None, description="The result in a sentence.")
    at: Time | None = Field(None, description="The time of the result.")


class EpochStatus(StatusPart):
    """Epoch of a plan. Kafka rejects writes of tasks with a lower epoch."""

    generation: int = Field(description="The generation of the plan, which increases with every plan.")
    plan: str = Field(description="A unique id of the plan.")


class PlanStatus(StatusPart):
    """The plan of the tasks, made from the last accepted configuration."""

    hash: str | None = Field(
        None,
        description="The hash of configuration, plugin versions, tasksMax, and image and resources of pods. The plan is the "
        "ConfigMap <connector>-plan-<its first 10 characters>.",
    )
    epoch: EpochStatus | None = Field(None, description="The epoch of the plan.")
    fence: str | None = Field(None, description="The plan and the Connect name of the last preparation in Kafka.")
    own: str | None = Field(
        None,
        description="The hash of the part of the plan that depends only on the connector. A change of that part does not "
        "wait for other connectors.",
    )
    asked: str | None = Field(
        None,
        description="When the plugin last requested new tasks, and a digest of the state of its external system. The same "
        "digest acts again only after a refusal.",
    )
    refused: str | None = Field(
        None,
        description="The hash of a configuration that was refused; it is not checked again until something changes.",
    )
    problems: Annotated[list[str], Mark(**list_of("atomic"))] | None = Field(
        None, description="The problems of the refused configuration, each with its property."
    )


class JobStatus(StatusPart):
    """A job pod (plan, prepare, reset offsets) that ended without an answer."""

    key: str = Field(description="The name of the job pod.")
    attempts: int | None = Field(None, ge=0, description="The number of attempts.")
    retry_at: Time | None = Field(None, description="The time of the next attempt.")
    reason: str | None = Field(None, description="Why there was no answer, as one word.")
    message: str | None = Field(None, description="Why there was no answer, in a sentence.")


class RolloutStatus(StatusPart):
    """The last restart for a change of the release, until it is known whether the connector becomes Ready again."""

    release: str | None = Field(None, description="The release, as a hash of its inputs to every plan.")
    since: Time | None = Field(None, description="When the restart began.")
    was_ready: bool | None = Field(
        None,
        description="Whether the connector was Ready before. If it does not become Ready again, the rollout of the release "
        "may stop.",
    )


class CanaryStatus(StatusPart):
    """The tasks that run new plugin versions first, until it is known whether the others change, too."""

    plan: str | None = Field(None, description="The hash of their plan.")
    tasks: int | None = Field(None, ge=0, description="The number of these tasks.")
    failure: str | None = Field(None, description="The last failure of one of them.")


class TaskState(StatusPart):
    """State of one task that only the operator uses."""

    id: int = Field(ge=0, description="The number of the task.")
    over: bool | None = Field(None, description="Whether its pod has ended; retryAt is the start of the next one.")
    pod_hash: str | None = Field(None, description="The hash of the contents of its pod.")


class OffsetsActionState(StatusPart):
    """State of an action on offsets or topics that only the operator uses."""

    began: Time | None = Field(None, description="The earliest time at which its pod may have been created.")
    generation: int | None = Field(
        None, ge=0, description="The greatest plan generation that its pod may find in Kafka."
    )
    pod_uid: str | None = Field(None, alias="podUID", description="The UID of its pod.")
    content: str | None = Field(None, description="For alter, the hash of the JSON in the annotation's value.")


class AutoscalingState(StatusPart):
    """State of autoscaling that only the operator uses."""

    tasks_max: int | None = Field(None, ge=1, description="The spec.tasksMax when autoscaling began.")
    high_since: Time | None = Field(None, description="When the lag of a task began to exceed targetLagSeconds.")
    high_lag: int | None = Field(None, ge=0, description="The lag of all tasks at highSince, in records.")
    low_since: Time | None = Field(None, description="When one task fewer became sufficient.")
    lowered: bool | None = Field(None, description="Whether the last change was to fewer tasks.")
    undone: int | None = Field(
        None,
        ge=0,
        description="How many consecutive changes to fewer tasks soon had to be undone; each doubles the wait.",
    )


class OperatorState(StatusPart):
    """State that the operator keeps across its restarts."""

    plan: PlanStatus | None = Field(None, description="The plan from which the tasks are created.")
    job: JobStatus | None = Field(None, description="The last job pod that failed.")
    rollout: RolloutStatus | None = Field(None, description="The last restart for a change of the release.")
    canary: CanaryStatus | None = Field(
        None, description="The tasks that run new plugin versions first, as spec.rollout requests."
    )
    autoscaling: AutoscalingState | None = Field(None, description="The state of spec.autoscaling.")
    tasks: Annotated[list[TaskState], Mark(**list_of("map", "id"))] | None = Field(
        None, description="The tasks, by number."
    )
    offsets_actions: Annotated[list[OffsetsActionState], Mark(**list_of("atomic"))] | None = Field(
        None, description="The entries of status.offsetsActions, in their order."
    )


class ConnectorStatus(StatusPart):
    """Status of a Connector."""

    observed_generation: int = Field(default_factory=lambda: -1, description=_GENERATION)
    state: str | None = Field(
        None,
        description="Pending: no task runs, because the tasks are starting or wait for something. Running, Paused, Stopped: "
        "as spec.state requests. Stopping: tasks are stopping. Degraded: some tasks have failed, or only some run, such as "
        "while the others start. Failed: all tasks have failed, or the connector cannot start.",
    )
    conditions: Conditions | None = Field(
        None,
        description="Ready: the connector is as spec requests. Reconciling: a change is in progress. Stalled: a user must "
        "change something. ConfigValid: the configuration is valid. These four are present once observedGeneration is 0 or "
        "more. UpdatePending: a change has not reached all its tasks. Lagging: the lag of a sink grows. These two are "
        "present only while they are True. ExecutorsReady: the tasks have the executors that they want; absent while they "
        "want none. Autoscaling: the number of tasks follows the lag; absent without spec.autoscaling. Conditions that "
        "other controllers add are kept.",
    )
    connector: ResolvedConnector | None = Field(
        None, description="The plugin that spec.class and spec.version resolve to."
    )
    plugin_versions: Annotated[list[str], Mark(**list_of("atomic"))] | None = Field(
        None,
        description="The PluginVersions of the connector, converters, transforms and predicates. While tasks change to "
        "other versions, both are listed. Plugins without a PluginVersion are from the runtime image.",
    )
    newer_plugin_versions: Annotated[list[str], Mark(**list_of("atomic"))] | None = Field(
        None,
        description="Newer PluginVersions in the requested ranges; annotation penstock.dev/restart switches to them.",
    )
    tasks: Annotated[list[TaskStatus], Mark(**list_of("map", "id"))] | None = Field(
        None, description="The tasks, by number."
    )
    last_record_time: Time | None = Field(
        None,
        description="When a task last delivered a record, as of the last reports: tasks that deliver report once a minute. "
        "Absent if none ever has.",
    )
    task_summary: str | None = Field(
        None,
        description="The number of running or paused tasks, and of all tasks that are not stopping or stopped, such as 2/2.",
    )
    replicas: Count | None = Field(None, ge=0, description="The number of task pods, for kubectl scale and HPA.")
    label_selector: str | None = Field(
        None, description="The label selector of the task pods, as a string, for autoscalers."
    )
    autoscaling: AutoscalingStatus | None = Field(
        None, description="The number of tasks that spec.autoscaling has chosen."
    )
    active_topics: Annotated[list[ActiveTopic], Mark(**list_of("map", "name"))] | None = Field(
        None,
        description="The topics that the connector has used (KIP-558), by name, as many as fit. activeTopicCount is the "
        "total number.",
    )
    active_topic_count: Count | None = Field(
        None, ge=0, description="The number of topics that the connector has used."
    )
    offsets_actions: Annotated[list[OffsetsAction], Mark(**list_of("atomic"))] | None = Field(
        None, description="The last 10 actions on offsets and topics, newest last."
    )
    restart_actions: Annotated[list[RestartAction], Mark(**list_of("atomic"))] | None = Field(
        None, description="The last 10 restarts that annotations requested, newest last."
    )
    operator_state: OperatorState | None = Field(
        None,
        description="State that the operator keeps across its restarts. Do not edit it, and do not rely on its form: it may "
        "change in any release.",
    )
