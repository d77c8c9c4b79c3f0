"""What a decision asks for: frozen values that `apply` carries out in a fixed order. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock_model.contracts.job import Action
from penstock_model.contracts.pod_identity import Standing
from penstock_model.contracts.task_spec import TaskState
from penstock_operator.connector.decide import job_step
from penstock_operator.connector.decide.unsupported_fields import not_yet
from penstock_operator.connector.observe.observation import Observation
from penstock_operator.connector.observe.pod_status import Pod
from penstock_operator.connector.observe.secrets import too_many, with_namespace
from penstock_operator.connector.persisted_state import Memory
from penstock_operator.connector.plans import Plan
from penstock_operator.connector.render.conditions import Config, Kind, Pending, Verdict
from penstock_operator.kubernetes.pod_fields import unknown_fields
from penstock_operator.reasons import Reason
from penstock_operator.rollout.share import Share

__all__ = [
    "CreateJob",
    "CreateTask",
    "Decision",
    "config_known",
    "job_facts",
    "known_flaws",
    "named",
    "refused",
    "valid",
    "waiting",
]


@dataclass(frozen=True, slots=True)
class CreateJob:
    """A short pod and its request.

    Attributes:
        name: of both.
        action: what it is to do.
        key: echoed in its answer.
        prepare: PLAN: prepare as well.
        plan: whose image it has; PREPARE: whose first task it prepares for. None: what is asked for now.
        plain: without anything of the Connector's template.
    """

    name: str
    action: Action
    key: str
    prepare: bool = False
    plan: Plan | None = None
    plain: bool = False


@dataclass(frozen=True, slots=True)
class CreateTask:
    """A task's pod; `life` is what it is taken to be made from (`task_step.TaskFacts.life`)."""

    plan: Plan
    task: int
    incarnation: int
    standing: Standing
    state: TaskState
    life: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows from the facts.

    Carried out in this order, so that being killed between any two writes is harmless: a plan is kept, status says what
    is about to happen, the finalizer comes or goes, pods go, pods come, what is over is removed, running tasks are told.

    Attributes:
        memory: for status.
        verdict, config: for the conditions.
        state: the connector's, in a word.
        plan: that its tasks are made from.
        save: plans to keep.
        tell: what running tasks are to do.
        delete: pods.
        create: pods.
        drop: plans to remove, by hash.
        forget: the status topic's records of this Connect name.
        finalizer: whether ours is to be on the Connector; None: as it is.
        again: decide again after so many seconds; None: when something happens.
        queued: a short pod waits for a slot.
        pending: what keeps a change of the release from it.
        share: what it takes of the release's rollout; None: it is not meant to have tasks.
    """

    memory: Memory
    verdict: Verdict
    config: Config
    state: str
    plan: Plan | None = None
    save: tuple[Plan, ...] = ()
    tell: TaskState | None = None
    delete: tuple[Pod, ...] = ()
    create: tuple[CreateJob | CreateTask, ...] = ()
    drop: tuple[str, ...] = ()
    forget: bool = False
    finalizer: bool | None = None
    again: float | None = None
    queued: bool = False
    pending: Pending | None = None
    share: Share | None = None


def waiting(
    facts: Observation, reason: str, message: str, *, memory: Memory | None = None, config: Config | None = None,
    again: float | None = None,
) -> Decision:  # fmt: skip
    """Something must come first."""
    verdict = Verdict(Kind.UNDER_WAY, reason, message)
    return Decision(memory or facts.memory, verdict, config or config_known(facts), "Pending", again=again)


def refused(facts: Observation, memory: Memory, problems: Sequence[str]) -> Decision:
    """The configuration is wrong: a person must change it."""
    many = f"{len(problems)} problems: " if len(problems) > 1 else ""
    config = invalid(problems)
    rest = "; the tasks go on with the last good configuration" if facts.task_pods else ""
    return Decision(
        memory, Verdict(Kind.STALLED, Reason.CONFIG_INVALID, f"{many}{'; '.join(problems)}{rest}"), config, "Failed"
    )


def valid(facts: Observation, plan: Plan) -> Config:
    """The plugin has accepted the configuration, perhaps with warnings."""
    warnings = [*plan.warnings, *unknown_fields(facts.connector.spec.template)]
    if left := plan.left_behind:
        warnings.append(
            f"it was of another kind before: {left} stay in Kafka under its name, also with deletion.offsets: Reset, and "
            f"count again should it be of that kind again"
        )
    return Config(True, Reason.VALID, warnings or ("the plugin accepts the configuration",))


def invalid(problems: Sequence[str]) -> Config:
    """Everything that is wrong, at once."""
    many = [f"{len(problems)} problems"] if len(problems) > 1 else []
    return Config(False, Reason.CONFIG_INVALID, [*many, *problems])


def unknown(why: str) -> Config:
    """Nobody has looked yet."""
    return Config(None, Reason.NOT_CHECKED, (f"the configuration {why}",))


def config_known(facts: Observation) -> Config:
    """What is known of the configuration without asking anybody."""
    if flaws := known_flaws(facts):
        return invalid(flaws)
    if (plan := facts.plan(facts.due) or facts.split()) is not None:
        return valid(facts, plan)
    if facts.memory.refused == facts.due:
        return invalid(facts.memory.refusal)
    return unknown("is checked when the connector starts")


def known_flaws(facts: Observation) -> list[str]:
    """What is wrong and needs no plugin to be seen."""
    connector = facts.connector
    flaws = [str(p) for p in (*connector.reading.problems, *not_yet(connector.spec))]
    return flaws + with_namespace(connector.spec.config) + too_many(connector.spec.config)


def job_facts(facts: Observation, action: Action, key: str) -> job_step.JobFacts:
    """What is known of a job pod."""
    connector = facts.connector
    name = job_step.name_of(connector.metadata.name, action, key, connector.spec.template)
    refusals = (facts.refusals[n] for n in sorted(facts.refusals) if n == name or n.startswith(f"{name}-"))
    return job_step.JobFacts(
        name=name, action=action, key=key, pods=facts.job_pods, answers=facts.answers, memory=facts.memory.job,
        slot=facts.slot, refusal=next(refusals, None), deadline=facts.job_deadline, patience=facts.patience, now=facts.now,
    )  # fmt: skip


def named(pods: Sequence[Pod]) -> str:
    """The pods, for a message."""
    return ", ".join(sorted(p.name for p in pods))
