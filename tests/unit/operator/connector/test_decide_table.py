"""What `decide` makes of an observation: one row for each of its branches.

Each row: the state of the Connector; what is decided (its state, the reason of its condition, pods to create, pods to
delete, and what else the row is about); and what happened before that.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest

from penstock.errors import Problem
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, JobAnswer, JobProblem, Outcome, PlanAnswer
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_reports import Control, Report
from penstock_model.contracts.task_spec import PluginReference, TaskSpec, TaskState
from penstock_model.resources.connector import Connector
from penstock_operator.connector.decide.config_check import valid
from penstock_operator.connector.decide.decide import decide
from penstock_operator.connector.decide.job_step import JobObservation
from penstock_operator.connector.model.decision import CreateJob, CreateTask
from penstock_operator.connector.model.observation import Observation, ReleaseTerms
from penstock_operator.connector.model.persisted_state import PersistedState, PersistedTask
from penstock_operator.connector.model.plans import Plan, PodSettings, digests_of, plan_hash
from penstock_operator.connector.model.pod_end import Ended
from penstock_operator.connector.model.pod_status import JobPod, Phase, Pod, TaskPod
from penstock_operator.connector.model.refused_pods import Refusal, of_plan
from penstock_operator.connector.model.requested_plan import RequestedPlan
from penstock_operator.connector.model.secrets import Secrets
from penstock_operator.connector.model.verdict import Pending
from penstock_operator.name_ownership import NameRefusal
from penstock_operator.names import digest, plan_name
from penstock_operator.rollout.progress import Permission

NOW: Final = 1_000_000.0
POD_SETTINGS: Final = PodSettings("runtime:1")
POD_SETTINGS_WITH_SECRET: Final = replace(POD_SETTINGS, secrets=("db",))
EPOCH: Final = PlanEpoch(generation=1, plan="p")
OWN: Final = "spec-1:ignored"
OWNER: Final = "0123456789abcdef"
"""The Connector's mark in the records of its preparations."""


# The state of a Connector.


def connector(annotations: dict[str, str] | None = None, **spec: Any) -> Connector:
    metadata = {"name": "in", "namespace": "shop", "uid": "uid", "generation": 1, "annotations": annotations or {}}
    spec = {"class": "FileStreamSource", "config": {"file": "/a"}, "tasksMax": 2, **spec}
    return Connector.draft(
        {"apiVersion": "penstock.dev/v1alpha1", "kind": "Connector", "metadata": metadata, "spec": spec}
    )


def plan_of(hash_: str = "due", *, tasks: int = 2, **changes: Any) -> Plan:
    plugins = {"connector": PluginReference(reference="x:Y", alias="FileStreamSource", version="1")}
    specs = tuple(
        TaskSpec(connector="shop.in", task=n, tasks=tasks, kind="source", config={}, plugins=plugins, worker={})
        for n in range(tasks)
    )
    plan = Plan(
        hash=hash_,
        kind="source",
        class_name="FileStreamSource",
        version="1",
        tasks=specs,
        pod_settings=POD_SETTINGS,
        digests=digests_of(specs),
        inputs_hash="asked",
    )
    return replace(plan, **changes)


PLAN: Final = plan_of()
FENCE: Final = PLAN.fence("shop.in")


def task_pod(number: int, **changes: Any) -> TaskPod:
    pod = TaskPod(
        name=f"in-{number}-1",
        uid=f"pod-{number}",
        owner="uid",
        role="task",
        phase=Phase.RUNNING,
        created=NOW - 60,
        started=NOW - 59,
        task=number,
        incarnation=1,
        pod_hash="now",
        generation=1,
        image="runtime:1",
        node="node-1",
    )
    return replace(pod, **changes)


def job_pod(action: Action, key: str, **changes: Any) -> JobPod:
    name = JobObservation.of(observation(), action, key).name
    pod = JobPod(
        name=name,
        uid=name,
        owner="uid",
        role="job",
        phase=Phase.RUNNING,
        created=NOW - 5,
        started=NOW - 4,
        accepted=NOW - 4,
        action=action,
        key=key,
        node="node-1",
    )
    return replace(pod, **changes)


