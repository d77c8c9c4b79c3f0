"""Plans: when one is due, what belongs to it, and how it is kept in a ConfigMap. Pure.

A plan holds everything that its tasks' pods are made from but the Connector's own template, so that a lost task is replaced
by an equal one, whatever is asked for by then. The hash of its inputs (`due`) names it; equal inputs are never planned
twice.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from penstock.errors import ConfigError
from penstock_model.contracts.job import PlanAnswer
from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.resources.connector import Connector
from penstock_operator.connector.observe.secrets import Secrets
from penstock_operator.connector.render import names
from penstock_operator.kubernetes.times import instant
from penstock_operator.settings import Resources, Settings

__all__ = ["Plan", "PodHashOf", "Shape", "asked", "due", "in_force", "is_other", "manifest", "own", "release", "stored"]

_PLAN_KEY: Final = "plan.json"
_OFFSETS_OF: Final = {"source": "records in the offsets topic", "sink": "its consumer group"}
"""Where the offsets of each kind of connector are."""
_IGNORED: Final = "ignored"
_UNSEEN: Final = "unseen"
"""In the place of the hash of the Secrets, in `own`."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a release and the references to Secrets give to a task's pod.

    Attributes:
        image: of the task's container.
        pull_policy, pull_secrets: how the image is pulled; running pods need neither.
        resources: of the container, where the Connector's template says nothing else.
        secrets: names of the Secrets that are mounted.
        pod_security_context, security_context: of the pod, and of the container.
    """

    image: str
    pull_policy: str = "IfNotPresent"
    pull_secrets: tuple[str, ...] = ()
    resources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    pod_security_context: Mapping[str, Any] = field(default_factory=dict)
    security_context: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings, secrets: tuple[str, ...]) -> "Shape":
        """The shape that is asked for now."""
        images, task = settings.images, settings.task
        return cls(
            images.runtime, images.pull_policy, images.pull_secrets, _resources_json(task.resources), secrets,
            task.pod_security_context, task.security_context,
        )  # fmt: skip

    @property
    def contexts(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Both security contexts."""
        return self.pod_security_context, self.security_context

    @property
    def proved(self) -> tuple[Any, ...]:
        """The part with which a job pod must have started before task pods get it."""
        return self.image, self.pull_policy, self.pull_secrets, *self.contexts

    def to_json(self) -> dict[str, Any]:
        """For the ConfigMap, and for hashes."""
        return {
            "image": self.image, "pullPolicy": self.pull_policy, "pullSecrets": list(self.pull_secrets),
            "resources": {k: dict(v) for k, v in self.resources.items()}, "secrets": list(self.secrets),
            "podSecurityContext": dict(self.pod_security_context), "securityContext": dict(self.security_context),
        }  # fmt: skip

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Shape":
        """Read it back."""
        return cls(
            values["image"], values["pullPolicy"], tuple(values["pullSecrets"]), values["resources"],
            tuple(values["secrets"]), values["podSecurityContext"], values["securityContext"],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    """A validated configuration, split into tasks, and the shape of their pods.

    Attributes:
        hash: of its inputs (`due`).
        kind, class_name, version: of the connector's plugin.
        tasks: the task specs, as texts of the ConfigMap.
        warnings: what the author should know.
        secrets: the hash of the secrets with which it was made, where a change of them restarts the tasks.
        created: seconds since 1970; 0: not stored yet.
        asked: what its tasks were split from (`asked`).
        shape: of its tasks' pods; None: an earlier release kept it, which did not write that down.
        restarted: the last token that restarted the connector when it was made.
        digests: of the task specs' texts, as they were when it was made: a later release may write them otherwise.
        earlier_kinds: other kinds of which this Connector was before, whose offsets are kept under its name.
        answers_health: whether the runtime that made it answers for its tasks' health; an earlier release's does not.
    """

    hash: str
    kind: str
    class_name: str
    version: str
    tasks: tuple[TaskSpec, ...]
    warnings: tuple[str, ...] = ()
    secrets: str = ""
    created: float = 0.0
    asked: str = ""
    shape: Shape | None = None
    restarted: str = ""
    digests: tuple[str, ...] = ()
    answers_health: bool = False
    earlier_kinds: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, asked: str, shape: Shape, answer: PlanAnswer, warnings: tuple[str, ...], secrets: str | None,
        restarted: str = "", last: "Plan | None" = None,
    ) -> "Plan":  # fmt: skip
        """The plan in the answer of a job pod that had this shape; `last` is the plan before it."""
        before = () if last is None else (*last.earlier_kinds, last.kind)
        return cls(
            due(asked, shape), answer.kind, answer.class_name, answer.version, answer.tasks, warnings, secrets or "",
            asked=asked, shape=shape, restarted=restarted, digests=_digests(answer.tasks),
            answers_health=answer.answers_health,
            earlier_kinds=tuple(sorted({*before} - {answer.kind})),
        )  # fmt: skip

    def shaped(self, shape: Shape) -> "Plan":
        """The same tasks in pods of another shape."""
        return replace(self, hash=due(self.asked, shape), shape=shape, created=0.0)

    def digest(self, task: int) -> str:
        """The digest of a task's spec."""
        return self.digests[task] if self.digests else _digests(self.tasks[task : task + 1])[0]

    def fence(self, connect_name: str) -> str:
        """Equal for plans whose tasks may replace each other one by one, without fencing all of them first."""
        return names.digest(connect_name, self.kind, self.class_name, len(self.tasks))

    @property
    def left_behind(self) -> str:
        """Which offsets of earlier kinds are kept under its name, and not used by this kind; empty: none."""
        return " and ".join(
            f"those of its time as a {k} ({_OFFSETS_OF.get(k, 'its offsets')})" for k in self.earlier_kinds
        )

    def versions(self, task: int) -> dict[str, str]:
        """The plugin versions of a task, by place."""
        return {place: ref.version for place, ref in self.tasks[task].plugins.items()}


