"""Look up a Connector's plugin and policy, the plan that it requests, and the plans that are stored."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock_operator.connector.model.plan_hashes import has_changed_itself, inputs_hash, own_hash
from penstock_operator.connector.model.plans import Plan, PodSettings, plan_hash
from penstock_operator.connector.model.requested_plan import RequestedPlan
from penstock_operator.connector.model.resolutions import PluginResolution
from penstock_operator.connector.model.secret_changes import secrets_hash
from penstock_operator.connector.observe.plan_cache import PlanCache
from penstock_operator.connector.observe.secret_values import SecretValues
from penstock_operator.connector.observe.stored_plans import plans_of, readable_maps
from penstock_operator.connector.observe.subject import Subject
from penstock_operator.connector.policy import plugin_resolution, topic_policy_resolution
from penstock_operator.errors import NoSuchKind
from penstock_operator.kubernetes.kinds import PLUGIN_VERSION, POLICY, Kind

__all__ = ["look_up_plans"]


async def look_up_plans(
    subject: Subject, maps: Sequence[Mapping[str, Any]], secrets: SecretValues, cache: PlanCache
) -> tuple[RequestedPlan, tuple[Plan, ...]]:
    """Look up the requested plan and the stored plans.

    Args:
        subject: the Connector.
        maps: result of `plan_maps`.
        secrets: Secrets that it refers to.
        cache: cache of plans.

    Raises:
        OperatorError: a request to the API server failed.
    """
    connector, persisted, settings = subject.connector, subject.persisted, subject.context.settings

    async def stored(*hashes: str) -> tuple[Plan, ...]:
        readable = await readable_maps(maps, hashes, subject.uid, subject.key, subject.context, subject.cached)
        return await plans_of(subject.context, subject.key, readable, cache)

    of_canary = [] if persisted.canary is None else [persisted.canary.plan]
    running = sorted(await stored(persisted.plan, *of_canary), key=lambda p: p.hash != persisted.plan)
    last = next((p for p in running if p.hash == persisted.plan), None)
    plugin = plugin_resolution.resolve(connector, settings.worker, running, persisted.restarted)
    if plugin is None:  # not in the event loop's thread: there may be many PluginVersions, and each is validated
        there = await _listed(subject, PLUGIN_VERSION)
        plugin = await subject.context.run(
            plugin_resolution.resolve, connector, settings.worker, running, persisted.restarted, there
        )
    assert plugin is not None  # they have been listed
    plugin = _with_newer(subject, plugin)
    own = own_hash(connector, secrets.own, persisted.restarted, reconfiguration=subject.reconfiguration)
    own_toggled = own_hash(
        connector, secrets.own, persisted.restarted, toggled=True, reconfiguration=subject.reconfiguration
    )
    secrets_in_force = secrets_hash(connector, secrets.every, last, persisted.restarted)
    is_own_change = has_changed_itself(persisted.own_hash, own, own_toggled, last, secrets_in_force)
    policy = topic_policy_resolution.resolve(
        connector, await _listed(subject, POLICY), last, is_own_change=is_own_change
    )
    inputs = inputs_hash(
        connector,
        settings.worker,
        settings.images.runtime,
        secrets.every,
        persisted.restarted,
        last,
        plugin.mounts,
        policy_selects=policy.selects,
        reconfiguration=subject.reconfiguration,
    )
    pod_settings = PodSettings.of(settings, secrets.every.names)
    requested = RequestedPlan(
        hash=plan_hash(inputs, pod_settings, policy.effective, plugin.mounts),
        inputs_hash=inputs,
        pod_settings=pod_settings,
        own_hash=own,
        own_hash_toggled=own_toggled,
        secrets=secrets.every,
        secrets_in_force=secrets_in_force,
        reconfiguration=subject.reconfiguration,
        policy=policy,
        plugin=plugin,
    )
    return requested, await stored(persisted.plan, requested.hash, *of_canary)


def _with_newer(subject: Subject, plugin: PluginResolution) -> PluginResolution:
    """Add the newer PluginVersions; while the existing ones are unknown, keep those in the status."""
    if not plugin.mounts or plugin.problems:
        return plugin
    known = subject.context.plugins.of(subject.key.namespace)
    if known is None:
        return replace(plugin, newer=tuple((subject.document.get("status") or {}).get("newerPluginVersions") or ()))
    connector, worker = subject.connector, subject.context.settings.worker
    unseen = known.unverified
    verified = [o for o in known.offers if o.name not in unseen]
    passed_over = (
        plugin_resolution.passed_over(connector, worker, plugin.mounts, known.offers, unseen) if unseen else ()
    )
    newer = plugin_resolution.newer(connector, worker, plugin.mounts, verified)
    return replace(plugin, newer=newer, passed_over=passed_over)


async def _listed(subject: Subject, kind: Kind) -> list[dict[str, Any]]:
    """List the resources of this kind in the namespace; empty if their CRD is not installed."""
    context = subject.context
    try:
        return await context.run(context.kube.list, kind, subject.key.namespace)
    except NoSuchKind:
        return []
