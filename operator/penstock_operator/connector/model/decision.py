"""Decision about a Connector: immutable data that `apply` carries out in a fixed order. Pure."""

from dataclasses import dataclass, field
from typing import Literal

from penstock_model.contracts.job import Action, OffsetsWork
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_reports import UsedToken
from penstock_model.contracts.task_spec import TaskState
from penstock_operator.connector.model.autoscaling import AutoscalingDecision
from penstock_operator.connector.model.executors import ExecutorsDecision
from penstock_operator.connector.model.offsets_list_map import OffsetsList
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.pod_status import Pod
from penstock_operator.connector.model.verdict import Config, Pending, Verdict
from penstock_operator.rollout.progress import Progress

__all__ = ["CreateJob", "CreateTask", "Decision"]


@dataclass(frozen=True, slots=True)
class CreateJob:
    """Job pod and its request.

    Attributes:
        name: name of both.
        action: action of the pod.
        key: key that its answer repeats.
        prepare: for PLAN: whether it also prepares.
        plan: plan with its image, and for PREPARE with the first task, for which it prepares. None: the requested image.
        plain: whether to ignore the Connector's template.
        offsets: for OFFSETS: the work.
        kind: for LIST_OFFSETS: `source` or `sink`; None: unknown.
        policy_selects: for PLAN: whether a TopicCreationPolicy that the Connector does not name applies.
        registered: for PLAN: whether the Connector has had a valid plan before.
    """

    name: str
    action: Action
    key: str
    prepare: bool = False
    plan: Plan | None = None
    plain: bool = False
    offsets: OffsetsWork | None = None
    kind: Literal["source", "sink"] | None = None
    policy_selects: bool = False
    registered: bool = False


@dataclass(frozen=True, slots=True)
class CreateTask:
    """Task pod to create; `pod_hash` is the hash that it must have (`task_observation.TaskObservation.pod_hash`)."""

    plan: Plan
    task: int
    incarnation: int
    epoch: PlanEpoch
    state: TaskState
    pod_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Actions for a Connector, decided from one observation of it.

    `apply` carries it out in this order. A crash between any two writes is harmless, since the next run observes what
    was written, and decides the rest:

    0. Kafka Connect's states of connector and tasks, which follow from the decision: RESTARTING of a task must be written
    before its next pod writes RUNNING.
    1. `save`: the status names a plan by its hash, so the plan must exist first.
    2. `persisted`, `verdict`, `config`, `state`, `plan`, `pending`: the status, and Events for its changes. It contains
    the incarnation of each pod that is created next, so that none is used twice, and why a pod is deleted next, so that
    its end does not count as a failure.
    3. `finalizer`: after the status, whose last Event reports what happened to the offsets; before pods, since a Connector
    that has changed must be observed again first.
    4. `publish`: before the next run reports it in the status, and before the pod that made the list is deleted.
    `delete`: before `create`, which may need the room in a quota.
    5. `used_tokens`: to Kafka, before the requested actions can take effect. `create`: pods that change offsets only after
    that record.
    6. `drop`: after the status, which then names another plan.
    7. `claim`, `control_state`, `log_level`, `topics_reset`, `forget`: to Kafka, which may be slow or unavailable. Pods do
    not wait for it; new pods have the state that running tasks receive in their task spec.
    8. `executors`: last, since tasks work without them. Only the Secrets that task pods wait for directly follow `create`.

    Attributes:
        save: plans to save, each in a ConfigMap.
        persisted: state for the status.
        verdict, config: contents of the conditions.
        state: state of the connector, in a word.
        plan: plan of its tasks; None: there is none.
        pending: why a change has not reached all tasks; None: it has.
        finalizer: whether to add or remove Penstock's finalizer; None: neither.
        publish: list of offsets to write to a ConfigMap; None: none.
        delete: pods to delete.
        create: pods to create.
        drop: plans to delete, by hash.
        claim: whether to claim the Connect name in Kafka, as soon as records are written under it.
        control_state: state for a control record to running tasks; None: none is written.
        forget: whether to remove all records of this Connect name from the status topic.
        topics_reset: mark of a reset: remove active topics, then notify tasks with it; empty: no reset.
        log_level: log level for a control record; empty: that of the release; None: it is not changed.
        used_tokens: tokens to record in Kafka; empty: the record need not change.
        requeue_after: decide again after this many seconds; None: when something happens.
        queued: whether a job pod waits for a slot.
        executors: decision about the executors of its tasks.
        autoscaling: decision about the number of its tasks.
        rollout: the Connector's progress in the rollout of the release; None: it should have no tasks.
    """

    save: tuple[Plan, ...]
    persisted: PersistedState
    verdict: Verdict
    config: Config
    state: str
    plan: Plan | None
    pending: Pending | None
    finalizer: bool | None
    publish: OffsetsList | None
    delete: tuple[Pod, ...]
    create: tuple[CreateJob | CreateTask, ...]
    drop: tuple[str, ...]
    claim: bool
    control_state: TaskState | None
    forget: bool
    topics_reset: str = ""
    log_level: str | None = None
    used_tokens: tuple[UsedToken, ...] = ()
    executors: ExecutorsDecision = field(default_factory=ExecutorsDecision)
    autoscaling: AutoscalingDecision = field(default_factory=AutoscalingDecision)
    requeue_after: float | None
    queued: bool
    rollout: Progress | None
