"""Carry out a decision, in the order that `Decision` documents, so that a crash between any two writes is harmless."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from penstock_model.contracts.job import Action
from penstock_operator.connector.decide.offsets_list import of_list
from penstock_operator.connector.decide.step_outcome import soonest
from penstock_operator.connector.executor_writes import ExecutorWrites
from penstock_operator.connector.kafka_writes import (
    TRY_AGAIN,
    remove_records,
    write_claim,
    write_control,
    write_states,
    write_used_tokens,
)
from penstock_operator.connector.kubernetes_writes import (
    delete_plan,
    publish_list,
    save_plan,
    write_finalizer,
    write_status,
)
from penstock_operator.connector.model.api_failures import reported_verdict
from penstock_operator.connector.model.decision import CreateJob, Decision
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.observe.connector_cache import CachedConnector
from penstock_operator.connector.pod_writes import (
    create_pod,
    delete_pod,
    delete_request,
    name_of_pod,
    refusal_of,
    refusal_of_pod,
)
from penstock_operator.connector.render.pod_manifests import PodManifests
from penstock_operator.context import Context
from penstock_operator.errors import NotYet, OperatorError, Refused
from penstock_operator.key import Key

__all__ = ["Applied", "apply"]

T = TypeVar("T")
_MOST_FAILURES: Final = 3
"""Maximum number of failures per run, since each may take as long as the timeout of a webhook or of the server."""


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of carrying out a decision.

    Attributes:
        requeue_after: reconcile again after this many seconds; 0: immediately, None: when something happens.
        created: number of created pods.
        queued: whether a job pod waits for a slot.
        is_gone: whether the Connector no longer exists, or another one has its name.
        failed: the first failed request for a single object, while the rest was done; None: no failure.
    """

    requeue_after: float | None = None
    created: int = 0
    queued: bool = False
    is_gone: bool = False
    failed: OperatorError | None = None


async def apply(
    document: Mapping[str, Any],
    observed: Observation,
    decision: Decision,
    manifests: PodManifests,
    context: Context,
    cached: CachedConnector,
) -> Applied:
    """Carry out a decision. A failure of one pod does not prevent others from being deleted or created.

    Args:
        document: the Connector, as it was observed.
        observed: the observation from which the decision was made.
        decision: the decision to carry out.
        manifests: renders pods, and the objects that they read.
        context: the API server, Kafka and the release.
        cached: cache of the Connector, in which refusals and failures of single objects are recorded.

    Raises:
        OperatorError: a request to the API server failed; the next run decides the rest.
    """
    metadata = observed.connector.metadata
    key = Key(metadata.namespace or "", metadata.name)
    states_again = await write_states(observed, decision, context)
    reported = replace(decision, verdict=reported_verdict(decision.verdict, cached.trouble.verdict))
    for plan in decision.save:
        if not await save_plan(key, plan, observed, decision, manifests, context, cached):
            return Applied(0.0)  # decided once more, without that plan
    written = await write_status(document, observed, reported, context)
    if written is None:
        return Applied(0.0, is_gone=True)
    if decision.finalizer is not None and not await write_finalizer(written, key, decision.finalizer, context):
        return Applied(0.0)  # the Connector has changed since it was read
    failures = _Failures(cached.failed_writes)
    is_refused = await _publish(observed, decision, manifests, context, cached, failures)
    for pod in failures.ordered(decision.delete, lambda p: p.name):
        with failures.of(pod.name):
            await delete_pod(key, pod, context)
    are_recorded = await write_used_tokens(observed, decision, context)
    if not are_recorded:
        of_offsets = [c for c in decision.create if isinstance(c, CreateJob) and c.action is Action.OFFSETS]
        decision = replace(decision, create=tuple(c for c in decision.create if c not in of_offsets), topics_reset="")
    created, queued, refused = await _create_pods(key, observed, decision, manifests, context, cached, failures)
    executors = ExecutorWrites(key, observed, manifests, context, cached)
    await executors.create_secrets(decision)
    for plan_hash in failures.ordered(decision.drop, str):
        with failures.of(plan_hash):
            await delete_plan(key, plan_hash, context)
    cached.failed_writes = failures.names
    if decision.claim:
        await write_claim(document, observed, decision, context)
    control_again = records_again = None
    if decision.control_state is not None or decision.log_level is not None or decision.topics_reset:
        control_again = await write_control(observed, decision, context)
    if decision.forget:
        records_again = await remove_records(observed.connector.connect_name, context)
    await executors.write(decision)
    # After a plan was stored or an object was refused, another decision follows immediately.
    at_once = (
        0.0 if decision.save or refused or is_refused or executors.is_refused else None if are_recorded else TRY_AGAIN
    )
    requeue_after = soonest(at_once, states_again, control_again, records_again)
    return Applied(requeue_after, created + executors.created, queued, failed=failures.first)


async def _publish(
    observed: Observation,
    decision: Decision,
    manifests: PodManifests,
    context: Context,
    cached: CachedConnector,
    failures: "_Failures",
) -> bool:
    """Write the list of offsets if there is one, and return whether the API server refused it."""
    if decision.publish is None:
        return False
    name = of_list(decision.publish.pod_uid)
    with failures.of(name):
        try:
            await publish_list(decision.publish, manifests, context)
        except Refused as e:
            cached.refusals[name] = refusal_of(observed, name, e)
            return True
    return False


async def _create_pods(
    key: Key,
    observed: Observation,
    decision: Decision,
    manifests: PodManifests,
    context: Context,
    cached: CachedConnector,
    failures: "_Failures",
) -> tuple[int, bool, bool]:
    """Create pods; return the number created, whether one waits for a job slot, and whether one was refused."""
    created, queued, is_refused = 0, False, False
    for creation in failures.ordered(decision.create, lambda c: name_of_pod(key.name, c)):
        name = name_of_pod(key.name, creation)
        with failures.of(name):
            try:
                if await create_pod(key, creation, observed, manifests, context):
                    created += 1
                    cached.refusals.pop(name, None)
                else:
                    queued = True
            except Refused as e:
                cached.refusals[name] = refusal_of_pod(observed, creation, name, e)
                cached.namespace_ends = cached.namespace_ends or e.namespace_ends
                is_refused = True
                if isinstance(creation, CreateJob):  # the next attempt may use another name
                    await delete_request(key, creation.name, context)
    return created, queued, is_refused


class _Failures:
    """Failures of single objects at the API server. The rest is done first, up to a limit of failures.

    Args:
        before: names of the objects that failed in the last run; they come last, so that they do not hinder others.
    """

    def __init__(self, before: Collection[str]) -> None:
        self._before = before
        self.first: OperatorError | None = None
        self.names: frozenset[str] = frozenset()

    def ordered(self, items: Iterable[T], name: Callable[[T], str]) -> Iterator[T]:
        """Yield the items in order, but those that failed in the last run at the end.

        Stop after too many failures or a `NotYet`.
        """
        for item in sorted(items, key=lambda i: name(i) in self._before):
            if len(self.names) >= _MOST_FAILURES or isinstance(self.first, NotYet):
                return
            yield item

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Record an error in this block as a failure of this object, without aborting the run."""
        try:
            yield
        except OperatorError as e:
            self.first = self.first or e
            self.names |= {name}
