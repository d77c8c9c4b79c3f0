"""Plans: when one is due, what belongs to it, and how it is kept in a ConfigMap. Pure.

A plan holds everything that its tasks' pods are made from but the Connector's own template: a task that is lost comes back
as it was, whatever is asked for by then. A plan belongs to everything that it depends on (`due`); equal inputs are never
planned twice.
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

__all__ = ["LifeOf", "Plan", "Shape", "asked", "due", "in_force", "is_other", "manifest", "own", "release", "stored"]

_ABOUT: Final = "plan.json"
_WHERE: Final = {"source": "records in the offsets topic", "sink": "its consumer group"}
"""Offsets, by the kind of connector."""
_IGNORED: Final = "ignored"
_UNSEEN: Final = "unseen"
"""Of secrets, in `own`."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a release and the references to Secrets give to a task's pod.

    Attributes:
        image: of the task's container.
        pull_policy, pull_secrets: how the image is had; running pods need neither.
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
        """What is asked for now."""
        images, task = settings.images, settings.task
        return cls(
            images.runtime, images.pull_policy, images.pull_secrets, _plain(task.resources), secrets,
            task.pod_security_context, task.security_context,
        )  # fmt: skip

    @property
    def contexts(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Both security contexts."""
        return self.pod_security_context, self.security_context

    @property
    def proved(self) -> tuple[Any, ...]:
        """What a pod must have started with before it is taken up."""
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
        hash: what it belongs to (`due`).
        kind, class_name, version: of the connector's plugin.
        tasks: the task specs, as texts of the ConfigMap.
        warnings: what the author should know.
        secrets: the hash of the secrets with which it was made, where a change of them restarts the tasks.
        created: seconds since 1970; 0: not stored yet.
        asked: what its tasks were split from (`asked`).
        shape: of its tasks' pods; None: an earlier release kept it, which did not write that down.
        restarted: the last token that restarted the connector when it was made.
        digests: of the task specs' texts, as they were when it was made: a later release may write them otherwise.
        earlier_kinds: other kinds that this Connector had before, whose offsets stand under its name.
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
        """The plan that a short pod made, which had that shape; after the last one."""
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
        """Of a task's spec."""
        return self.digests[task] if self.digests else _digests(self.tasks[task : task + 1])[0]

    def fence(self, connect_name: str) -> str:
        """Equal for plans whose tasks may take over from each other one by one, without shutting out all of them."""
        return names.digest(connect_name, self.kind, self.class_name, len(self.tasks))

    @property
    def left_behind(self) -> str:
        """What offsets of earlier kinds stand under its name and are not its own any more; empty: none."""
        return " and ".join(f"those of its time as a {k} ({_WHERE.get(k, 'its offsets')})" for k in self.earlier_kinds)

    def versions(self, task: int) -> dict[str, str]:
        """The plugin versions of a task, by place."""
        return {place: ref.version for place, ref in self.tasks[task].plugins.items()}


LifeOf = Callable[[Plan, int], str]
"""The hash of everything that the pod of a plan's task is made from (`render.pod_manifests.Maker.life`)."""


def due(asked_for: str, shape: Shape) -> str:
    """What a connector's tasks depend on but for its template, as a hash: it names the plan."""
    return names.digest(asked_for, shape.to_json())


def asked(
    connector: Connector, worker: Mapping[str, str], runtime_image: str, secrets: Secrets, restarted: str = "",
    last: "Plan | None" = None,
) -> str:  # fmt: skip
    """What splitting a connector into tasks depends on, as a hash: its plugin is asked again when it changes.

    Args:
        connector: the resource.
        worker: the worker configuration, as written.
        runtime_image: that plans and runs it.
        secrets: what its references name: a missing one is planned with, too, so that all that is wrong is told.
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
    """The hash of the secrets that a connector's tasks are to have; empty: nobody looks.

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
    """Of that, what is the Connector's own and not the release's: such a change waits for nobody (`is_other`).

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

    Secrets that were looked at under two keys of the release, or only once, cannot be compared: that they look otherwise
    is the release's doing.
    """
    (spec, parted, secrets), (spec_now, _, secrets_now) = before.partition(":"), now.partition(":")
    if before and not parted:  # one hash of all: an earlier operator's, of which nothing can be said
        return False
    if spec != spec_now or secrets == secrets_now:
        return spec != spec_now
    if _UNSEEN in (secrets, secrets_now):
        return False
    (key, seen, _), (key_now, seen_now, _) = secrets.partition("."), secrets_now.partition(".")
    return not (seen and seen_now and key != key_now)


def release(settings: Settings) -> str:
    """What a release gives to every plan, as a hash: with another one all Connectors are to be brought up to date."""
    return names.digest(dict(settings.worker), Shape.of(settings, ()).to_json())


def manifest(plan: Plan, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The ConfigMap that keeps a plan."""
    about = {
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
        "data": {_ABOUT: json.dumps(about, sort_keys=True), **data},
    }


def stored(config_map: Mapping[str, Any]) -> Plan | None:
    """The plan in a ConfigMap; None when it holds none that we can read (a newer operator's, say), or one made up.

    Whoever may write ConfigMaps may write one like it. Its hash, which status and operator know a plan by, is that of its
    shape: so nobody gives a pod an image, or rights, that the release did not.
    """
    data = config_map.get("data") or {}
    try:
        about = json.loads(data[_ABOUT])
        if about.get("shape") is not None and about["hash"] != names.digest(about["asked"], about["shape"]):
            return None
        tasks = tuple(TaskSpec.from_json(data[f"task-{n}.json"]) for n in range(about["tasks"]))
        shape = about.get("shape")
        digests = tuple(about.get("digests") or ())
        return Plan(
            about["hash"], about["kind"], about["class"], about["version"], tasks, tuple(about["warnings"]),
            about["secrets"], instant(config_map["metadata"].get("creationTimestamp")) or 0.0,
            # An earlier release split tasks for the same reasons, and kept neither a shape nor digests.
            about.get("asked") or about["hash"], None if shape is None else Shape.from_json(shape),
            about.get("restarted", ""), digests if len(digests) == len(tasks) else _digests(tasks),
            about.get("answersHealth") is True, tuple(about.get("earlierKinds") or ()),
        )  # fmt: skip
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError, ConfigError):  # whoever wrote it
        return None


def _digests(tasks: Sequence[TaskSpec]) -> tuple[str, ...]:
    return tuple(names.digest(t.to_json()) for t in tasks)


def _plain(resources: Resources) -> dict[str, dict[str, str]]:
    return {k: dict(v) for k, v in (("requests", resources.requests), ("limits", resources.limits)) if v}
