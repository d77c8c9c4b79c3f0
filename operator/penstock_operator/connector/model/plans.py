"""Plan: a validated configuration, split into tasks, and the settings of their pods. Pure.

A plan contains everything from which its task pods are created except the Connector's template, so that a lost task is
replaced by an identical one, even if the inputs have changed since. The hash of its inputs (`plan_hash`) identifies it;
equal inputs are never planned twice. `plan_hashes` computes the inputs, `plan_config_map` stores plans.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from penstock_model.contracts.job import PlanAnswer
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.contracts.task_spec import TaskSpec
from penstock_model.contracts.topic_policy import TopicPolicy
from penstock_operator import names
from penstock_operator.connector.model.pod_resources import task_resources
from penstock_operator.settings import Settings

__all__ = [
    "TOPIC_CREATION",
    "Plan",
    "PluginRequest",
    "PodHashOf",
    "PodSettings",
    "digests_of",
    "mounts_json",
    "plan_hash",
    "policy_json",
    "stamped",
]

_OFFSETS_OF: Final = {"source": "records in the offsets topic", "sink": "its consumer group"}
"""Location of the offsets of each kind of connector."""

TOPIC_CREATION: Final = "topic.creation.enable"
"""Property of the worker configuration: whether tasks create topics (KIP-158)."""

PluginRequest = tuple[str, str, str | None]
"""Place, class and version of a request for which a PluginVersion was chosen; version None: any."""


@dataclass(frozen=True, slots=True)
class PodSettings:
    """Settings of a task pod from the release and from references to Secrets.

    Attributes:
        image: image of the task's container.
        pull_policy, pull_secrets: how the image is pulled; running pods need neither.
        resources: resources of the container, unless the Connector's template sets others.
        secrets: names of the Secrets that are mounted.
        pod_security_context, security_context: security contexts of the pod and of the container.
    """

    image: str
    pull_policy: str = "IfNotPresent"
    pull_secrets: tuple[str, ...] = ()
    resources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    pod_security_context: Mapping[str, Any] = field(default_factory=dict)
    security_context: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings, secrets: tuple[str, ...]) -> "PodSettings":
        """Return the currently requested settings."""
        images, task = settings.images, settings.task
        return cls(
            images.runtime,
            images.pull_policy,
            images.pull_secrets,
            task_resources(settings),
            secrets,
            task.pod_security_context,
            task.security_context,
        )

    @property
    def contexts(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return both security contexts."""
        return self.pod_security_context, self.security_context

    @property
    def proved(self) -> tuple[Any, ...]:
        """Return the settings that task pods get only after a job pod has started with them."""
        return self.image, self.pull_policy, self.pull_secrets, *self.contexts

    def to_json(self) -> dict[str, Any]:
        """Return the JSON for the ConfigMap and for hashes."""
        return {
            "image": self.image,
            "pullPolicy": self.pull_policy,
            "pullSecrets": list(self.pull_secrets),
            "resources": {k: dict(v) for k, v in self.resources.items()},
            "secrets": list(self.secrets),
            "podSecurityContext": dict(self.pod_security_context),
            "securityContext": dict(self.security_context),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "PodSettings":
        """Return the settings in a JSON of `to_json`."""
        return cls(
            values["image"],
            values["pullPolicy"],
            tuple(values["pullSecrets"]),
            values["resources"],
            tuple(values["secrets"]),
            values["podSecurityContext"],
            values["securityContext"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Validated configuration, split into tasks, and the settings of their pods.

    Attributes:
        hash: hash of its inputs (`plan_hash`).
        kind, class_name, version: kind, class and version of the connector's plugin.
        tasks: the task specs, which are stored as JSON in the ConfigMap.
        warnings: warnings for the author of the configuration.
        secrets: hash of the Secrets with which it was made, if a change of them restarts the tasks.
        created: seconds since 1970; 0: not stored yet.
        inputs_hash: hash of the inputs that its tasks were split from (`plan_hashes.inputs_hash`).
        pod_settings: settings of its tasks' pods.
        restarted: the last token that had restarted the connector when it was made.
        digests: digests of the task specs' JSON when it was made; a later release may write another JSON.
        policy: the effective topic policy, which the task specs of a source contain.
        mounts: the images of PluginVersions in its pods, each with its places; all task specs contain them.
        plugin_requests: requests for which the mounts were chosen.
        split: hash of the properties that the plugin assigned to each task.
        earlier_kinds: other kinds that this Connector had before, whose offsets are kept under its name.
    """

    hash: str
    kind: str
    class_name: str
    version: str
    tasks: tuple[TaskSpec, ...]
    pod_settings: PodSettings
    digests: tuple[str, ...]
    inputs_hash: str = ""
    warnings: tuple[str, ...] = ()
    secrets: str = ""
    created: float = 0.0
    restarted: str = ""
    earlier_kinds: tuple[str, ...] = ()
    policy: TopicPolicy | None = None
    mounts: tuple[PluginMount, ...] = ()
    plugin_requests: tuple[PluginRequest, ...] = ()
    split: str = ""

    @classmethod
    def of(
        cls,
        inputs_hash: str,
        pod_settings: PodSettings,
        answer: PlanAnswer,
        warnings: tuple[str, ...],
        secrets: str | None,
        restarted: str = "",
        last: "Plan | None" = None,
        policy: TopicPolicy | None = None,
        mounts: tuple[PluginMount, ...] = (),
        plugin_requests: tuple[PluginRequest, ...] = (),
    ) -> "Plan":
        """Return the plan in the answer of a job pod with these settings and mounts; `last` is the previous plan.

        Policy and mounts are always those of the operator, not those in the answer, which a plugin can influence.
        """
        before = () if last is None else (*last.earlier_kinds, last.kind)
        tasks = stamped(answer.tasks, policy, mounts)
        return cls(
            hash=plan_hash(inputs_hash, pod_settings, policy, mounts),
            kind=answer.kind,
            class_name=answer.class_name,
            version=answer.version,
            tasks=tasks,
            pod_settings=pod_settings,
            digests=digests_of(tasks),
            inputs_hash=inputs_hash,
            warnings=warnings,
            secrets=secrets or "",
            restarted=restarted,
            earlier_kinds=tuple(sorted({*before} - {answer.kind})),
            policy=policy,
            mounts=mounts,
            plugin_requests=plugin_requests,
            split=answer.split,
        )

    def revised(self, pod_settings: PodSettings, policy: TopicPolicy | None) -> "Plan":
        """Return a plan of the same tasks with other pod settings or another policy."""
        tasks = stamped(self.tasks, policy, self.mounts)
        return replace(
            self,
            hash=plan_hash(self.inputs_hash, pod_settings, policy, self.mounts),
            pod_settings=pod_settings,
            policy=policy,
            tasks=tasks,
            digests=self.digests if tasks == self.tasks else digests_of(tasks),
            created=0.0,
        )

    def without_topic_creation(self) -> "Plan":
        """Return a plan with topic creation disabled in the tasks' worker configuration, or this plan if it already is.

        The hash of the inputs also changes, so that no other plan is revised from this one.
        """
        if all(t.worker.get(TOPIC_CREATION, "").strip().lower() == "false" for t in self.tasks):
            return self
        tasks = tuple(t.model_copy(update={"worker": {**t.worker, TOPIC_CREATION: "false"}}) for t in self.tasks)
        inputs = names.digest(self.inputs_hash, {TOPIC_CREATION: "false"})
        return replace(
            self,
            hash=plan_hash(inputs, self.pod_settings, self.policy, self.mounts),
            inputs_hash=inputs,
            tasks=tasks,
            digests=digests_of(tasks),
            created=0.0,
        )

    def fence(self, connect_name: str) -> str:
        """Return a string that is equal for plans whose tasks may replace each other one by one, without fencing all.

        Each of several tasks of a source reads its part. If the plugin gives them other properties, a part may move to
        another task, which must not start while the old one reads it; Kafka Connect also fences for each such change
        (KIP-618). The partitions of a sink are assigned by its group, and a single task cannot conflict with another one.
        """
        is_split = self.kind == "source" and len(self.tasks) > 1 and self.split
        return names.digest(
            connect_name, self.kind, self.class_name, len(self.tasks), *([self.split] if is_split else [])
        )

    @property
    def left_behind(self) -> str:
        """Return a description of offsets of earlier kinds that are kept under its name but not used; empty: none."""
        return " and ".join(
            f"those of its time as a {k} ({_OFFSETS_OF.get(k, 'its offsets')})" for k in self.earlier_kinds
        )

    def plugin_version(self, place: str) -> str | None:
        """Return the PluginVersion that provides the plugin of a place; None: it is a plugin of the runtime."""
        return next((m.name for m in self.mounts if place in m.places), None)

    @property
    def plugin_versions(self) -> tuple[str, ...]:
        """Return the PluginVersions whose images its pods mount."""
        return tuple(dict.fromkeys(m.name for m in self.mounts))

    def versions(self, task: int) -> dict[str, str]:
        """Return the plugin versions of a task, by place."""
        return {place: ref.version for place, ref in self.tasks[task].plugins.items()}


PodHashOf = Callable[[Plan, int], str]
"""Function that returns the hash of everything from which the pod of a plan's task is created (`render.pod_hash`)."""


def plan_hash(
    inputs_hash: str, pod_settings: PodSettings, policy: TopicPolicy | None = None, mounts: Sequence[PluginMount] = ()
) -> str:
    """Return the hash of all inputs of a connector's tasks except its template, which identifies the plan."""
    parts = [*([] if policy is None else [policy_json(policy)]), *([{"mounts": mounts_json(mounts)}] if mounts else [])]
    return names.digest(inputs_hash, pod_settings.to_json(), *parts)


def policy_json(policy: TopicPolicy) -> dict[str, Any]:
    """Return the JSON for the ConfigMap and for hashes. Defaults are omitted, so that new fields do not change a hash."""
    return policy.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def mounts_json(mounts: Sequence[PluginMount]) -> list[dict[str, Any]]:
    """Return the JSON for the ConfigMap and for hashes, without defaults."""
    return [m.model_dump(mode="json", by_alias=True, exclude_defaults=True) for m in mounts]


def stamped(
    tasks: Sequence[TaskSpec], policy: TopicPolicy | None, mounts: Sequence[PluginMount]
) -> tuple[TaskSpec, ...]:
    """Return these tasks with exactly this policy and these mounts. Sinks get no policy, since they create no topics."""
    return tuple(
        t.model_copy(update={"topic_policy": policy if t.kind == "source" else None}).with_mounts(mounts) for t in tasks
    )


def digests_of(tasks: Sequence[TaskSpec]) -> tuple[str, ...]:
    """Return the digests of task specs."""
    return tuple(names.digest(t.to_json()) for t in tasks)
