"""Plans and pods of an earlier release, which kept no shape of them, in the form of this release. Pure.

Its plans hold tasks alone, and its pods are marked with a hash of their whole manifest. A Connector of which nothing was
changed since is taken to run as its plan says, so that an upgrade of the operator ends no pod by itself.
"""

from collections.abc import Mapping
from dataclasses import replace

from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.persisted_state import EXPECTED_RESTARTS, TaskMemory
from penstock_operator.connector.model.plans import Plan, PodHashOf, Shape, plan_hash
from penstock_operator.connector.model.pod_status import TaskPod
from penstock_operator.connector.model.secrets import references
from penstock_operator.connector.render.pod_hash import POD_HASH_FORM

__all__ = ["taken_over"]


def taken_over(observed: Observation, pod_hash: PodHashOf) -> tuple[Observation, Plan | None]:
    """The observation as this release has it, and a plan to keep."""
    memory = observed.memory
    last = observed.plan(memory.plan)
    if last is None:
        return observed, None
    plan = None
    is_unchanged = memory.observed == observed.connector.metadata.generation
    if last.shape is None:
        shape = _shape(observed, last)
        plan = replace(
            last, hash=plan_hash(last.inputs_hash, shape), shape=shape, restarted=memory.restarted, created=0.0
        )
        own = observed.own if is_unchanged else ""
        memory = replace(memory, plan=plan.hash, own=own)
        observed = replace(observed, memory=memory, plans=(*observed.plans, plan))
        if is_unchanged:
            memory = replace(memory, tasks=_with_present_hashes(memory.tasks, plan, pod_hash))
    pods = tuple(_with_present_life(p, memory.tasks) for p in observed.task_pods)
    return replace(observed, memory=memory, task_pods=pods), plan


def _shape(observed: Observation, plan: Plan) -> Shape:
    """The shape of the present pods; what they do not show is taken from what is asked for now."""
    if plan.inputs_hash == observed.inputs_hash:
        return observed.shape
    image = next(
        (p.image for p in sorted(observed.task_pods, key=lambda p: -p.created) if p.image), observed.shape.image
    )
    every = {r.name for t in plan.tasks for r in references(t.config, t.worker)}
    return replace(observed.shape, image=image, secrets=tuple(sorted(every)))


def _with_present_hashes(tasks: Mapping[int, TaskMemory], plan: Plan, pod_hash: PodHashOf) -> dict[int, TaskMemory]:
    there = range(len(plan.tasks))

    def is_so(task: TaskMemory) -> bool:  # and not about to be replaced when the earlier operator ended
        return task.id in there and task.pod_hash != "" and task.reason not in EXPECTED_RESTARTS

    return {n: replace(t, pod_hash=pod_hash(plan, n)) if is_so(t) else t for n, t in tasks.items()}


def _with_present_life(pod: TaskPod, tasks: Mapping[int, TaskMemory]) -> TaskPod:
    known = tasks.get(pod.task)
    if pod.pod_hash.startswith(POD_HASH_FORM) or known is None or known.pod_uid != pod.uid:
        return pod
    return replace(pod, pod_hash=known.pod_hash)
