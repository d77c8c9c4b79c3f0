"""Verify the PluginVersions of a release, a few in parallel, and publish their configuration definitions."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from penstock.errors import ConfigError
from penstock_model.contracts.definitions import LARGEST, find_line
from penstock_model.contracts.pod_layout import JOB_CONTAINER
from penstock_model.resources.plugin_offers import offer_of
from penstock_model.resources.plugin_version import PublishedDefinitions
from penstock_operator.connector.kubernetes_writes import put_config_map
from penstock_operator.connector.model.api_failures import cause
from penstock_operator.connector.model.persisted_state import FailedJob
from penstock_operator.connector.model.pod_status import JobPod, pod_of
from penstock_operator.connector.model.verdict import Kind, Verdict
from penstock_operator.context import Run
from penstock_operator.errors import OperatorError, Refused
from penstock_operator.job_slots import JobSlots
from penstock_operator.key import Key
from penstock_operator.kubernetes.client import Kube
from penstock_operator.kubernetes.kinds import CONFIG_MAP, POD
from penstock_operator.plugin_verification.definitions_map import definitions_labels, definitions_map
from penstock_operator.plugin_verification.verification_step import Seen, Step, failed, published, step, unpublished
from penstock_operator.plugin_verification.verifying_pod import labels_of, name_of, verifying_pod
from penstock_operator.reasons import ConditionType
from penstock_operator.settings import Settings

__all__ = ["Verifier"]

_AT_ONCE: Final = 4
"""Maximum number of verifying pods of a release, if `limits.jobPods` is not lower."""
_LOG_BYTES: Final = 2 * LARGEST
"""Maximum bytes of a pod's log: definitions in base64, and earlier output of the image, limited to 64 KiB by the pod."""


class Verifier:
    """Verifier of PluginVersions. Used only in the event loop's thread.

    Failures are kept only in memory: another operator retries immediately.

    Args:
        settings: settings of the release.
        run: runs a blocking call.
        wake: called with a waiting PluginVersion when there is a slot for it.
    """

    def __init__(self, settings: Settings, run: Run, wake: Callable[[Key], None]) -> None:
        self._settings = settings
        self._run = run
        self._slots = JobSlots(min(_AT_ONCE, settings.limits.job_pods), wake)
        self._failures: dict[Key, FailedJob] = {}
        self._decided: dict[Key, str] = {}
        self._open: set[Key] = set()

    async def verify(self, kube: Kube, key: Key, document: Mapping[str, Any], now: float) -> Step | None:
        """Carry out the next step for a PluginVersion, except deletions: call `finish` after writing the status.

        Returns:
            The step; None: the PluginVersion cannot be used, and its image is not inspected.

        Raises:
            OperatorError: a request to the API server failed.
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
        if found.publish is not None:
            found = await self._publish(kube, key, document, seen, found)
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
        """Delete the pods of a step after its status was written, and the definitions that the status no longer names."""
        if found.is_decided:
            self._decided[key] = document["metadata"]["uid"]
            self._open.discard(key)
        for pod in found.delete:
            await self._run(kube.delete, POD, key.namespace, pod.name, uid=pod.uid)
            self._slots.give_back(f"{key.namespace}/{pod.name}")
        if found.finding is not None:
            labels, where = definitions_labels(document), found.finding.definitions
            for listed in await self._run(kube.list, CONFIG_MAP, key.namespace, labels=labels, bodies=False):
                name = listed["metadata"]["name"]
                if where is None or name != where.config_map:
                    await self._run(kube.delete, CONFIG_MAP, key.namespace, name, uid=listed["metadata"]["uid"])

    def forget(self, key: Key) -> None:
        """Forget a PluginVersion that no longer exists, or cannot be used."""
        self._slots.living(key, frozenset())
        self._slots.withdraw(key)
        self._failures.pop(key, None)
        self._decided.pop(key, None)
        self._open.discard(key)

    def undecided(self) -> Collection[Key]:
        """Return the PluginVersions that occupy slots or wait, to check whether they exist if deletions were missed."""
        return tuple(self._open)

    async def _publish(self, kube: Kube, key: Key, document: Mapping[str, Any], seen: Seen, found: Step) -> Step:
        """Copy the logged definitions of a pod into a ConfigMap, if they match the digest in its termination message."""
        assert found.publish is not None
        pod, digest = found.publish
        try:
            log = await self._run(kube.log, key.namespace, pod, JOB_CONTAINER, limit_bytes=_LOG_BYTES)
            content = find_line(log, digest)
            if content is None:
                return unpublished(seen, found, f"the log of pod {pod} does not contain all of them")
            manifest = definitions_map(document, content, digest)
            await put_config_map(key, manifest, kube, self._run)
        except OperatorError as e:
            return unpublished(seen, found, str(e))
        return published(found, PublishedDefinitions(config_map=manifest["metadata"]["name"], digest=digest))

    async def _is_lost(self, kube: Kube, key: Key, status: Mapping[str, Any]) -> bool:
        named = (status.get("definitions") or {}).get("configMap")
        if not named:
            return False
        fields = f"metadata.name={named}"
        return not await self._run(kube.list, CONFIG_MAP, key.namespace, fields=fields, bodies=False)

    async def _see(self, kube: Kube, key: Key, document: Mapping[str, Any], now: float) -> Seen:
        settings, name = self._settings, name_of(document, self._settings)
        labels = labels_of(document, settings)
        manifests = await self._run(kube.list, POD, key.namespace, labels=labels)
        pods = [p for p in (pod_of(m, now) for m in manifests) if isinstance(p, JobPod)]
        self._slots.living(key, frozenset(f"{key.namespace}/{p.name}" for p in pods if p.takes_slot))
        status, failure = document.get("status") or {}, self._failures.get(key, FailedJob())
        return Seen(
            name=name,
            pods=pods,
            runtime=settings.images.runtime,
            verified_by=str(status.get("verifiedBy") or ""),
            said=_said(status),
            is_lost=await self._is_lost(kube, key, status),
            is_decided=self._decided.get(key) == document["metadata"]["uid"],
            failure=failure if failure.key == name else FailedJob(),
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
    is_stalled = found.get(ConditionType.STALLED, {}).get("status") == "True"
    said = Verdict(
        Kind.STALLED if is_stalled else Kind.IN_PROGRESS, str(ready.get("reason", "")), str(ready.get("message", ""))
    )
    return replace(said, kind=Kind.READY) if ready.get("status") == "True" else said
