"""Decision about a Connector: frozen values that `apply` carries out in a fixed order. Pure."""

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
        name: of both.
        action: its action.
        key: echoed in its answer.
        prepare: PLAN: prepare as well.
        plan: whose image it has; PREPARE: whose first task it prepares for. None: the image that is requested now.
        plain: without anything of the Connector's template.
        offsets: OFFSETS: the work on them.
        kind: LIST_OFFSETS: `source` or `sink`; None: it is not known.
        policy_selects: PLAN: a TopicCreationPolicy applies that the Connector does not name.
        registered: PLAN: the Connector has had a valid plan before.
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
    """Task pod; `pod_hash` is the assumed hash of its contents (`task_observation.TaskObservation.pod_hash`)."""

    plan: Plan
    task: int
    incarnation: int
    epoch: PlanEpoch
    state: TaskState
    pod_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Actions for a Connector, decided from one observation of it.

    `apply` carries it out in the order of the fields. Being killed between any two writes is harmless, since the next
    run observes what was written, and decides on the rest:

    0. Kafka Connect's states of connector and tasks, which follow from all of this: a task's RESTARTING must be there
       before its next pod writes RUNNING.
    1. `save`: the status names a plan by its hash, so the plan must exist first.
    2. `persisted`, `verdict`, `config`, `state`, `plan`, `pending`: the status, and Events for its changes. It
       contains the incarnation of each pod that is created next, so that none is used twice, and why a pod is deleted
       next, so that its end is not taken for a failure.
    3. `finalizer`: after the status, whose last Event reports the fate of the offsets; before pods, since a Connector
       that was changed meanwhile must be observed again first.
    4. `publish`: before the status reports it, which the next run does, and before the pod that made the list is deleted.
       `delete`: before `create`, which may need the room in a quota.
    5. `used_tokens`: to Kafka, before the actions that they request can have an effect. `create`; pods that change
       offsets only after that record.
    6. `drop`: after the status, which names another plan by now.
    7. `claim`, `control_state`, `log_level`, `topics_reset`, `forget`: to Kafka, which may be slow or unavailable. Pods do
       not wait for it; those just created have the state that running tasks get, in their task spec.
    8. `executors`: last, since tasks work without them. Only the Secrets that pods of tasks wait for follow `create`.

    Attributes:
        save: plans to keep, each in a ConfigMap.
        persisted: for the status.
        verdict, config: for the conditions.
        state: the connector's, in a word.
        plan: that its tasks are made from.
        pending: why a change of the release has not reached the Connector.
        finalizer: whether Penstock's must be on the Connector; None: as it is.
        publish: a list of offsets to keep in a ConfigMap; None: none.
        delete: pods.
        create: pods.
        drop: plans to remove, by hash.
        claim: record in Kafka that the Connector owns its Connect name, as soon as something is written under it.
        control_state: the state for a control record to running tasks; None: none is written.
        forget: remove the status topic's records of this Connect name.
        topics_reset: remove its active topics, and then notify tasks with this mark; empty: they stay.
        log_level: for a control record to running tasks; empty: the level of the release; None: it is not written.
        used_tokens: to record in Kafka; empty: the record is as it should be.
        requeue_after: decide again after this many seconds; None: when something happens.
        queued: a job pod waits for a slot.
        executors: of its tasks.
        autoscaling: of its tasks.
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
