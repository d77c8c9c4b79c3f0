"""Change plugin versions with canaries: the first tasks run new versions, and the others follow if these succeed. Pure.

`spec.rollout` sets the number of canaries, and how long they must run without a failure. Until then the last plan stays in
force; the status names the canaries' plan.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.persisted_state import PersistedCanary, PersistedTask
from penstock_operator.connector.model.plans import Plan, PodHashOf
from penstock_operator.connector.model.verdict import Pending
from penstock_operator.reasons import Reason

__all__ = ["Canary", "canary_for", "no_canary", "running_canary"]

_LONGEST: Final = 500
"""Maximum characters of a canary's failure in the status."""


@dataclass(frozen=True, slots=True)
class Canary:
    """First tasks, which run a different plan from the other tasks.

    Attributes:
        plan: plan of the first tasks.
        count: number of these tasks.
        follows: whether the others get that plan next. If not, another set of tasks is requested, and waits for the canary.
    """

    plan: Plan
    count: int
    follows: bool = True

    def plan_of(self, task: int, last: Plan) -> Plan:
        """Return the plan of a task."""
        return self.plan if task < self.count else last

    def persisted_after(self, before: PersistedCanary | None, tasks: Mapping[int, PersistedTask]) -> PersistedCanary:
        """Return the canary for the status, including the last failure of its tasks."""
        persisted = before if before is not None and before.plan == self.plan.hash else PersistedCanary(self.plan.hash)
        persisted = replace(persisted, tasks=self.count)
        failed = [t for n, t in sorted(tasks.items()) if n < self.count and t.state == "Failed"]
        return (
            replace(persisted, failure=f"task {failed[0].id}: {failed[0].message}"[:_LONGEST]) if failed else persisted
        )

    def seconds_left(
        self, tasks: Mapping[int, PersistedTask], pod_hash: PodHashOf, duration: float, now: float
    ) -> float | None:
        """Return the seconds for which its tasks must still run without a failure; None: not all of them run now."""
        mine = [tasks.get(n) for n in range(self.count)]
        since = [
            t.since
            for n, t in enumerate(mine)
            if t is not None and t.state == "Running" and not t.has_ended and t.pod_hash == pod_hash(self.plan, n)
        ]
        return None if len(since) < self.count else max(since) + duration - now

    def pending(self, last: Plan, persisted: PersistedCanary, left: float | None, duration: float) -> Pending:
        """Return the reason and message of `UpdatePending` while the canary runs."""
        which = "task 0 runs" if self.count == 1 else f"tasks 0 to {self.count - 1} run"
        rest = len(last.tasks) - self.count
        others = "the other stays" if rest == 1 else f"the other {rest} stay"
        what = f"{which} {_new(last, self.plan)}; {others} as before"
        follow = "follows" if rest == 1 else "follow"
        then = follow if self.follows else f"{follow}, with all other changes,"
        if persisted.failure:
            failed = (
                f"{what}, because a canary failed ({persisted.failure}); set the previous version again, or another. "
            )
            they = "It" if rest == 1 else "They"
            return Pending(
                Reason.CANARY_FAILED, f"{failed}{they} {then} after {duration:g} s without a failure", canary=True
            )
        wait = "once all canaries run, " if left is None else ""
        return Pending(
            Reason.CANARY_RUNNING, f"{what}, and {then} {wait}after {duration:g} s without a failure", canary=True
        )


def canary_for(observed: Observation, last: Plan, plan: Plan) -> Canary | None:
    """Return the canary for the change from the last plan to the requested one; None: all tasks change at the same time."""
    if not _is_canary_asked(observed, last) or not _is_other_version(last, plan):
        return None
    running = running_canary(observed, last)
    if _is_nothing_to_spare(observed) and (running is None or running.plan.hash != plan.hash):
        return None
    count, name = observed.connector.spec.rollout.canary_tasks, observed.connector.connect_name
    if last.fence(name) == plan.fence(name):
        return Canary(plan, count)
    # A change to another set of tasks, for example to another number, waits for the running canary.
    if running is None or _is_other_version(running.plan, plan):
        return None
    return replace(running, count=count, follows=False)


def running_canary(observed: Observation, last: Plan) -> Canary | None:
    """Return the running canary, regardless of the current request; None: there is none."""
    persisted = observed.persisted.canary
    plan = observed.plan(persisted.plan) if persisted is not None else None
    if persisted is None or plan is None or not 0 < persisted.tasks < len(last.tasks):
        return None
    name = observed.connector.connect_name
    is_one = _is_other_version(last, plan) and last.fence(name) == plan.fence(name)
    return Canary(plan, persisted.tasks) if is_one else None


def no_canary(observed: Observation, last: Plan | None, plan: Plan) -> tuple[str, ...]:
    """Return a warning that explains why a change of versions has no canary although one is requested."""
    if last is None or not _is_canary_asked(observed, last) or not _is_other_version(last, plan):
        return ()
    if _is_nothing_to_spare(observed):
        return ()
    if canary_for(observed, last, plan) is not None:
        return ()
    if len(last.tasks) != len(plan.tasks):
        why = f"it changes the number of tasks from {len(last.tasks)} to {len(plan.tasks)}"
    elif (last.kind, last.class_name) != (plan.kind, plan.class_name):
        why = "the connector has another class"
    else:
        why = (
            "it distributes the source among the tasks differently, and two tasks must never read the same part at the same "
            "time"
        )
    return (f"spec.rollout: the change to {_new(last, plan)} had no canary, because {why}",)


def _is_canary_asked(observed: Observation, last: Plan) -> bool:
    return 0 < observed.connector.spec.rollout.canary_tasks < len(last.tasks)


def _is_nothing_to_spare(observed: Observation) -> bool:
    """Return whether no task works, because all are stopped, have failed or were never started."""
    return all(t.state in ("Stopped", "Failed") or not t.incarnation for t in observed.persisted.tasks.values())


def _is_other_version(last: Plan, plan: Plan) -> bool:
    """Return whether a plugin of both plans has another image or version."""
    before, now = _images(last), _images(plan)
    return any(before[plugin] != image for plugin, image in now.items() if plugin in before)


def _images(plan: Plan) -> Mapping[tuple[str, str], tuple[str, str]]:
    """Return images and versions by place and plugin: one image may contain several versions of a Java class."""
    return {(place, m.plugin): (m.image, m.version) for m in plan.mounts for place in m.places}


def _new(last: Plan, plan: Plan) -> str:
    """Return the names of the PluginVersions that the new plan changes to, as text."""
    before, there = _images(last), last.plugin_versions
    new = [
        m.name if m.name not in there else f"{m.plugin} {m.version} of {m.name}"
        for m in plan.mounts
        if m.name not in there or any(before.get((p, m.plugin), (m.image, m.version))[1] != m.version for p in m.places)
    ]
    return ", ".join(dict.fromkeys(new)) or "the plugins of the runtime image"
