"""A Connector reconciled by the real `Reconciler`, against an API server and a status topic in memory."""

import base64
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from penstock_model.contracts.pod_layout import SECRETS_DIR
from penstock_model.resources.connector import Connector
from penstock_operator import names
from penstock_operator.connector.decide.decide import decide
from penstock_operator.connector.model.decision import Decision
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.plans import Plan, PodSettings
from penstock_operator.connector.model.secrets import references
from penstock_operator.connector.policy.template_policy import with_template_policy
from penstock_operator.connector.render.events import ConnectorEvent
from penstock_operator.connector.render.pod_manifests import PodManifests
from penstock_operator.key import Key
from penstock_operator.kubernetes.kinds import CONNECTOR, EVENT, SECRET, Kind
from penstock_operator.reasons import EventType
from penstock_operator.rollout.progress import Permission
from penstock_operator.settings import Settings

from ...fake_api_answers import Object
from ...fake_api_server import Request
from .cluster import KEY
from .job_pods import ClusterWithJobs
from .operator_process import OperatorProcess, does_anything
from .plugins import Plugin, good

__all__ = ["Killed", "World"]

_MOST_RUNS: Final = 2_000


class Killed(BaseException):
    """The operator was killed between two writes. No `except Exception` of the operator holds it up."""


class World(ClusterWithJobs):
    """One Connector, and everything around it, with the operator.

    `reconcile` is one call of the real `Reconciler`, with a real `Context` on an API server and a status topic in memory.
    Such a call makes several rounds, of which each observes, decides and applies, where a decision that was carried out
    allows the next at once (a plan was kept, a pod was refused). The decision that it returns is the last one, with what
    all rounds of the call did, and with the pause that the call asked for.

    Nothing else happens by itself: `tick` is the next thing that anyone else does.

    Args:
        spec: spec of the Connector, over the usual one.
        plugin: what it answers to a request for a plan.
        annotations: annotations of the Connector.
        secrets: the data of the Secrets of the namespace, by name.
        values: values of the release, over the usual ones; other values restart the operator.
        permission: to restart for a change of the release; None: what the real limiter says.
        finalizer: whether the Connector carries Penstock's.
        now: seconds since 1970.
        secrets_dir: where the operator's own pod has the Secrets of the worker configuration.
    """

    def __init__(
        self,
        spec: dict[str, Any] | None = None,
        *,
        plugin: Plugin = good,
        annotations: dict[str, str] | None = None,
        secrets: Mapping[str, Mapping[str, str]] | None = None,
        values: dict[str, Any] | None = None,
        permission: Permission | None = None,
        finalizer: bool = False,
        now: float = 1_800_000_000.0,
        secrets_dir: Path | str = SECRETS_DIR,
    ) -> None:
        self.spec: dict[str, Any] = {**(spec or {})}
        self.template = ""
        self.values = values or {}
        self._secrets_dir = secrets_dir
        super().__init__(
            plugin=plugin, release=self.settings.release, spec=self._whole_spec(), finalizer=finalizer, now=now
        )
        self.annotations = annotations or {}
        self.secrets: Mapping[str, Mapping[str, str]] = secrets or {}
        self.hmac_key = b"key of the release"
        self.permission = permission
        self.rival: Key | None = None
        """An older Connector that asks for the same Connect name."""
        self.slot = True
        """Whether others leave a job slot."""
        self.writes = 0
        self.status_writes = 0
        self.kill_after: int | None = None
        """The operator is killed when it has written so often."""
        self.kill_before: Kind | None = None
        """The operator is killed before it next creates an object of this kind."""
        self._last_decision: Decision | None = None
        self.server.before_write = self._before_write
        self.topic.before_write = self._count
        self.start_operator()

    # The operator

    def start_operator(self) -> None:
        """Start the operator, after the end of the one before."""
        self._started_with = self.values, self.hmac_key
        self._operator = OperatorProcess(
            KEY, self.server, self.topic, self.settings, self.hmac_key, lambda: self.permission, lambda: self.now
        )

    @property
    def settings(self) -> Settings:
        """Of the release: `values` over the usual ones."""
        return Settings.of(
            {
                "release": {"name": "penstock", "namespace": "penstock-system"},
                "worker": {"bootstrap.servers": "kafka:9092"},
                "images": {"runtime": "runtime:1"},
                **self.values,
            },
            self._secrets_dir,
        )

    def reconcile(self) -> Decision:
        """Let the operator reconcile the Connector once.

        Raises:
            Killed: the operator was killed; the next one is started.
        """
        self._synchronize()
        self._observed.update(self.pods)
        try:
            self._last_decision = self._operator.reconcile(self._last_decision)
        except Killed:
            self.kill_after = self.kill_before = None
            self.start_operator()
            raise
        return self._last_decision

    @property
    def wakes(self) -> int:
        """How often the rollout's limiter has had the Connector reconciled, since the start of this operator."""
        return len(self._operator.woken)

    def facts(self) -> Observation:
        """What the operator observes now."""
        self._synchronize()
        return self._operator.observe(self.document)

    def decide(self) -> Decision:
        """What the operator would decide now."""
        return decide(self.facts(), self.pod_hash)

    def settle(self, seconds: float = 600.0) -> Decision:
        """Reconcile until nothing follows and nobody does anything, or so much time has passed."""
        until = self.now + seconds
        for _ in range(_MOST_RUNS):
            try:
                decision = self.reconcile()
            except Killed:
                continue
            # A decision that was carried out must not come again.
            if decision.requeue_after == 0.0 or self.tick() or does_anything(decision):
                continue
            if decision.requeue_after is None or self.now + decision.requeue_after > until:
                return decision
            self.now += decision.requeue_after
        raise AssertionError(f"does not settle: {decision}")

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    # The Connector, and what users do

    @property
    def connector(self) -> Connector:
        """The Connector as the operator reads it."""
        self._synchronize()
        return Connector.draft(self.document)

    def change(self, **spec: Any) -> None:
        """A user changes the spec."""
        self.spec = {**self.spec, **spec}
        self._synchronize()

    def delete(self) -> None:
        """A user deletes the Connector."""
        self._synchronize()
        self.server.delete(CONNECTOR, *KEY)

    @property
    def events(self) -> list[ConnectorEvent]:
        """The Events of the Connector, in their order."""
        return [
            ConnectorEvent(EventType(e["type"]), e["reason"], e["note"], e["action"])
            for e in self.server.list(EVENT, KEY.namespace)
        ]

    def pod_hash(self, plan: Plan, task: int) -> str:
        return self.manifests.pod_hash(plan, task)

    @property
    def manifests(self) -> PodManifests:
        every = tuple(sorted({r.name for r in references(self.connector.spec.config, self.settings.worker)}))
        return PodManifests(
            with_template_policy(self.connector, self.settings), self.settings, PodSettings.of(self.settings, every)
        )

    def add_foreign_pod(self, name: str) -> None:
        """A pod of an earlier Connector of this name is still there."""
        labels = names.labels(
            operator=self.settings.release.label, connector=KEY.name, uid="earlier", role="task", task=0
        )
        self.server.add(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "spec": {"containers": []},
                "metadata": {"name": name, "namespace": KEY.namespace, "labels": labels},
            }
        )

    # What the operator writes

    def _before_write(self, request: Request) -> None:
        if request.kind is EVENT:
            return
        if request.kind is self.kill_before and request.method == "POST":
            raise Killed
        self._count()
        self.status_writes += request.kind is CONNECTOR and request.subresource == "status"

    def _count(self) -> None:
        if self.kill_after is not None and self.writes >= self.kill_after:
            raise Killed
        self.writes += 1

    # What tests set as attributes

    def _whole_spec(self) -> dict[str, Any]:
        spec = {"class": "FileStreamSource", "config": {"file": "/data/a", "topic": "orders"}, **self.spec}
        if self.template:
            spec["template"] = {**spec.get("template", {}), "nodeSelector": {"template": self.template}}
        return spec

    def _synchronize(self) -> None:
        """Have the API server, and the operator's watches, at what the attributes say."""
        if (self.values, self.hmac_key) != self._started_with:
            self.start_operator()
        self._synchronize_secrets()
        if self.server.get(CONNECTOR, *KEY) is not None:
            spec, annotations = self._whole_spec(), dict(self.annotations)

            def change(document: Object) -> None:
                document["spec"] = spec
                if annotations or "annotations" in document["metadata"]:
                    document["metadata"]["annotations"] = annotations

            self.server.edit(CONNECTOR, *KEY, change)
        self._operator.watch(self.server.get(CONNECTOR, *KEY), self.rival, slot=self.slot)
        self.hinder_unpullable()

    def _synchronize_secrets(self) -> None:
        found = self.server.list(SECRET, KEY.namespace)
        present = {s["metadata"]["name"]: s for s in found if "ownerReferences" not in s["metadata"]}
        for name, values in self.secrets.items():
            data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
            if name not in present:
                metadata = {"name": name, "namespace": KEY.namespace}
                self.server.add({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
            else:
                self.server.edit(SECRET, KEY.namespace, name, partial(dict.update, data=data))
        for name in present.keys() - self.secrets.keys():
            self.server.remove(SECRET, KEY.namespace, name)