PodHashOf = Callable[[Plan, int], str]
"""The hash of everything that the pod of a plan's task is made from (`render.pod_hash`)."""


def due(asked_for: str, shape: Shape) -> str:
    """The hash of all inputs of a connector's tasks but for its template: it names the plan."""
    return names.digest(asked_for, shape.to_json())


def asked(
    connector: Connector, worker: Mapping[str, str], runtime_image: str, secrets: Secrets, restarted: str = "",
    last: "Plan | None" = None,
) -> str:  # fmt: skip
    """The hash of what splitting a connector into tasks depends on: its plugin is asked again when it changes.

    Args:
        connector: the resource.
        worker: the worker configuration, as written.
        runtime_image: of its job pods and task pods.
        secrets: what its references name; it is planned with missing ones, too, so that all problems are reported at once.
        restarted: the last token that asked for a restart of the connector: that plans again, too.
        last: the plan that its tasks are made from.
    """
    spec = connector.spec
    return names.digest(
        spec.class_name, spec.version, dict(spec.config), spec.tasks_max, connector.connect_name, dict(worker),
        runtime_image, spec.spark.model_dump(mode="json"),
        in_force(connector, secrets, last, restarted) or None, secrets.missing, restarted,
    )  # fmt: skip


def in_force(connector: Connector, secrets: Secrets, last: "Plan | None", restarted: str = "") -> str:
    """The hash of the Secrets that a connector's tasks are to have; empty: Secrets are not read.

    With `onSecretChange: Ignore`, or where the release does not look at Secrets, it stays that of the last plan, so that
    neither a changed Secret nor a change of either setting restarts anything; and so it does where no Secret is named, so
    that another key of the release does not. A restart of the connector takes up what the Secrets hold by then.
    """
    is_seen = bool(secrets.names) and (secrets.hash is not None or bool(secrets.missing))
    follows = connector.spec.on_secret_change == "Restart" and is_seen  # noqa: S105 (no password)
    if follows or last is None or last.restarted != restarted:
        return secrets.hash or ""
    return last.secrets


