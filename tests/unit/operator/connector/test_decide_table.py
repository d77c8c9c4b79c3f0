"""What `decide` makes of an observation: one row for each of its branches.

Each row: the state of the Connector, what happens then, and what is decided: its state, the reason of its condition, pods
to create, pods to delete, and what else the row is about.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest

from penstock.errors import Problem
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, JobAnswer, JobProblem, Outcome, PlanAnswer
from penstock_model.contracts.pod_identity import Standing
from penstock_model.contracts.task_reports import Control, Report
from penstock_model.contracts.task_spec import PluginReference, TaskSpec, TaskState
from penstock_model.resources.connector import Connector
from penstock_operator.connector.decide.config_check import valid
from penstock_operator.connector.decide.decide import decide
from penstock_operator.connector.decide.job_step import JobObservation
from penstock_operator.connector.model.decision import CreateJob, CreateTask
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.persisted_state import Memory, TaskMemory
from penstock_operator.connector.model.plans import Plan, Shape, digests_of, plan_hash
from penstock_operator.connector.model.pod_end import Ended
from penstock_operator.connector.model.pod_status import JobPod, Phase, Pod, TaskPod
from penstock_operator.connector.model.refused_pods import Refusal, of_plan
from penstock_operator.connector.model.secrets import Secrets
from penstock_operator.connector.model.verdict import Pending
from penstock_operator.name_ownership import NameRefusal
from penstock_operator.names import digest, plan_name
from penstock_operator.rollout.progress import Permission

NOW: Final = 1_000_000.0
SHAPE: Final = Shape("runtime:1")
SHAPE_WITH_SECRET: Final = replace(SHAPE, secrets=("db",))
STANDING: Final = Standing(generation=1, plan="p")
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
        shape=SHAPE,
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


def running_task(number: int, **changes: Any) -> TaskMemory:
    task = TaskMemory(
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
        standing=STANDING,
        incarnation=1,
        state=state,
        acted=acted,
        since=int(NOW * 1000) - 50_000,
    )


def observation(**changes: Any) -> Observation:
    usual: dict[str, Any] = {
        "connector": connector(),
        "memory": Memory(),
        "now": NOW,
        "due": "due",
        "inputs_hash": "asked",
        "shape": SHAPE,
        "own": OWN,
        "release": "release-1",
    }
    return Observation(**{**usual, **changes})


PREPARED: Final = Memory(plan="due", standing=STANDING, fence=FENCE, own=OWN, observed=1)
RUNS: Final = replace(PREPARED, tasks={0: running_task(0), 1: running_task(1)}, state="Running")

NEW: Final = observation()
PLANNED: Final = observation(plans=(PLAN,))
STARTING: Final = observation(plans=(PLAN,), memory=PREPARED)
RUNNING: Final = observation(
    plans=(PLAN,), memory=RUNS, task_pods=(task_pod(0), task_pod(1)), reports={0: report(0), 1: report(1)}
)
PAUSED: Final = replace(
    RUNNING,
    connector=connector(state="Paused"),
    memory=replace(RUNS, tasks={n: running_task(n, state="Paused") for n in range(2)}),
    task_pods=(task_pod(0, state="Paused"), task_pod(1, state="Paused")),
    reports={0: report(0, "PAUSED"), 1: report(1, "PAUSED")},
)
SUPERSEDED: Final = replace(
    RUNNING,
    memory=replace(
        RUNS,
        tasks={
            0: running_task(0, state="Pending", reason="Superseded", has_ended=True, losses=1, retry_at=NOW),
            1: running_task(1),
        },
    ),
    task_pods=(task_pod(0, phase=Phase.ENDED, ended=ended(ExitCode.SUPERSEDED)), task_pod(1)),
)
STOPPED: Final = observation(
    connector=connector(state="Stopped"),
    plans=(PLAN,),
    memory=replace(PREPARED, tasks={0: TaskMemory(0, "Stopped", incarnation=1, reason="Stopped")}, state="Stopped"),
)
FAILED: Final = replace(
    RUNNING,
    memory=replace(
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
    task_pods=(task_pod(0), task_pod(1, phase=Phase.ENDED, ended=ended(ExitCode.FAILED))),
)
DELETED: Final = replace(
    observation(connector=connector(deletion={"offsets": "Reset"}), plans=(PLAN,), memory=PREPARED),
    deleting=NOW - 10,
    finalizer=True,
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
    return {"job_pods": (pod,), "answers": {pod.name: told}}


PLAN_ANSWER: Final = PlanAnswer(kind="source", class_name="FileStreamSource", version="1", tasks=PLAN.tasks)
WRONG: Final = (JobProblem(property="spec.config.file", message="is missing"),)
REFUSED_TEMPLATE: Final = connector().with_reading(
    replace(connector().reading, problems=(Problem("spec.template.hostNetwork", "is not allowed"),))
)
RELEASE_CHANGED: Final = {
    "due": "due-2",
    "inputs_hash": "asked-2",
    "plans": (PLAN, plan_of("due-2", inputs_hash="asked-2", tasks=3)),
}
OWN_CHANGED: Final = {**RELEASE_CHANGED, "own": "spec-2:ignored"}
NOT_PLANNED: Final = {"due": "due-2", "inputs_hash": "asked-2"}


@dataclass(frozen=True)
class Is:
    """The decision in the words of the table; `also` are other fields of it, by name."""

    state: str
    reason: str
    creates: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    also: dict[str, Any] = field(default_factory=dict)


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

ROWS: Final = [
    # Deletion.
    pytest.param(
        DELETED,
        {"task_pods": (task_pod(0),)},
        Is("Stopping", "Deleting", deletes=FIRST[:1], also={"finalizer": None}),
        id="deleted: its tasks end first",
    ),
    pytest.param(
        DELETED,
        {},
        Is("Stopping", "ResettingOffsets", ("ResetOffsets",)),
        id="deleted without tasks: a job pod resets its offsets",
    ),
    pytest.param(
        DELETED,
        answer(RESET_POD_ENDED),
        Is("Stopping", "Deleting", deletes=("ResetOffsets",), also={"finalizer": False}),
        id="deleted and reset: the finalizer goes",
    ),
    pytest.param(
        DELETED,
        {"deleting": NOW - 3_700.0},
        Is("Stopping", "OffsetsKept", also={"finalizer": False}),
        id="deleted, and no reset within an hour: the finalizer goes",
    ),
    pytest.param(
        DELETED,
        {"connector": connector()},
        Is("Stopping", "OffsetsKept", also={"finalizer": False}),
        id="deleted, and its offsets are to stay: the finalizer goes",
    ),
    pytest.param(
        DELETED,
        {"finalizer": False},
        Is("Stopping", "Deleting", also={"claim": False}),
        id="deleted without the finalizer: nothing but its pods",
    ),
    # The finalizer of a Connector that lives.
    pytest.param(
        RUNNING,
        {"connector": connector(deletion={"offsets": "Reset"})},
        Is("Running", "Running", also={"finalizer": True}),
        id="reset on deletion: the finalizer comes",
    ),
    pytest.param(
        RUNNING,
        {"finalizer": True},
        Is("Running", "Running", also={"finalizer": False}),
        id="no reset on deletion any more: the finalizer goes",
    ),
    # What comes before all others.
    pytest.param(
        RUNNING,
        {"name_refusal": NameRefusal("NameConflict", "another has it")},
        Is("Failed", "NameConflict", deletes=FIRST, also={"claim": False, "requeue_after": 10.0}),
        id="name taken: its tasks end",
    ),
    pytest.param(
        RUNNING,
        {"namespace_ends": True},
        Is("Stopping", "NamespaceTerminating"),
        id="namespace deleted: nothing is created",
    ),
    pytest.param(
        PLANNED,
        {"foreign_pods": ("in-0-7",)},
        Is("Pending", "Waiting", also={"requeue_after": 2.0}),
        id="pods of an earlier Connector of the name: it waits",
    ),
    pytest.param(
        NEW,
        {"stale_records": True},
        Is("Pending", "Waiting", also={"forget": True}),
        id="records of an earlier Connector of the name: they are removed",
    ),
    pytest.param(
        NEW,
        {"stale_records": True, "kafka_trouble": "away"},
        Is("Pending", "Planning", ("Plan and Prepare",), also={"forget": False}),
        id="records of an earlier Connector, and Kafka is away: it is planned meanwhile",
    ),
    # Stopped and paused.
    pytest.param(
        RUNNING,
        {"connector": connector(state="Stopped")},
        Is("Stopping", "Stopping", deletes=FIRST),
        id="stopped: its tasks end",
    ),
    pytest.param(STOPPED, {}, Is("Stopped", "Stopped"), id="stopped, and all tasks have ended"),
    pytest.param(
        STOPPED,
        {"job_pods": (job_pod(Action.PLAN, "due"),)},
        Is("Stopping", "Stopping", deletes=("Plan",)),
        id="stopped while it is planned: the job pod ends",
    ),
    pytest.param(
        STOPPED,
        {"connector": connector()},
        Is("Pending", "Restarting", ("task 0, incarnation 2", "task 1, incarnation 1")),
        id="started after a stop: the incarnations go on",
    ),
    pytest.param(
        RUNNING,
        {"connector": connector(state="Paused")},
        Is("Running", "Pausing", also={"tell": TaskState.PAUSED}),
        id="paused: running tasks get a control record",
    ),
    pytest.param(
        RUNNING,
        {
            "connector": connector(state="Paused"),
            "control": Control(connector_uid="uid", generation=2, state=TaskState.PAUSED),
            "reports": {n: report(n, "PAUSED", acted=2) for n in range(2)},
        },
        Is("Paused", "Paused", also={"tell": None}),
        id="paused, and the tasks report it",
    ),
    pytest.param(PAUSED, {}, Is("Paused", "Paused", also={"tell": None}), id="paused from the start"),
    pytest.param(
        PAUSED,
        {"connector": connector()},
        Is("Paused", "Resuming", also={"tell": TaskState.RUNNING}),
        id="resumed: paused tasks get a control record",
    ),
    # Restart requests.
    pytest.param(
        RUNNING,
        {"connector": connector({"penstock.dev/restart": "t"})},
        Is("Running", "Running", also={"requeue_after": 0.0}),
        id="restart: written to the status first, and planned anew with the next decision",
    ),
    pytest.param(
        RUNNING,
        {"connector": connector({"penstock.dev/restart-tasks": "t 1"})},
        Is("Degraded", "Restarting", deletes=FIRST[1:], also={"requeue_after": 0.0}),
        id="restart of a task: its pod ends",
    ),
    pytest.param(
        FAILED,
        {"connector": connector({"penstock.dev/restart-failed": "t"})},
        Is("Degraded", "Restarting", ("task 1, incarnation 2",), also={"requeue_after": 0.0}),
        id="restart of failed tasks: at once, without waiting for the back-off",
    ),
    pytest.param(
        STOPPED,
        {"connector": connector({"penstock.dev/restart": "t"}, state="Stopped")},
        Is("Stopped", "Stopped"),
        id="restart while stopped: refused",
    ),
    # Planning.
    pytest.param(NEW, {}, Is("Pending", "Planning", ("Plan and Prepare",)), id="new: a job pod plans and prepares"),
    pytest.param(
        NEW, {"slot": False}, Is("Pending", "Planning", also={"queued": True}), id="new, and no job slot: queued"
    ),
    pytest.param(
        NEW,
        {"name_unseen": "Kafka is away"},
        Is("Pending", "Planning", ("Plan",)),
        id="new, and its name may be another's: planned, but not prepared",
    ),
    pytest.param(NEW, {"job_pods": (PLAN_POD,)}, Is("Pending", "Planning"), id="the job pod plans"),
    pytest.param(
        NEW,
        answer(PLAN_POD_ENDED, Outcome.INVALID, problems=WRONG),
        Is("Failed", "ConfigInvalid", deletes=("Plan",)),
        id="the plugin refuses the configuration",
    ),
    pytest.param(
        NEW,
        {"memory": Memory(refused="due", refusal=("spec.config.file is missing",))},
        Is("Failed", "ConfigInvalid"),
        id="refused before: it is not planned again",
    ),
    pytest.param(
        NEW,
        {"connector": connector(offsets={"listTo": {"name": "a"}})},
        Is("Failed", "ConfigInvalid"),
        id="a field that is not supported: no job pod is asked",
    ),
    pytest.param(
        NEW,
        {**answer(PLAN_POD_ENDED, plan=PLAN_ANSWER, standing=STANDING)},
        Is("Pending", "Starting", FIRST, ("Plan",)),
        id="planned and prepared: the plan is kept, the tasks start",
    ),
    pytest.param(
        NEW,
        answer(PLAN_POD_ENDED, Outcome.UNAVAILABLE, message="Kafka is away"),
        Is("Pending", "Unavailable", deletes=("Plan",), also={"requeue_after": 2.0}),
        id="planning finds Kafka away: it is tried again after a pause",
    ),
    pytest.param(
        NEW,
        {"secrets": Secrets(("db",), ("Secret db is missing",))},
        Is("Pending", "SecretMissing", ("Plan and Prepare",)),
        id="a Secret is missing: planned all the same",
    ),
    pytest.param(
        NEW,
        {"refusals": {of_plan(plan_name("in", "due")): Refusal("QuotaExceeded", "full", 1, NOW + 4)}},
        Is("Pending", "QuotaExceeded", also={"requeue_after": 4.0}),
        id="its plan could not be kept: tried again after a pause",
    ),
    pytest.param(
        RUNNING,
        NOT_PLANNED,
        Is("Running", "Running", ("Plan",), also={"save": (), "config": valid(RUNNING, PLAN)}),
        id="the release changed: planned while the tasks go on",
    ),
    pytest.param(
        RUNNING,
        {"due": plan_hash("asked", SHAPE_WITH_SECRET), "shape": SHAPE_WITH_SECRET},
        Is("Running", "Running", also={"save": (plan_hash("asked", SHAPE_WITH_SECRET),)}),
        id="another shape of pods: the plugin is not asked",
    ),
    # Preparation.
    pytest.param(
        PLANNED, {}, Is("Pending", "Preparing", ("Prepare",)), id="planned but not prepared: a job pod prepares"
    ),
    pytest.param(
        PLANNED,
        {"name_unseen": "Kafka is away"},
        Is("Pending", "Waiting", also={"requeue_after": 10.0}),
        id="planned, and its name may be another's: not prepared",
    ),
    pytest.param(
        PLANNED,
        answer(PREPARE_POD_ENDED, standing=STANDING),
        Is("Pending", "Starting", deletes=("Prepare",), also={"requeue_after": 0.0}),
        id="prepared: the tasks start next",
    ),
    pytest.param(
        PLANNED,
        answer(PREPARE_POD_ENDED, Outcome.INVALID, problems=WRONG),
        Is("Failed", "PrepareFailed", deletes=("Prepare",), also={"requeue_after": 2.0}),
        id="the preparation is refused",
    ),
    # Adoption of another plan.
    pytest.param(
        RUNNING,
        OWN_CHANGED,
        Is("Pending", "Restarting", deletes=FIRST, also={"pending": None}),
        id="another number of tasks by its own change: all tasks end",
    ),
    pytest.param(
        RUNNING,
        {**RELEASE_CHANGED, "permission": Permission(False, "RolloutQueued", "others first")},
        Is("Running", "Running", also={"pending": Pending("RolloutQueued", "others first")}),
        id="a release that ends pods, and no permission: the last plan goes on",
    ),
    pytest.param(
        RUNNING,
        RELEASE_CHANGED,
        Is("Pending", "Restarting", deletes=FIRST),
        id="a release that ends pods, and permission: all tasks end",
    ),
    pytest.param(
        replace(
            RUNNING,
            task_pods=tuple(
                task_pod(n, phase=Phase.WAITING, started=None, hindrance=("ImagePullBackOff", "gone")) for n in (0, 1)
            ),
        ),
        {**RELEASE_CHANGED, "permission": Permission(False, "RolloutQueued", "others first")},
        Is("Pending", "Restarting", deletes=FIRST),
        id="a release, and the last one's image is gone: at once",
    ),
    # Tasks.
    pytest.param(STARTING, {}, Is("Pending", "Starting", FIRST), id="prepared: a pod for each task"),
    pytest.param(
        RUNNING,
        {},
        Is("Running", "Running", also={"create": (), "delete": (), "drop": (), "requeue_after": None}),
        id="all as asked: nothing is done",
    ),
    pytest.param(
        RUNNING,
        {
            "memory": replace(RUNS, tasks={0: running_task(0), 1: running_task(1, pod_hash="before")}),
            "task_pods": (task_pod(0), task_pod(1, pod_hash="before")),
        },
        Is("Degraded", "Restarting", deletes=FIRST[1:]),
        id="a pod is outdated: it ends",
    ),
    pytest.param(
        RUNNING,
        {"task_pods": (task_pod(0),)},
        Is("Degraded", "Starting", ("task 1, incarnation 2",)),
        id="a pod is lost: the next incarnation starts",
    ),
    pytest.param(
        RUNNING,
        {"task_pods": (task_pod(0), task_pod(1, phase=Phase.ENDED, ended=ended(ExitCode.FAILED)))},
        Is("Degraded", "TasksFailed"),
        id="a task fails: it waits",
    ),
    pytest.param(
        FAILED,
        {},
        Is("Degraded", "TasksFailed", also={"requeue_after": 20.0}),
        id="a failed task: until its back-off ends",
    ),
    pytest.param(
        FAILED,
        {"now": NOW + 20},
        Is("Degraded", "Restarting", ("task 1, incarnation 2",)),
        id="a failed task: started again after its back-off",
    ),
    pytest.param(
        STARTING,
        {"memory": RUNS, "task_pods": (task_pod(0), task_pod(1), task_pod(2)), "reports": RUNNING.reports},
        Is("Running", "Running", deletes=("task 2, incarnation 1",)),
        id="a pod of a task beyond the plan: it ends",
    ),
    pytest.param(
        RUNNING,
        {"plans": (plan_of("a"), plan_of("b"), PLAN)},
        Is("Running", "Running", also={"drop": ("a",)}),
        id="older plans: all but one are dropped",
    ),
    pytest.param(
        RUNNING,
        {"reports": {}, "kafka_trouble": "away"},
        Is("Running", "KafkaUnavailable"),
        id="Kafka is away: the tasks go on, and nothing is known of them",
    ),
    pytest.param(
        RUNNING,
        {
            "recorded": Standing(generation=9, plan="another"),
            "owner": OWNER,
            "task_pods": (task_pod(0, phase=Phase.ENDED, ended=ended(ExitCode.SUPERSEDED)), task_pod(1)),
        },
        Is("Degraded", "TasksLost"),
        id="a task is superseded by another connector's: it waits",
    ),
    pytest.param(
        SUPERSEDED,
        {"recorded": Standing(generation=9, plan="another"), "owner": OWNER},
        Is("Degraded", "Starting", ("task 0, incarnation 2",)),
        id="a task was superseded by another connector's: started again after its back-off",
    ),
    pytest.param(
        SUPERSEDED,
        {"recorded": Standing.of_owner(9, OWNER), "owner": OWNER},
        Is("Pending", "Restarting", deletes=FIRST[1:]),
        id="a task was superseded by a late preparation of its own: all tasks end, to be prepared anew",
    ),
    # A template that is refused.
    pytest.param(
        RUNNING,
        {"connector": REFUSED_TEMPLATE},
        Is("Running", "ConfigInvalid"),
        id="template refused: running pods go on",
    ),
    pytest.param(
        RUNNING,
        {"connector": REFUSED_TEMPLATE, "task_pods": (task_pod(0),)},
        Is("Degraded", "ConfigInvalid"),
        id="template refused, and a pod is lost: no pod is created",
    ),
    pytest.param(
        PLANNED,
        {"connector": REFUSED_TEMPLATE},
        Is("Failed", "ConfigInvalid"),
        id="template refused before the start: nothing is prepared",
    ),
]


@pytest.mark.parametrize(("given", "event", "expected"), ROWS)
def test_decision(given: Observation, event: dict[str, Any], expected: Is) -> None:
    decision = decide(replace(given, **event), lambda plan, task: "now")
    created, deleted = tuple(map(name_of, decision.create)), tuple(map(name_of, decision.delete))
    fields = {name: getattr(decision, name) for name in expected.also}
    if "save" in fields:
        fields["save"] = tuple(plan.hash for plan in decision.save)
    assert Is(decision.state, decision.verdict.reason, created, deleted, fields) == expected
