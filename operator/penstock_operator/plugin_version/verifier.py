"""Has the PluginVersions of a release verified, a few at once."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from penstock.errors import ConfigError
from penstock_model.resources.plugin_offers import offer_of
from penstock_operator.connector.model.api_failures import cause
from penstock_operator.connector.model.persisted_state import JobMemory
from penstock_operator.connector.model.pod_status import JobPod, pod_of
from penstock_operator.connector.model.verdict import Kind, Verdict
from penstock_operator.context import Run
from penstock_operator.errors import Refused
from penstock_operator.job_slots import JobSlots
from penstock_operator.key import Key
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import POD
from penstock_operator.plugin_version.pod import labels_of, name_of, verifying_pod
from penstock_operator.plugin_version.verifying import Seen, Step, failed, step
from penstock_operator.reasons import ConditionType
from penstock_operator.settings import Settings

__all__ = ["Verifier"]

_AT_ONCE: Final = 4
"""Verifying pods of a release; less where `limits.jobPods` is less."""


class Verifier:
    """Verifies PluginVersions. Used in the event loop's thread only.

    Failures are remembered in this process alone: another operator tries again at once.

    Args:
        settings: of the release.
        run: runs a blocking call.
        wake: called with a PluginVersion that waited for its turn.
    """

    def __init__(self, settings: Settings, run: Run, wake: Callable[[Key], None]) -> None:
        self._settings = settings
        self._run = run
        self._slots = JobSlots(min(_AT_ONCE, settings.limits.job_pods), wake)
        self._failures: dict[Key, JobMemory] = {}
        self._decided: dict[Key, str] = {}
        self._open: set[Key] = set()

    async def verify(self, kube: Kube, key: Key, document: Mapping[str, Any], now: float) -> Step | None:
        """Do the next step for a PluginVersion, but for `Step.delete`: call `finish` once the status is written.

        Returns:
            None: it cannot be used, and no pod looks into its image.

        Raises:
            OperatorError: the API server did not do as asked.
        """
        try:
            offer = offer_of(document)
        except ConfigError:
            self.forget(key)
            return None
        self._open.add(key)
        seen = await self._see(kube, key, document, now)
        found = step(seen)
        if found.create is not None:
            try:
                with self._slots.making(f"{key.namespace}/{found.create}", key):
                    await self._run(kube.create, verifying_pod(found.create, document, offer, self._settings))
            except Refused as e:
                reason, remedy = cause(e)
                found = failed(seen, reason, "; ".join(filter(None, (e.answer or str(e), remedy))))
        if found.queued:
            self._slots.wait(key)
        else:
            self._slots.withdraw(key)
        if found.failure.attempts:
            self._failures[key] = found.failure
        else:
            self._failures.pop(key, None)
        return found

    async def finish(self, kube: Kube, key: Key, document: Mapping[str, Any], found: Step) -> None:
        """Delete the pods of a step, whose status is written."""
        if found.is_decided:
            self._decided[key] = document["metadata"]["uid"]
            self._open.discard(key)
        for pod in found.delete:
            await self._run(kube.delete, POD, key.namespace, pod.name, uid=pod.uid)
            self._slots.give_back(f"{key.namespace}/{pod.name}")

    def forget(self, key: Key) -> None:
        """The PluginVersion is gone, or cannot be used."""
        self._slots.living(key, frozenset())
        self._slots.withdraw(key)
        self._failures.pop(key, None)
        self._decided.pop(key, None)
        self._open.discard(key)

    def undecided(self) -> Collection[Key]:
        """Those that take slots or wait: where deletions were missed, look whether they are still there."""
        return tuple(self._open)

    async def _see(self, kube: Kube, key: Key, document: Mapping[str, Any], now: float) -> Seen:
        settings, name = self._settings, name_of(document, self._settings)
        labels = labels_of(document, settings)
        manifests = await self._run(kube.list, POD, key.namespace, labels=labels)
        pods = [p for p in (pod_of(m, now) for m in manifests) if isinstance(p, JobPod)]
        self._slots.living(key, frozenset(f"{key.namespace}/{p.name}" for p in pods if p.takes_slot))
        status, failure = document.get("status") or {}, self._failures.get(key, JobMemory())
        return Seen(
            name=name,
            pods=pods,
            runtime=settings.images.runtime,
            verified_by=str(status.get("verifiedBy") or ""),
            said=_said(status),
            is_decided=self._decided.get(key) == document["metadata"]["uid"],
            failure=failure if failure.key == name else JobMemory(),
            slot=self._slots.room(key),
            deadline=settings.job.deadline_seconds,
            node_timeout=settings.task.node_lost_seconds,
            now=now,
        )


def _said(status: Mapping[str, Any]) -> Verdict | None:
    found = {c.get("type"): c for c in status.get("conditions") or () if isinstance(c, Mapping)}
    ready = found.get(ConditionType.READY)
    if ready is None:
        return None
    kind = Kind.STALLED if ConditionType.STALLED in found else Kind.UNDER_WAY
    said = Verdict(kind, str(ready.get("reason", "")), str(ready.get("message", "")))
    return replace(said, kind=Kind.READY) if ready.get("status") == "True" else said