def own(connector: Connector, secrets: Secrets, restarted: str = "", *, toggled: bool = False) -> str:
    """The part of `asked` that is the Connector's own and not the release's: its changes wait for no rollout (`is_other`).

    Args:
        connector: the resource.
        secrets: what the references of its own configuration name.
        restarted: as for `asked`.
        toggled: as if `onSecretChange` had its other value.
    """
    spec = asked(connector, {}, "", replace(secrets, hash=None), restarted)
    if (connector.spec.on_secret_change == "Restart") == toggled:  # noqa: S105 (no password)
        return f"{spec}:{_IGNORED}"
    return f"{spec}:{_UNSEEN if secrets.hash is None else f'{secrets.key}.{secrets.hash}'}"


def is_other(before: str, now: str) -> bool:
    """Whether two values of `own` differ in what is the Connector's own.

    Secrets that were hashed with two keys of the release, or only once, cannot be compared: the difference then counts as
    one of the release.
    """
    (spec, parted, secrets), (spec_now, _, secrets_now) = before.partition(":"), now.partition(":")
    if before and not parted:  # one hash of all, by an earlier operator: its parts cannot be compared
        return False
    if spec != spec_now or secrets == secrets_now:
        return spec != spec_now
    if _UNSEEN in (secrets, secrets_now):
        return False
    (key, seen, _), (key_now, seen_now, _) = secrets.partition("."), secrets_now.partition(".")
    return not (seen and seen_now and key != key_now)


def release(settings: Settings) -> str:
    """The hash of what a release gives to every plan: with another one all Connectors are to be brought up to date."""
    return names.digest(dict(settings.worker), Shape.of(settings, ()).to_json())


def manifest(plan: Plan, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The ConfigMap that keeps a plan."""
    header = {
        "hash": plan.hash, "kind": plan.kind, "class": plan.class_name, "version": plan.version,
        "tasks": len(plan.tasks), "warnings": list(plan.warnings), "secrets": plan.secrets, "asked": plan.asked,
        "shape": None if plan.shape is None else plan.shape.to_json(), "restarted": plan.restarted,
        "digests": list(plan.digests), "answersHealth": plan.answers_health,
        "earlierKinds": list(plan.earlier_kinds),
    }  # fmt: skip
    data = {f"task-{n}.json": spec.to_json() for n, spec in enumerate(plan.tasks)}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": dict(metadata),
        "immutable": True,
        "data": {_PLAN_KEY: json.dumps(header, sort_keys=True), **data},
    }


def stored(config_map: Mapping[str, Any]) -> Plan | None:
    """The plan in a ConfigMap; None: it cannot be read, or its hash is not that of its shape.

    Users who may write ConfigMaps may write one that looks like a plan. The hash, by which status and operator know a plan,
    covers its shape, so that such a ConfigMap cannot give a pod an image, or rights, that the release did not give.
    """
    data = config_map.get("data") or {}
    try:
        header = json.loads(data[_PLAN_KEY])
        if header.get("shape") is not None and header["hash"] != names.digest(header["asked"], header["shape"]):
            return None
        tasks = tuple(TaskSpec.from_json(data[f"task-{n}.json"]) for n in range(header["tasks"]))
        shape = header.get("shape")
        digests = tuple(header.get("digests") or ())
        return Plan(
            header["hash"], header["kind"], header["class"], header["version"], tasks, tuple(header["warnings"]),
            header["secrets"], instant(config_map["metadata"].get("creationTimestamp")) or 0.0,
            # An earlier release named plans by what is `asked` now, and kept neither a shape nor digests.
            header.get("asked") or header["hash"], None if shape is None else Shape.from_json(shape),
            header.get("restarted", ""), digests if len(digests) == len(tasks) else _digests(tasks),
            header.get("answersHealth") is True, tuple(header.get("earlierKinds") or ()),
        )  # fmt: skip
    except (
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        RecursionError,
        ConfigError,
    ):  # not written by this operator
        return None


def _digests(tasks: Sequence[TaskSpec]) -> tuple[str, ...]:
    return tuple(names.digest(t.to_json()) for t in tasks)


def _resources_json(resources: Resources) -> dict[str, dict[str, str]]:
    return {k: dict(v) for k, v in (("requests", resources.requests), ("limits", resources.limits)) if v}