def ended(code: int) -> Ended:
    return Ended(code, "Error", "", None, NOW)


def running_task(number: int, **changes: Any) -> PersistedTask:
    task = PersistedTask(
        number,
        "Running",
        NOW - 50,
        incarnation=1,
        pod=f"in-{number}-1",
        pod_uid=f"pod-{number}",
        pod_hash="now",
        started=NOW - 59,
    )
    return replace(task, **changes)


def report(number: int, state: str = "RUNNING", acted: int = 1) -> Report:
    return Report(
        connector="shop.in",
        connector_uid="uid",
        pod_uid=f"pod-{number}",
        task=number,
        epoch=EPOCH,
        incarnation=1,
        state=state,
        acted=acted,
        since=int(NOW * 1000) - 50_000,
        progress="steady",
    )


def observation(**changes: Any) -> Observation:
    usual = Observation(
        connector=connector(),
        persisted=PersistedState(),
        now=NOW,
        requested=RequestedPlan(hash="due", inputs_hash="asked", pod_settings=POD_SETTINGS, own_hash=OWN),
        release=ReleaseTerms(hash="release-1"),
    )
    return changed(usual, **changes)


def changed(state: Observation, **changes: Any) -> Observation:
    """The observation with other fields; `pods__tasks` is the field `tasks` of `pods`."""
    for path, value in changes.items():
        group, _, name = path.partition("__")
        state = replace(state, **{group: replace(getattr(state, group), **{name: value}) if name else value})
    return state


PREPARED: Final = PersistedState(plan="due", epoch=EPOCH, fence=FENCE, own_hash=OWN, observed=1)
RUNS: Final = replace(PREPARED, tasks={0: running_task(0), 1: running_task(1)}, state="Running")

NEW: Final = observation()
PLANNED: Final = observation(plans=(PLAN,))
STARTING: Final = observation(plans=(PLAN,), persisted=PREPARED)
RUNNING: Final = observation(
    plans=(PLAN,), persisted=RUNS, pods__tasks=(task_pod(0), task_pod(1)), records__reports={0: report(0), 1: report(1)}
)
PAUSED: Final = changed(
    RUNNING,
    connector=connector(state="Paused"),
    persisted=replace(RUNS, tasks={n: running_task(n, state="Paused") for n in range(2)}),
    pods__tasks=(task_pod(0, state="Paused"), task_pod(1, state="Paused")),
    records__reports={0: report(0, "PAUSED"), 1: report(1, "PAUSED")},
)
SUPERSEDED: Final = changed(
    RUNNING,
    persisted=replace(
        RUNS,
        tasks={
            0: running_task(0, state="Pending", reason="Superseded", has_ended=True, losses=1, retry_at=NOW),
            1: running_task(1),
        },
    ),
    pods__tasks=(task_pod(0, phase=Phase.ENDED, ended=ended(ExitCode.SUPERSEDED)), task_pod(1)),
)
STOPPED: Final = observation(
    connector=connector(state="Stopped"),
    plans=(PLAN,),
    persisted=replace(
        PREPARED, tasks={0: PersistedTask(0, "Stopped", incarnation=1, reason="Stopped")}, state="Stopped"
    ),
)
FAILED: Final = changed(
    RUNNING,
    persisted=replace(
        RUNS,
        tasks={
            0: running_task(0),
            1: running_task(
                1,
                state="Failed",
                reason="Failed",
                message="no such file",
                has_ended=True,
                failures=1,
                retry_at=NOW + 20,
            ),
        },
    ),
    pods__tasks=(task_pod(0), task_pod(1, phase=Phase.ENDED, ended=ended(ExitCode.FAILED))),
)
DELETED: Final = changed(
    observation(connector=connector(deletion={"offsets": "Reset"}), plans=(PLAN,), persisted=PREPARED),
    deleting=NOW - 10,
    has_finalizer=True,
)

