"""Look up the ConfigMaps with a Connector's plans. Users may have put the same labels on other ConfigMaps."""

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from penstock_operator import names
from penstock_operator.connector.model.plan_config_map import plan_of
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.observe.connector_cache import CachedConnector
from penstock_operator.connector.observe.plan_cache import CachedPlan, PlanCache
from penstock_operator.context import Context
from penstock_operator.key import Key
from penstock_operator.kubernetes.kinds import CONFIG_MAP

__all__ = ["plan_maps", "plans_of", "readable_maps"]

log = logging.getLogger(__name__)
_MOST_LISTED: Final = 32
"""Maximum number of listed ConfigMaps with the labels of a Connector's plans; the operator keeps two or three."""
_MOST_READ: Final = 8
"""Maximum number of these ConfigMaps that are read."""


def plan_maps(context: Context, key: Key, uid: str, name: str | None = None) -> list[dict[str, Any]]:
    """List the metadata of at most `_MOST_LISTED` ConfigMaps with the labels of this Connector's plans, by any author.

    Args:
        context: the API server.
        key: key of the Connector.
        uid: uid of the Connector.
        name: name of the only ConfigMap to list; None: all.
    """
    labels = {names.UID_LABEL: uid, names.ROLE_LABEL: "plan"}
    fields = "" if name is None else f"metadata.name={name}"
    return context.kube.list(CONFIG_MAP, key.namespace, labels=labels, fields=fields, bodies=False, most=_MOST_LISTED)


async def readable_maps(
    maps: Sequence[Mapping[str, Any]],
    hashes: Collection[str],
    uid: str,
    key: Key,
    context: Context,
    cached: CachedConnector,
) -> list[Mapping[str, Any]]:
    """Return the ConfigMaps of this operator to read: those of the plans with these hashes, and the newest others.

    Args:
        maps: result of `plan_maps`.
        hashes: hashes of plans; if the list is full, their ConfigMaps are looked up by name.
        uid: uid of the Connector.
        key: key of the Connector.
        context: the API server and the release.
        cached: cache of the Connector.
    """
    wanted = {names.plan_name(key.name, plan_hash) for plan_hash in hashes if plan_hash}
    is_crowded = len(maps) >= _MOST_LISTED
    if is_crowded and not cached.has_too_many_plans:
        log.warning(
            "%s: %d or more ConfigMaps have the labels of its plans, although the operator creates only two; most are not "
            "read: remove those that the operator did not create, with label %s=%s",
            key,
            len(maps),
            names.UID_LABEL,
            uid,
        )
    cached.has_too_many_plans = is_crowded
    by_name = {m["metadata"]["name"]: m for m in maps}
    for name in sorted(wanted - by_name.keys()) if is_crowded else ():
        by_name |= {m["metadata"]["name"]: m for m in await context.run(plan_maps, context, key, uid, name)}

    def rank(manifest: Mapping[str, Any]) -> tuple[bool, str]:
        return manifest["metadata"]["name"] in wanted, str(manifest["metadata"].get("creationTimestamp") or "")

    ours = [m for m in by_name.values() if names.label(m, names.OPERATOR_LABEL) == context.settings.release.label]
    return sorted(ours, key=rank, reverse=True)[:_MOST_READ]


async def plans_of(context: Context, key: Key, maps: Sequence[Mapping[str, Any]], cache: PlanCache) -> tuple[Plan, ...]:
    """Return the plans in these ConfigMaps, the oldest first. Each is read once, since it may be large and is immutable."""
    known, kept = cache.of(key), dict[str, CachedPlan]()
    for listed in maps:
        uid = listed["metadata"]["uid"]
        if uid in known:
            kept[uid] = known[uid]
            continue
        manifest = await context.run(context.kube.get, CONFIG_MAP, key.namespace, listed["metadata"]["name"])
        if manifest is not None and manifest["metadata"]["uid"] == uid:  # otherwise it was deleted or recreated
            size = sum(len(str(text)) for text in (manifest.get("data") or {}).values())
            kept[uid] = CachedPlan(plan_of(manifest), size)
    cache.keep(key, kept)
    return tuple(sorted((c.plan for c in kept.values() if c.plan is not None), key=lambda p: p.created))
