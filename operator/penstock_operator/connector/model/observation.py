"""Frozen observation of one Connector at one moment, with everything that a decision needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock_model.contracts.job import Action, JobAnswer
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_reports import Control, Report, UsedToken
from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.offsets_list_map import ListMap
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.connector.model.plan_hashes import has_changed_itself
from penstock_operator.connector.model.plans import Plan, Shape
from penstock_operator.connector.model.pod_status import JobPod, TaskPod
from penstock_operator.connector.model.refused_pods import Refusal
from penstock_operator.connector.model.resolutions import NO_POLICY, OWN_PLUGIN, PluginResolution, PolicyResolution
from penstock_operator.connector.model.secrets import Secrets
from penstock_operator.name_ownership import NameRefusal
from penstock_operator.rollout.progress import GRANTED, Permission
from penstock_operator.settings import Rollout

__all__ = ["ActiveTopic", "Observation"]


@dataclass(frozen=True, slots=True)
class ActiveTopic:
    """Topic that the connector has written to or read from (KIP-558), since this time in seconds since 1970."""

    name: str
    task: int
    since: float


@dataclass(frozen=True, slots=True)
class Observation:
    """Observation of one Connector.

    Attributes:
        connector: the resource, as far as it can be read; `reading.problems` has its errors.
        persisted: read back from its status.
        deleting: since when it is being deleted, seconds since 1970; None: it is not.
        finalizer: whether it carries the finalizer of Penstock.
        namespace_ends: its namespace is being deleted: nothing can be created there.
        due: the hash of the current inputs of its plan: the plan's name.
        inputs_hash: the hash of the current inputs of its split into tasks.
        own: the hash of the part of these inputs that is the Connector's own, and not the release's.
        own_toggled: the same with the other value of `onSecretChange`.
        secrets_in_force: the hash of the Secrets that its tasks should have (`plan_hashes.secrets_hash`).
        asked: the last request of its plugin for a task reconfiguration; the hashes include it.
        shape: of newly requested pods.
        release: the hash of everything that the release contributes to every plan now.
        rollout: how Connectors are restarted for a change of the release.
        permission: whether this one may be restarted.
        plans: the stored ones, the oldest first.
        task_pods: of this Connector's uid.
        job_pods: likewise, of those that plan, prepare, or reset offsets for its deletion.
        offsets_pods: likewise, of actions on offsets that annotations requested.
        list_map: the ConfigMap with the name of the offsets list, looked up while a list is requested; None: there is none.
        foreign_pods: names of pods of a deleted Connector that had the same name.
        answers: of job pods that ended, by pod name; None: none could be read.
        unready: why pods of tasks fail their readiness probe after it has passed, by uid.
        reports: of its tasks, by number; only of this uid.
        stale_records: the status topic holds records of an earlier Connector of this name.
        topics: active ones, as in the status; at least as many as it shows.
        topic_count: how many there are; None: they are not tracked.
        topics_refusal: why they are not reset, in Kafka Connect's words; empty: they are.
        control: its last control record; only of this uid.
        creates_topics: whether the worker configuration lets tasks create topics (KIP-158).
        secrets: the Secrets in its configuration, as far as they are known.
        policy: resolved from the TopicCreationPolicies that apply to it.
        plugin: its class and version, resolved with the PluginVersions of its namespace.
        name_refusal: why it does not own its Connect name; None: it does.
        name_unseen: why it is not known whether the Connect name of a Connector that never ran is free; empty: it is known.
        has_claimed: Kafka has its claim of the name.
        owner: its mark in the records of its preparations (`name_ownership.owner_mark`).
        recorded: the greatest epoch in the records in Kafka, looked up if a task was superseded; None: none.
        generation: the greatest plan generation in the records in Kafka, looked up if an annotation requests an action
            on offsets.
        used_tokens: of requests that were used under its Connect name, also by earlier Connectors; from Kafka.
        run_by: another operator, whose pods and plans exist; empty: none.
        kafka_trouble: why the status topic cannot be read, once that has lasted; None: it can.
        topic_fault: why the status topic loses records, so that no task is ended for a restart; empty: it does not.
        status_unread: the status topic is not being read at this moment, for any reason and however briefly.
        refusals: pods that the API server refused, by name.
        slot: whether a job slot is free for this Connector.
        job_deadline: seconds that a job pod may take, from its creation until a node has it, and from then on to its end.
        node_timeout: seconds after the grace period of a pod from which on its node counts as lost.
        now: seconds since 1970.
    """

    connector: Connector
    persisted: PersistedState
    now: float
    due: str
    inputs_hash: str
    shape: Shape
    own: str = ""
    own_toggled: str = ""
    secrets_in_force: str = ""
    asked: str = ""
    release: str = ""
    rollout: Rollout = field(default_factory=Rollout)
    permission: Permission = GRANTED
    deleting: float | None = None
    finalizer: bool = False
    namespace_ends: bool = False
    plans: Sequence[Plan] = ()
    task_pods: Sequence[TaskPod] = ()
    job_pods: Sequence[JobPod] = ()
    offsets_pods: Sequence[JobPod] = ()
    list_map: ListMap | None = None
    foreign_pods: Sequence[str] = ()
    answers: Mapping[str, JobAnswer | None] = field(default_factory=dict)
    unready: Mapping[str, str] = field(default_factory=dict)
    reports: Mapping[int, Report] = field(default_factory=dict)
    stale_records: bool = False
    topics: Sequence[ActiveTopic] = ()
    topic_count: int | None = 0
    topics_refusal: str = ""
    control: Control | None = None
    creates_topics: bool = True
    secrets: Secrets = field(default_factory=Secrets)
    policy: PolicyResolution = NO_POLICY
    plugin: PluginResolution = OWN_PLUGIN
    name_refusal: NameRefusal | None = None
    name_unseen: str = ""
    has_claimed: bool = False
    owner: str = ""
    recorded: PlanEpoch | None = None
    generation: int = 0
    used_tokens: tuple[UsedToken, ...] = ()
    run_by: str = ""
    kafka_trouble: str | None = None
    topic_fault: str = ""
    status_unread: bool = False
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    slot: bool = True
    job_deadline: float = 120.0
    node_timeout: float = 30.0

    def is_prepared(self, plan: Plan) -> bool:
        """Return whether the last preparation still holds for the tasks of this plan."""
        return self.persisted.epoch is not None and self.persisted.fence == plan.fence(self.connector.connect_name)

    @property
    def is_idle(self) -> bool:
        """Return whether no task lives: it was stopped, or none has ever been started."""
        return all(t.state == "Stopped" or not t.incarnation for t in self.persisted.tasks.values())

    @property
    def overtaken_by(self) -> PlanEpoch | None:
        """Return the epoch of a later preparation, which supersedes the tasks of the last one; None: none is known."""
        last, recorded = self.persisted.epoch, self.recorded
        return recorded if last is not None and recorded is not None and recorded.is_after(last) else None

    @property
    def is_overtaken_by_itself(self) -> bool:
        """Return whether that was a preparation of the same Connector, by a job pod that came late."""
        later = self.overtaken_by
        return later is not None and later.owner != "" and later.owner == self.owner

    @property
    def is_own_change(self) -> bool:
        """Return whether the Connector's own part of the requested inputs differs from that of its tasks."""
        last = self.plan(self.persisted.plan)
        return has_changed_itself(self.persisted.own, self.own, self.own_toggled, last, self.secrets_in_force)

    @property
    def is_urgent(self) -> bool:
        """Return whether a user waits for its job pods: it is new, changed or deleted, or tasks or offsets wait for them."""
        last = self.plan(self.persisted.plan)
        is_asked = any(a.is_pending for a in self.persisted.offsets)
        return is_asked or self.deleting is not None or self.is_own_change or last is None or not self.is_prepared(last)

    @property
    def pods_at_offsets(self) -> tuple[JobPod, ...]:
        """Return the pods that may be changing the offsets at this moment: no task starts meanwhile."""
        pods = (p for p in self.offsets_pods if p.action != Action.LIST_OFFSETS)
        return tuple(p for p in pods if p.lives(self.now, self.node_timeout))

    def plan(self, plan_hash: str) -> Plan | None:
        """Return the stored plan with this hash."""
        return next((p for p in self.plans if p.hash == plan_hash), None)

    def split(self) -> Plan | None:
        """Return a stored plan of the requested tasks whose pods could start with the settings requested now."""
        fits = (p for p in reversed(self.plans) if p.inputs_hash == self.inputs_hash)
        return next((p for p in fits if p.shape.proved == self.shape.proved), None)