PLAN_POD: Final = job_pod(Action.PLAN, "due")
PLAN_POD_ENDED: Final = replace(PLAN_POD, phase=Phase.ENDED, ended=Ended(0, "Completed", "", None, NOW))
PREPARE_KEY: Final = digest("due", FENCE, 0, None)
PREPARE_POD_ENDED: Final = job_pod(
    Action.PREPARE, PREPARE_KEY, phase=Phase.ENDED, ended=Ended(0, "Completed", "", None, NOW)
)
RESET_KEY: Final = digest("uid", "reset")
RESET_POD_ENDED: Final = job_pod(
    Action.RESET_OFFSETS, RESET_KEY, phase=Phase.ENDED, ended=Ended(0, "Completed", "", None, NOW)
)


# What happens then.


def answer(pod: JobPod, outcome: Outcome = Outcome.DONE, **more: Any) -> dict[str, Any]:
    """A job pod has ended, with this answer."""
    told = JobAnswer(id=pod.key, action=Action(pod.action), outcome=outcome, **more)
    return {"pods__jobs": (pod,), "pods__answers": {pod.name: told}}


PLAN_ANSWER: Final = PlanAnswer(kind="source", class_name="FileStreamSource", version="1", tasks=PLAN.tasks)
WRONG: Final = (JobProblem(property="spec.config.file", message="is missing"),)
REFUSED_TEMPLATE: Final = connector().with_reading(
    replace(connector().reading, problems=(Problem("spec.template.hostNetwork", "is not allowed"),))
)
RELEASE_CHANGED: Final = {
    "requested__hash": "due-2",
    "requested__inputs_hash": "asked-2",
    "plans": (PLAN, plan_of("due-2", inputs_hash="asked-2", tasks=3)),
}
OWN_CHANGED: Final = {**RELEASE_CHANGED, "requested__own_hash": "spec-2:ignored"}
NOT_PLANNED: Final = {"requested__hash": "due-2", "requested__inputs_hash": "asked-2"}


@dataclass(frozen=True)
class Is:
    """The decision in the words of the table; `also` are other fields of it, by name."""

    state: str
    reason: str
    creates: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    also: dict[str, Any] = field(default_factory=dict)


def to(state: str, reason: str, creates: tuple[str, ...] = (), deletes: tuple[str, ...] = (), **also: Any) -> Is:
    """What is decided; `also` are other fields of the decision."""
    return Is(state, reason, creates, deletes, also)


def row(state: Observation, expected: Is, **event: Any) -> tuple[Observation, Is]:
    """A row: the event changes these fields of the observation."""
    return changed(state, **event), expected


def name_of(pod: Pod | CreateJob | CreateTask) -> str:
    match pod:
        case TaskPod() | CreateTask():
            return f"task {pod.task}, incarnation {pod.incarnation}"
        case CreateJob(prepare=True):
            return f"{pod.action} and Prepare"
        case CreateJob() | JobPod():
            return str(pod.action)
        case _:
            raise AssertionError(pod)


FIRST: Final = ("task 0, incarnation 1", "task 1, incarnation 1")

