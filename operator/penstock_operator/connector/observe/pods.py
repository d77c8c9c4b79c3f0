"""Look up the pods of a Connector, and the answers of its job pods."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from penstock_model.contracts.job_answer import read_answer
from penstock_model.contracts.pod_layout import JOB_CONTAINER
from penstock_operator import names
from penstock_operator.connector.model.observed_pods import ObservedPods
from penstock_operator.connector.model.offsets_requests import OFFSETS_ACTIONS
from penstock_operator.connector.model.pod_status import ExecutorPod, JobPod, Phase, TaskPod, executor_of, pod_of
from penstock_operator.connector.model.refused_pods import Refusal, of_secret
from penstock_operator.connector.observe.pod_events import explained
from penstock_operator.connector.observe.subject import Subject
from penstock_operator.context import Context
from penstock_operator.errors import NotYet, OperatorError, Refused
from penstock_operator.key import Key
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import POD
from penstock_operator.kubernetes.readiness import NO_ANSWER, why_unready
from penstock_operator.settings import Settings

__all__ = ["living_job_pods", "look_up_pods", "pods_of"]

log = logging.getLogger(__name__)
_LABEL_LENGTH: Final = 63
_ANSWER_BYTES: Final = 4 << 20
_ASKS: Final = asyncio.Semaphore(4)
"""Maximum number of pods queried in parallel, to reserve threads for requests to the API server."""
_ASK_SECONDS: Final = 3.0
_LOG_PATIENCE: Final = 60.0
"""Seconds after the end of a job pod for which its log is requested before another pod is started."""


async def look_up_pods(
    subject: Subject, manifests: Sequence[Mapping[str, Any]], maps: Sequence[Mapping[str, Any]]
) -> ObservedPods:
    """Look up the pods and the answers of job pods. Logs are cached, and the job slots that the pods take are counted.

    Args:
        subject: the Connector.
        manifests: result of `pods_of`.
        maps: result of `plan_maps`.

    Raises:
        OperatorError: a request to the API server failed.
    """
    key, context, cached = subject.key, subject.context, subject.cached
    this_operator = context.settings.release.label
    own_manifests = [m for m in manifests if names.label(m, names.UID_LABEL) == subject.uid]
    run_by = names.operator_of([*own_manifests, *maps]) or this_operator
    cached.run_by = "" if run_by == this_operator else run_by
    pods = [p for p in (pod_of(m, subject.now) for m in manifests) if p is not None]
    # This operator neither counts nor stops pods of another one, whichever of the two runs the Connector.
    theirs = {m["metadata"]["uid"] for m in manifests if names.label(m, names.OPERATOR_LABEL) != this_operator}
    executors = [e for e in (executor_of(m, subject.now) for m in manifests) if e is not None]
    mine = [p for p in (*pods, *executors) if p.owner == subject.uid and p.uid not in theirs]
    own = await explained(subject, mine)
    tasks = [_waiting_for_secret(p, cached.refusals) for p in own if isinstance(p, TaskPod)]
    jobs = [p for p in own if isinstance(p, JobPod)]
    context.job_slots.living(key, frozenset(f"{key.namespace}/{p.name}" for p in jobs if p.takes_slot))
    logs = {p.uid: await _log(subject, p) for p in jobs if p.phase is Phase.ENDED}
    cached.logs = logs
    written = subject.connector.request_texts(context.settings.worker)
    answers = {p.name: read_answer(logs[p.uid], written) for p in jobs if p.uid in logs}
    unready = [p for p in tasks if p.unready_since is not None and p.phase is Phase.RUNNING and p.leaving is None]
    causes = await _ask(context, unready)
    cached.spark_secrets = {p.uid: cached.spark_secrets[p.uid] for p in tasks if _is_known(p, cached.spark_secrets)}
    return ObservedPods(
        tasks=tuple(tasks),
        jobs=tuple(p for p in jobs if p.action not in OFFSETS_ACTIONS),
        offsets_jobs=tuple(p for p in jobs if p.action in OFFSETS_ACTIONS),
        executors=tuple(p for p in own if isinstance(p, ExecutorPod)),
        spark_secrets=dict(cached.spark_secrets),
        foreign=tuple(p.name for p in pods if p.owner != subject.uid),
        answers=answers,
        unready_causes=causes,
        refusals=dict(cached.refusals),
        other_operator=cached.run_by,
    )


def _waiting_for_secret(pod: TaskPod, refusals: Mapping[str, Refusal]) -> TaskPod:
    """Return the pod with the refusal of the Secret that it waits for as the reason why it does not start."""
    refusal = refusals.get(of_secret(pod.spark_secret)) if pod.phase is Phase.WAITING else None
    if refusal is None:
        return pod
    message = f"cannot create Secret {pod.spark_secret} for its executors: {refusal.message}"
    return replace(pod, hindrance=(refusal.reason, message))


def _is_known(pod: TaskPod, known: Mapping[str, bool]) -> bool:
    """Return whether it is known if the Secret of a pod exists; a pod that waits for it shows that it does not."""
    is_missed = pod.phase is Phase.WAITING and pod.hindrance is not None and pod.spark_secret in pod.hindrance[1]
    return pod.uid in known and not is_missed


async def _ask(context: Context, unready: Sequence[TaskPod]) -> dict[str, str]:
    """Ask these pods why they are not ready, and return the causes by uid.

    This takes at most three seconds, even if nodes are lost.
    """
    causes = {p.uid: NO_ANSWER for p in unready}

    async def ask(pod: TaskPod) -> None:
        async with _ASKS:
            causes[pod.uid] = await context.run(why_unready, pod.address)

    with suppress(TimeoutError):
        async with asyncio.timeout(_ASK_SECONDS):
            await asyncio.gather(*map(ask, unready))
    return causes


def pods_of(context: Context, key: Key) -> list[dict[str, Any]]:
    """List the pods of this Connector, and of earlier Connectors of the same name."""
    if len(key.name) > _LABEL_LENGTH:  # an older CRD allowed such names, but pods were never created for them
        return []
    return context.kube.list(
        POD, key.namespace, labels={names.MANAGED_BY[0]: names.MANAGED_BY[1], names.CONNECTOR_LABEL: key.name}
    )


def living_job_pods(kube: Kube, settings: Settings, now: float) -> dict[str, Key]:
    """Return the job pods of this release that take a slot, as `<namespace>/<name>`, with the keys of their Connectors.

    Raises:
        OperatorError: a request to the API server failed.
    """
    labels = {
        names.MANAGED_BY[0]: names.MANAGED_BY[1],
        names.ROLE_LABEL: "job",
        names.OPERATOR_LABEL: settings.release.label,
    }
    owners: dict[str, Key] = {}
    for watched in settings.watch_namespaces or (None,):
        try:
            manifests = kube.list(POD, watched, labels=labels)
        except Refused as e:  # without permission to list pods it does not create any either
            log.warning("%s", e)
            continue
        for manifest in manifests:
            pod, namespace = pod_of(manifest, now), manifest["metadata"]["namespace"]
            if isinstance(pod, JobPod) and pod.takes_slot:
                owners[f"{namespace}/{pod.name}"] = Key(namespace, names.label(manifest, names.CONNECTOR_LABEL) or "")
    return owners


async def _log(subject: Subject, pod: JobPod) -> str:
    context, cached = subject.context, subject.cached
    if pod.uid in cached.logs:
        return cached.logs[pod.uid]
    try:
        return await context.run(
            context.kube.log, subject.key.namespace, pod.name, JOB_CONTAINER, limit_bytes=_ANSWER_BYTES
        )
    except OperatorError as e:
        if isinstance(e, NotYet) and pod.started is None:
            return ""  # it has ended before its container started
        if pod.ended is not None and context.clock() - pod.ended.at > _LOG_PATIENCE:
            return ""  # the node does not return the log, so another pod is started
        raise
