"""Hashes of a plan's inputs, of the Connector's own part of them, and of the release: they decide when to plan. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.contracts.task_reports import Report
from penstock_model.resources.connector import Connector
from penstock_operator import names
from penstock_operator.connector.model.plans import TOPIC_CREATION, Plan, PodSettings, mounts_json
from penstock_operator.connector.model.secret_changes import secrets_hash
from penstock_operator.connector.model.secrets import Secrets
from penstock_operator.settings import Settings

__all__ = [
    "has_changed_itself",
    "inputs_hash",
    "is_own_change",
    "latest_request",
    "own_hash",
    "release_hash",
]

_IGNORED: Final = "ignored"
_ADMIN: Final = "admin.override."
_UNSEEN: Final = "unseen"
"""Value in `own_hash` instead of the hash of Secrets that are not read."""


def inputs_hash(
    connector: Connector,
    worker: Mapping[str, str],
    runtime_image: str,
    secrets: Secrets,
    restarted: str = "",
    last: Plan | None = None,
    mounts: Sequence[PluginMount] = (),
    *,
    policy_selects: bool = False,
    reconfiguration: str = "",
) -> str:
    """Return the hash of all inputs of a connector's split into tasks. If it changes, the plugin splits the work again.

    Args:
        connector: the resource.
        worker: the worker configuration, with unresolved variables.
        runtime_image: runtime image of its job pods and task pods.
        secrets: Secrets that it refers to; missing ones count too, so that all problems are reported together.
        restarted: the last token that requested a restart of the connector, which also splits again.
        last: the plan of its tasks; None: there is none.
        mounts: the images of PluginVersions, since other code may split differently.
        policy_selects: whether a TopicCreationPolicy that it does not name applies.
        reconfiguration: the last request of its plugin for a task reconfiguration (`Report.asked`).
    """
    spec = connector.spec
    return names.digest(
        spec.class_name,
        spec.version,
        dict(spec.config),
        spec.tasks_max,
        connector.connect_name,
        dict(worker),
        runtime_image,
        spec.for_task(),
        secrets_hash(connector, secrets, last, restarted) or None,
        secrets.missing,
        restarted,
        # Only the policy's name, since the planning pod checks the fields next to it. Its contents need no planning pod.
        *([] if spec.topic_creation_policy_ref is None else [spec.topic_creation_policy_ref.name]),
        *([{"mounts": mounts_json(mounts)}] if mounts else []),
        # Only if the planning pod checks something that depends on it.
        *([{"policySelects": True}] if policy_selects and _minds_policies(connector, worker) else []),
        *([{"asked": reconfiguration}] if reconfiguration else []),
    )


def split_from(asked: str) -> str:
    """Return the state of the data source in a plugin's reconfiguration request, without the time of the request."""
    return asked.partition(" ")[2]


def latest_request(before: str, reports: Iterable[Report], *, is_refused: bool = False) -> str:
    """Return the last request of a plugin for a task reconfiguration; a repeated request changes nothing.

    Args:
        before: the last known request.
        reports: reports of its tasks. Those of replaced tasks no longer have a request, so `before` is kept.
        is_refused: whether the configuration was refused since then: a repeated request counts, as the cause may be fixed.
    """
    requests = (r.asked for r in reports if r.asked is not None and r.asked > before)
    return max((a for a in requests if is_refused or split_from(a) != split_from(before)), default=before)


def _minds_policies(connector: Connector, worker: Mapping[str, str]) -> bool:
    """Return whether a policy affects the plan: the connector overrides the admin client, or topic creation is disabled."""
    is_off = worker.get(TOPIC_CREATION, "true").strip().lower() != "true"
    return is_off or any(name.startswith(_ADMIN) for name in connector.spec.config)


def own_hash(
    connector: Connector, secrets: Secrets, restarted: str = "", *, toggled: bool = False, reconfiguration: str = ""
) -> str:
    """Return the hash of the Connector's own inputs, without the release's. Changes of them do not wait for the rollout.

    Args:
        connector: the resource.
        secrets: Secrets that the Connector's own configuration refers to.
        restarted: as for `inputs_hash`.
        toggled: as if `onSecretChange` had its other value.
        reconfiguration: as for `inputs_hash`.
    """
    spec = inputs_hash(connector, {}, "", replace(secrets, hash=None), restarted, reconfiguration=reconfiguration)
    if (connector.spec.on_secret_change == "Restart") == toggled:  # noqa: S105 (no password)
        return f"{spec}:{_IGNORED}"
    return f"{spec}:{_UNSEEN if secrets.hash is None else f'{secrets.key}.{secrets.hash}'}"


def is_own_change(before: str, now: str) -> bool:
    """Return whether two values of `own_hash` differ in the Connector's own inputs.

    Hashes of Secrets with different keys of the release, or a missing hash, cannot be compared: the difference then counts
    as one of the release.
    """
    (spec, _, secrets), (spec_now, _, secrets_now) = before.partition(":"), now.partition(":")
    if spec != spec_now or secrets == secrets_now:
        return spec != spec_now
    if _UNSEEN in (secrets, secrets_now):
        return False
    (key, seen, _), (key_now, seen_now, _) = secrets.partition("."), secrets_now.partition(".")
    return not (seen and seen_now and key != key_now)


def has_changed_itself(before: str, now: str, toggled: str, last: Plan | None, secrets_in_force: str) -> bool:
    """Return whether the Connector's own part of the requested inputs differs from that of its tasks.

    A change of only `onSecretChange` does not count while the tasks have the Secrets that they should have. If the inputs
    of the tasks are unknown, a difference counts as one of the release, whose restarts are limited.

    Args:
        before: `own_hash` of the inputs of its tasks; empty: the status was lost.
        now: `own_hash` of the requested inputs.
        toggled: `own_hash` of the requested inputs with the other value of `onSecretChange`.
        last: the plan of its tasks; None: there is none.
        secrets_in_force: hash of the Secrets that its tasks should have.
    """
    if not before and last is not None:
        return False
    if before == toggled and last is not None and last.secrets == secrets_in_force:
        return False
    return is_own_change(before, now)


def release_hash(settings: Settings) -> str:
    """Return the hash of everything that a release contributes to every plan; if it changes, all Connectors are updated."""
    return names.digest(dict(settings.worker), PodSettings.of(settings, ()).to_json())