ROWS: Final = {
    # Deletion.
    "deleted: its tasks end first": row(
        DELETED, to("Stopping", "Deleting", deletes=FIRST[:1], finalizer=None), pods__tasks=(task_pod(0),)
    ),
    "deleted without tasks: a job pod resets its offsets": row(
        DELETED, to("Stopping", "ResettingOffsets", ("ResetOffsets",))
    ),
    "deleted and reset: the finalizer goes": row(
        DELETED, to("Stopping", "Deleting", deletes=("ResetOffsets",), finalizer=False), **answer(RESET_POD_ENDED)
    ),
    "deleted, and no reset within an hour: the finalizer goes": row(
        DELETED, to("Stopping", "OffsetsKept", finalizer=False), deleting=NOW - 3_700.0
    ),
    "deleted, and its offsets are to stay: the finalizer goes": row(
        DELETED, to("Stopping", "OffsetsKept", finalizer=False), connector=connector()
    ),
    "deleted without the finalizer: nothing but its pods": row(
        DELETED, to("Stopping", "Deleting", claim=False), has_finalizer=False
    ),
    # The finalizer of a Connector that lives.
    "reset on deletion: the finalizer comes": row(
        RUNNING, to("Running", "Running", finalizer=True), connector=connector(deletion={"offsets": "Reset"})
    ),
    "no reset on deletion any more: the finalizer goes": row(
        RUNNING, to("Running", "Running", finalizer=False), has_finalizer=True
    ),
    # What comes before all others.
    "name taken: its tasks end": row(
        RUNNING,
        to("Failed", "NameConflict", deletes=FIRST, claim=False, requeue_after=10.0),
        name__refusal=NameRefusal("NameConflict", "another has it"),
    ),
    "namespace deleted: nothing is created": row(RUNNING, to("Stopping", "NamespaceTerminating"), namespace_ends=True),
    "pods of an earlier Connector of the name: it waits": row(
        PLANNED, to("Pending", "Waiting", requeue_after=2.0), pods__foreign=("in-0-7",)
    ),
    "records of an earlier Connector of the name: they are removed": row(
        NEW, to("Pending", "Waiting", forget=True), records__has_stale=True
    ),
    "records of an earlier Connector, and Kafka is away: it is planned meanwhile": row(
        NEW,
        to("Pending", "Planning", ("Plan and Prepare",), forget=False),
        records__has_stale=True,
        records__trouble="away",
    ),
    # Stopped and paused.
    "stopped: its tasks end": row(
        RUNNING, to("Stopping", "Stopping", deletes=FIRST), connector=connector(state="Stopped")
    ),
    "stopped, and all tasks have ended": row(STOPPED, to("Stopped", "Stopped")),
    "stopped while it is planned: the job pod ends": row(
        STOPPED, to("Stopping", "Stopping", deletes=("Plan",)), pods__jobs=(job_pod(Action.PLAN, "due"),)
    ),
    "started after a stop: the incarnations go on": row(
        STOPPED, to("Pending", "Restarting", ("task 0, incarnation 2", "task 1, incarnation 1")), connector=connector()
    ),
    "paused: running tasks get a control record": row(
        RUNNING, to("Running", "Pausing", control_state=TaskState.PAUSED), connector=connector(state="Paused")
    ),
    "paused, and the tasks report it": row(
        RUNNING,
        to("Paused", "Paused", control_state=None),
        connector=connector(state="Paused"),
        records__control=Control(connector_uid="uid", generation=2, state=TaskState.PAUSED),
        records__reports={n: report(n, "PAUSED", acted=2) for n in range(2)},
    ),
    "paused from the start": row(PAUSED, to("Paused", "Paused", control_state=None)),
    "resumed: paused tasks get a control record": row(
        PAUSED, to("Paused", "Resuming", control_state=TaskState.RUNNING), connector=connector()
    ),
    # Restart requests.
    "restart: written to the status first, and planned anew with the next decision": row(
        RUNNING, to("Running", "Running", requeue_after=0.0), connector=connector({"penstock.dev/restart": "t"})
    ),
    "restart of a task: its pod ends": row(
        RUNNING,
        to("Degraded", "Restarting", deletes=FIRST[1:], requeue_after=0.0),
        connector=connector({"penstock.dev/restart-tasks": "t 1"}),
    ),
    "restart of failed tasks: at once, without waiting for the back-off": row(
        FAILED,
        to("Degraded", "Restarting", ("task 1, incarnation 2",), requeue_after=0.0),
        connector=connector({"penstock.dev/restart-failed": "t"}),
    ),
    "restart while stopped: refused": row(
        STOPPED, to("Stopped", "Stopped"), connector=connector({"penstock.dev/restart": "t"}, state="Stopped")
    ),
    # Planning.
    "new: a job pod plans and prepares": row(NEW, to("Pending", "Planning", ("Plan and Prepare",))),
    "new, and no job slot: queued": row(NEW, to("Pending", "Planning", queued=True), release__has_job_slot=False),
    "new, and its name may be another's: planned, but not prepared": row(
        NEW, to("Pending", "Planning", ("Plan",)), name__unknown_cause="Kafka is away"
    ),
    "the job pod plans": row(NEW, to("Pending", "Planning"), pods__jobs=(PLAN_POD,)),
    "the plugin refuses the configuration": row(
        NEW, to("Failed", "ConfigInvalid", deletes=("Plan",)), **answer(PLAN_POD_ENDED, Outcome.INVALID, problems=WRONG)
    ),
    "refused before: it is not planned again": row(
        NEW,
        to("Failed", "ConfigInvalid"),
        persisted=PersistedState(refused="due", refusal=("spec.config.file is missing",)),
    ),
    "a field that is not supported: no job pod is asked": row(
        NEW, to("Failed", "ConfigInvalid"), connector=connector(offsets={"listTo": {"name": "a"}})
    ),
    "planned and prepared: the plan is kept, the tasks start": row(
        NEW, to("Pending", "Starting", FIRST, ("Plan",)), **answer(PLAN_POD_ENDED, plan=PLAN_ANSWER, epoch=EPOCH)
    ),
    "planning finds Kafka away: it is tried again after a pause": row(
        NEW,
        to("Pending", "Unavailable", deletes=("Plan",), requeue_after=2.0),
        **answer(PLAN_POD_ENDED, Outcome.UNAVAILABLE, message="Kafka is away"),
    ),
    "a Secret is missing: planned all the same": row(
        NEW,
        to("Pending", "SecretMissing", ("Plan and Prepare",)),
        requested__secrets=Secrets(("db",), ("Secret db is missing",)),
    ),
    "its plan could not be kept: tried again after a pause": row(
        NEW,
        to("Pending", "QuotaExceeded", requeue_after=4.0),
        pods__refusals={of_plan(plan_name("in", "due")): Refusal("QuotaExceeded", "full", 1, NOW + 4)},
    ),
    "the release changed: planned while the tasks go on": row(
        RUNNING, to("Running", "Running", ("Plan",), save=(), config=valid(RUNNING, PLAN)), **NOT_PLANNED
    ),
    "other settings of pods: the plugin is not asked": row(
        RUNNING,
        to("Running", "Running", save=(plan_hash("asked", POD_SETTINGS_WITH_SECRET),)),
        requested__hash=plan_hash("asked", POD_SETTINGS_WITH_SECRET),
        requested__pod_settings=POD_SETTINGS_WITH_SECRET,
    ),
    # Preparation.
    "planned but not prepared: a job pod prepares": row(PLANNED, to("Pending", "Preparing", ("Prepare",))),
    "planned, and its name may be another's: not prepared": row(
        PLANNED, to("Pending", "Waiting", requeue_after=10.0), name__unknown_cause="Kafka is away"
    ),
    "prepared: the tasks start next": row(
        PLANNED,
        to("Pending", "Starting", deletes=("Prepare",), requeue_after=0.0),
        **answer(PREPARE_POD_ENDED, epoch=EPOCH),
    ),
    "the preparation is refused": row(
        PLANNED,
        to("Failed", "PrepareFailed", deletes=("Prepare",), requeue_after=2.0),
        **answer(PREPARE_POD_ENDED, Outcome.INVALID, problems=WRONG),
    ),
    # Adoption of another plan.
    "another number of tasks by its own change: all tasks end": row(
        RUNNING, to("Pending", "Restarting", deletes=FIRST, pending=None), **OWN_CHANGED
    ),
    "a release that ends pods, and no permission: the last plan goes on": row(
        RUNNING,
        to("Running", "Running", pending=Pending("RolloutQueued", "others first")),
        **RELEASE_CHANGED,
        release__permission=Permission(False, "RolloutQueued", "others first"),
    ),
    "a release that ends pods, and permission: all tasks end": row(
        RUNNING, to("Pending", "Restarting", deletes=FIRST), **RELEASE_CHANGED
    ),
    "a release, and the last one's image is gone: at once": row(
        RUNNING,
        to("Pending", "Restarting", deletes=FIRST),
        **RELEASE_CHANGED,
        release__permission=Permission(False, "RolloutQueued", "others first"),
        pods__tasks=tuple(
            task_pod(n, phase=Phase.WAITING, started=None, hindrance=("ImagePullBackOff", "gone")) for n in (0, 1)
        ),
    ),
    # Tasks.
    "prepared: a pod for each task": row(STARTING, to("Pending", "Starting", FIRST)),
    "all as asked: nothing is done": row(
        RUNNING, to("Running", "Running", create=(), delete=(), drop=(), requeue_after=None)
    ),
    "a pod is outdated: it ends": row(
        RUNNING,
        to("Degraded", "Restarting", deletes=FIRST[1:]),
        persisted=replace(RUNS, tasks={0: running_task(0), 1: running_task(1, pod_hash="before")}),
        pods__tasks=(task_pod(0), task_pod(1, pod_hash="before")),
    ),
    "a pod is lost: the next incarnation starts": row(
        RUNNING, to("Degraded", "Starting", ("task 1, incarnation 2",)), pods__tasks=(task_pod(0),)
    ),
    "a task fails: it waits": row(
        RUNNING,
        to("Degraded", "TasksFailed"),
        pods__tasks=(task_pod(0), task_pod(1, phase=Phase.ENDED, ended=ended(ExitCode.FAILED))),
    ),
    "a failed task: until its back-off ends": row(FAILED, to("Degraded", "TasksFailed", requeue_after=20.0)),
    "a failed task: started again after its back-off": row(
        FAILED, to("Degraded", "Restarting", ("task 1, incarnation 2",)), now=NOW + 20
    ),
    "a pod of a task beyond the plan: it ends": row(
        STARTING,
        to("Running", "Running", deletes=("task 2, incarnation 1",)),
        persisted=RUNS,
        pods__tasks=(task_pod(0), task_pod(1), task_pod(2)),
        records__reports=RUNNING.records.reports,
    ),
    "older plans: all but one are dropped": row(
        RUNNING, to("Running", "Running", drop=("a",)), plans=(plan_of("a"), plan_of("b"), PLAN)
    ),
    "Kafka is away: the tasks go on, and nothing is known of them": row(
        RUNNING, to("Running", "KafkaUnavailable"), records__reports={}, records__trouble="away"
    ),
    "a task is superseded by another connector's: it waits": row(
        RUNNING,
        to("Degraded", "TasksLost"),
        records__last_epoch=PlanEpoch(generation=9, plan="another"),
        name__owner_mark=OWNER,
        pods__tasks=(task_pod(0, phase=Phase.ENDED, ended=ended(ExitCode.SUPERSEDED)), task_pod(1)),
    ),
    "a task was superseded by another connector's: started again after its back-off": row(
        SUPERSEDED,
        to("Degraded", "Starting", ("task 0, incarnation 2",)),
        records__last_epoch=PlanEpoch(generation=9, plan="another"),
        name__owner_mark=OWNER,
    ),
    "a task was superseded by a late preparation of its own: all tasks end, to be prepared anew": row(
        SUPERSEDED,
        to("Pending", "Restarting", deletes=FIRST[1:]),
        records__last_epoch=PlanEpoch.of_owner(9, OWNER),
        name__owner_mark=OWNER,
    ),
    # A template that is refused.
    "template refused: running pods go on": row(RUNNING, to("Running", "ConfigInvalid"), connector=REFUSED_TEMPLATE),
    "template refused, and a pod is lost: no pod is created": row(
        RUNNING, to("Degraded", "ConfigInvalid"), connector=REFUSED_TEMPLATE, pods__tasks=(task_pod(0),)
    ),
    "template refused before the start: nothing is prepared": row(
        PLANNED, to("Failed", "ConfigInvalid"), connector=REFUSED_TEMPLATE
    ),
}


@pytest.mark.parametrize(("given", "expected"), ROWS.values(), ids=ROWS)
def test_decision(given: Observation, expected: Is) -> None:
    decision = decide(given, lambda plan, task: "now")
    created, deleted = tuple(map(name_of, decision.create)), tuple(map(name_of, decision.delete))
    fields = {name: getattr(decision, name) for name in expected.also}
    if "save" in fields:
        fields["save"] = tuple(plan.hash for plan in decision.save)
    assert Is(decision.state, decision.verdict.reason, created, deleted, fields) == expected
