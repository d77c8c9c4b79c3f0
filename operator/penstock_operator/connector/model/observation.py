"""Immutable observation of one Connector at one moment, with everything that a decision needs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock_model.contracts.job import Action
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.observed_pods import ObservedPods
from penstock_operator.connector.model.observed_records import NameOwnership, ObservedRecords
from penstock_operator.connector.model.offsets_list_map import ListMap
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.connector.model.plan_hashes import has_changed_itself
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.pod_status import JobPod
from penstock_operator.connector.model.requested_plan import RequestedPlan
from penstock_operator.rollout.progress import GRANTED, Permission
from penstock_operator.settings import Rollout

__all__ = ["Observation", "ReleaseTerms"]


@dataclass(frozen=True, slots=True)
class ReleaseTerms:
    """Settings of the release, and its current permissions for this Connector.

    Attributes:
        hash: hash of everything that the release contributes to every plan.
        rollout: limits on restarts of Connectors for a change of the release.
        permission: permission to restart this one.
        has_job_slot: whether a job slot is free for it.
        job_deadline: maximum seconds from a job pod's creation until it is scheduled, and from then on until its end.
        node_timeout: seconds after the grace period of a pod from which on its node counts as lost.
        creates_topics: whether the worker configuration allows tasks to create topics (KIP-158).
        topics_reset_refusal: why active topics cannot be reset, in Kafka Connect's words; empty: they can.
    """

    hash: str = ""
    rollout: Rollout = field(default_factory=Rollout)
    permission: Permission = GRANTED
    has_job_slot: bool = True
    job_deadline: float = 120.0
    node_timeout: float = 30.0
    creates_topics: bool = True
    topics_reset_refusal: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """Observation of one Connector.

    Attributes:
        connector: the resource, as far as it can be read; `reading.problems` has its errors.
        persisted: its state, read from its status.
        now: seconds since 1970.
        requested: the plan that it requests.
        plans: its stored plans, the oldest first.
        pods: its pods.
        records: its records in Kafka.
        name: whether it owns its Connect name.
        release: settings and permissions of the release.
        deleting: since when it has been in deletion, in seconds since 1970; None: it is not being deleted.
        has_finalizer: whether it has Penstock's finalizer.
        namespace_ends: whether its namespace is being deleted, so that no object can be created there.
        list_map: the ConfigMap with the name of the offsets list, looked up while a list is requested; None: there is none.
    """

    connector: Connector
    persisted: PersistedState
    now: float
    requested: RequestedPlan
    plans: Sequence[Plan] = ()
    pods: ObservedPods = field(default_factory=ObservedPods)
    records: ObservedRecords = field(default_factory=ObservedRecords)
    name: NameOwnership = field(default_factory=NameOwnership)
    release: ReleaseTerms = field(default_factory=ReleaseTerms)
    deleting: float | None = None
    has_finalizer: bool = False
    namespace_ends: bool = False
    list_map: ListMap | None = None

    def is_prepared(self, plan: Plan) -> bool:
        """Return whether the last preparation is valid for the tasks of this plan."""
        return self.persisted.epoch is not None and self.persisted.fence == plan.fence(self.connector.connect_name)

    @property
    def is_idle(self) -> bool:
        """Return whether no task is running: all are stopped or were never started."""
        return all(t.state == "Stopped" or not t.incarnation for t in self.persisted.tasks.values())

    @property
    def overtaken_by(self) -> PlanEpoch | None:
        """Return the epoch in Kafka, if known and later than the persisted one, whose tasks it supersedes; else None."""
        last, recorded = self.persisted.epoch, self.records.last_epoch
        return recorded if last is not None and recorded is not None and recorded.is_after(last) else None

    @property
    def is_overtaken_by_itself(self) -> bool:
        """Return whether the later preparation was made by a delayed job pod of the same Connector."""
        later = self.overtaken_by
        return later is not None and later.owner != "" and later.owner == self.name.owner_mark

    @property
    def is_own_change(self) -> bool:
        """Return whether the Connector itself, not only the release, requests other inputs than those of its tasks."""
        last, requested = self.plan(self.persisted.plan), self.requested
        return has_changed_itself(
            self.persisted.own_hash,
            requested.own_hash,
            requested.own_hash_toggled,
            last,
            requested.secrets_in_force,
        )

    @property
    def is_urgent(self) -> bool:
        """Return whether a user waits for its job pods, because it is new, changed or deleted, or tasks or offsets wait."""
        last = self.plan(self.persisted.plan)
        is_asked = any(a.is_pending for a in self.persisted.offsets)
        return is_asked or self.deleting is not None or self.is_own_change or last is None or not self.is_prepared(last)

    @property
    def pods_changing_offsets(self) -> tuple[JobPod, ...]:
        """Return the pods that may be changing the offsets now; while there are any, no task starts."""
        pods = (p for p in self.pods.offsets_jobs if p.action != Action.LIST_OFFSETS)
        return tuple(p for p in pods if p.lives(self.now, self.release.node_timeout))

    def plan(self, plan_hash: str) -> Plan | None:
        """Return the stored plan with this hash."""
        return next((p for p in self.plans if p.hash == plan_hash), None)

    def stored_split(self) -> Plan | None:
        """Return a stored plan for the requested tasks whose pods started with the pod settings that are requested now."""
        fits = (p for p in reversed(self.plans) if p.inputs_hash == self.requested.inputs_hash)
        return next((p for p in fits if p.pod_settings.proved == self.requested.pod_settings.proved), None)
