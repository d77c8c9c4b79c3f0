"""Decision step for the verification of one PluginVersion: its pod, and its status. Pure.

The result of a pod that has inspected the image is final while the release has the same runtime image: image and spec never
change. Any other end (the image cannot be pulled, no node, not enough memory, an import that does not end) is reported, and
another pod inspects the image after a pause, which doubles up to ten minutes. The image is verified again for another
runtime image, and when the ConfigMap of its configuration definitions is missing; until then, the status does not change.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from penstock_model.backoff import ExponentialBackoff
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.verification import FoundClass, read_classes
from penstock_model.resources.plugin_version import PublishedDefinitions
from penstock_operator.connector.model.persisted_state import FailedJob
from penstock_operator.connector.model.pod_end import OUT_OF_MEMORY, Ended
from penstock_operator.connector.model.pod_status import JobPod, Phase
from penstock_operator.connector.model.verdict import Kind, Verdict
from penstock_operator.reasons import Reason

__all__ = ["Finding", "Logged", "Seen", "Step", "failed", "published", "step", "unpublished"]

_BACKOFF: Final = ExponentialBackoff(first=15.0, longest=600.0)
_SLOT_WAIT: Final = 60.0
"""Seconds until the next check for a slot; normally a waiting PluginVersion is woken earlier, when there is one."""
_NONE: Final = FailedJob()
_PUBLISHING: Final = 3
"""Number of pods after which a PluginVersion is decided without configuration definitions that cannot be read."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Observation of a well-formed PluginVersion.

    Attributes:
        name: name of its pod; names of pods after one that does not terminate begin with it.
        pods: its verifying pods. Those for another runtime image, of an earlier operator, have other names.
        runtime: the runtime image that must verify it.
        verified_by: the runtime image that verified it, according to the status; empty: none has.
        said: the verdict in the status; None: there is none yet.
        is_lost: whether the ConfigMap that the status names no longer exists.
        is_decided: whether this operator has decided it since its start. It decides once, regardless of the runtime image
            in the status: another release, with another runtime image, may watch the same namespace, and the CRD may be that
            of an older release.
        failure: failed attempts of earlier pods.
        slot: whether there is a slot for one more verifying pod.
        deadline: seconds until the pod must have been scheduled, and from then on, seconds until it must have ended.
        node_timeout: seconds after which the node of a pod that should have ended counts as lost.
        now: seconds since 1970.
    """

    name: str
    pods: Sequence[JobPod]
    runtime: str
    verified_by: str
    said: Verdict | None
    is_lost: bool
    is_decided: bool
    failure: FailedJob
    slot: bool
    deadline: float
    node_timeout: float
    now: float


@dataclass(frozen=True, slots=True)
class Finding:
    """Findings of a pod that inspected the image, for the status.

    Attributes:
        classes: its Java classes.
        definitions: the ConfigMap with the configuration definitions, and their digest; None: there are none.
    """

    classes: tuple[FoundClass, ...] = ()
    definitions: PublishedDefinitions | None = None

    def fields(self) -> dict[str, Any]:
        """Return the fields for the status."""
        classes = [c.model_dump(mode="json", by_alias=True) for c in self.classes]
        where = self.definitions.model_dump(mode="json", by_alias=True) if self.definitions is not None else None
        return {name: value for name, value in (("classes", classes), ("definitions", where)) if value}


class Logged(NamedTuple):
    """Configuration definitions in the log of a pod, and their digest."""

    pod: str
    digest: str


@dataclass(frozen=True, slots=True)
class Step:
    """Next step for a PluginVersion.

    Attributes:
        verdict: verdict for its status.
        verified_by: runtime image for its status.
        finding: findings for its status; None: keep those in the status.
        publish: configuration definitions to publish first; None: none.
        failure: failed attempts to remember.
        create: name of the pod to create; None: none.
        delete: pods to delete after the status was written.
        requeue_after: check again after this many seconds; None: when something happens.
        queued: whether it waits for a slot.
        is_decided: whether a pod has decided it.
    """

    verdict: Verdict
    verified_by: str = ""
    finding: Finding | None = None
    publish: Logged | None = None
    failure: FailedJob = _NONE
    create: str | None = None
    delete: tuple[JobPod, ...] = ()
    requeue_after: float | None = None
    queued: bool = False
    is_decided: bool = False


def step(seen: Seen) -> Step:
    """Return the step for a well-formed PluginVersion."""
    living = tuple(p for p in seen.pods if p.leaving is None)
    is_known = seen.is_decided or seen.verified_by == seen.runtime
    if seen.said is not None and is_known and not seen.is_lost:
        return Step(seen.said, seen.verified_by or seen.runtime, delete=living, is_decided=True)
    own = [p for p in seen.pods if p.name == seen.name or p.name.startswith(f"{seen.name}-")]
    found = _as_before(seen, _next_step(replace(seen, pods=own)))
    return replace(found, delete=(*found.delete, *(p for p in living if p not in own)))


def failed(seen: Seen, reason: str, message: str) -> Step:
    """Return the step after a pod ended without a result or could not be created: it is retried after a pause."""
    attempts = seen.failure.attempts + 1
    pause = _BACKOFF.pause(attempts)
    failure = FailedJob(seen.name, attempts, seen.now + pause, reason, f"{message}; it is retried automatically")
    return _as_before(seen, Step(_waits(failure, reason, message), failure=failure, requeue_after=pause))


def published(found: Step, where: PublishedDefinitions) -> Step:
    """Return the step after its definitions were stored in a ConfigMap."""
    assert found.finding is not None
    return replace(found, finding=replace(found.finding, definitions=where), publish=None)


def unpublished(seen: Seen, found: Step, why: str) -> Step:
    """Return the step if its definitions cannot be read: another pod is tried, and after the third it is decided anyway."""
    before = seen.failure.attempts if seen.failure.reason == Reason.DEFINITIONS_UNPUBLISHED else 0
    cause = f"cannot publish its configuration definitions: {why}"
    if before + 1 >= _PUBLISHING:
        verdict = replace(found.verdict, message=f"{found.verdict.message}; {cause}")
        return replace(found, verdict=verdict, publish=None)
    counted = replace(seen, failure=replace(seen.failure, attempts=before))
    return replace(failed(counted, Reason.DEFINITIONS_UNPUBLISHED, cause), delete=found.delete)


def _as_before(seen: Seen, found: Step) -> Step:
    """Return the step with the status for an earlier runtime image until this one has decided."""
    if seen.said is None or not seen.verified_by or found.is_decided:
        return found
    return replace(found, verdict=seen.said, verified_by=seen.verified_by)


def _next_step(seen: Seen) -> Step:
    away = [p for p in seen.pods if p.is_on_lost_node(seen.now, seen.node_timeout)]
    pod = next((p for p in sorted(seen.pods, key=lambda p: p.created) if p not in away), None)
    doing = "a pod inspects the image and imports the declared classes"
    verdict, failure = _waits(seen.failure, Reason.VERIFYING, doing), seen.failure
    if pod is None:
        if failure.retry_at is not None and failure.retry_at > seen.now:
            return Step(verdict, failure=failure, requeue_after=failure.retry_at - seen.now)
        if not seen.slot:
            turn = "waiting for its turn: only a few PluginVersions of a release are verified in parallel"
            waits = _waits(failure, Reason.VERIFYING, turn)
            return Step(waits, failure=failure, requeue_after=_SLOT_WAIT, queued=True)
        return Step(verdict, failure=failure, create=_free_name(seen))
    if pod.phase is Phase.ENDED:
        return _after_end(seen, pod)
    if pod.leaves_by is not None:
        return Step(verdict, failure=failure, requeue_after=pod.leaves_by + seen.node_timeout - seen.now)
    left = pod.due(seen.deadline, seen.node_timeout) - seen.now
    if left <= 0:
        return replace(failed(seen, *_overdue(seen, pod)), delete=(pod,))
    if pod.hindrance is not None:
        verdict = Verdict(Kind.IN_PROGRESS, *pod.hindrance)
    return Step(verdict, failure=failure, requeue_after=left)


def _free_name(seen: Seen) -> str:
    taken = {p.name for p in seen.pods}
    names = (f"{seen.name}-{number}" if number else seen.name for number in itertools.count())
    return next(n for n in names if n not in taken)


def _waits(failure: FailedJob, reason: str, message: str) -> Verdict:
    """Return the verdict while another pod inspects the image; it keeps reporting an earlier failure."""
    if failure.attempts:
        return Verdict(Kind.IN_PROGRESS, failure.reason, failure.message)
    return Verdict(Kind.IN_PROGRESS, reason, message)


def _after_end(seen: Seen, pod: JobPod) -> Step:
    gone = () if pod.leaving is not None else (pod,)
    ended = pod.ended
    assert ended is not None
    word = ended.word
    if not ended.lost and word is not None and word.exit_code == ended.code:
        message = word.message or ""
        if ended.code == ExitCode.OK:
            verdict = Verdict(Kind.READY, Reason.VERIFIED, message)
            publish = Logged(pod.name, word.definitions) if word.definitions else None
            if publish is None or pod.leaving is None or seen.failure.reason != Reason.DEFINITIONS_UNPUBLISHED:
                finding = Finding(read_classes(word.classes or ""))
                return Step(verdict, seen.runtime, finding, publish, delete=gone, is_decided=True)
        if ended.code == ExitCode.CONFIG_INVALID:
            verdict = Verdict(Kind.STALLED, Reason.VERIFICATION_FAILED, message)
            return Step(verdict, seen.runtime, Finding(), delete=gone, is_decided=True)
    if pod.leaving is not None and seen.failure.attempts:  # already counted
        left = (pod.leaves_by or seen.now) + seen.node_timeout - seen.now
        return Step(_waits(seen.failure, "", ""), failure=seen.failure, requeue_after=left)
    return replace(failed(seen, *_cause(pod, ended)), delete=gone)


def _cause(pod: JobPod, ended: Ended) -> tuple[str, str]:
    if ended.reason == Reason.DEADLINE_EXCEEDED:
        if pod.hindrance is not None:
            return pod.hindrance
        slow = "if pulling the image takes long, raise job.deadlineSeconds of the release"
        return ended.reason, f"the verifying pod did not end in time; {slow}"
    if ended.reason == OUT_OF_MEMORY:
        limit = f"its limit of {ended.memory_limit}" if ended.memory_limit else "its node has"
        remedy = "import less, or raise job.resources.limits.memory of the release"
        return ended.reason, f"OOMKilled: the import used more memory than {limit}; {remedy}"
    reason = ended.reason if ended.lost and ended.code is None else Reason.VERIFICATION_FAILED
    return reason, ended.describe()


def _overdue(seen: Seen, pod: JobPod) -> tuple[str, str]:
    if pod.hindrance is not None:
        return pod.hindrance
    if not pod.node:
        return Reason.UNSCHEDULABLE, f"the verifying pod was not scheduled within {seen.deadline:.0f} s"
    return Reason.NODE_LOST, f"node {pod.node} does not stop pod {pod.name}, which is past its deadline"
