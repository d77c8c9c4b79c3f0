"""Which PluginVersions a Connector runs (KIP-891): resolved once, and kept for as long as nobody asks for others. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock_model.connect.plugin_chain import CONNECTOR, asked_plugins
from penstock_model.connect.plugin_names import is_built_in
from penstock_model.connect.versions import Version
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources.connector import Connector
from penstock_model.resources.plugin_offers import class_names, offered
from penstock_model.resources.plugin_resolution import resolve_plugins
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.resolutions import PluginResolution

__all__ = ["newer", "resolve"]


def resolve(
    connector: Connector,
    worker: Mapping[str, str],
    plans: Sequence[Plan],
    restarted: str,
    found: Iterable[Mapping[str, Any]] | None = None,
) -> PluginResolution | None:
    """What the PluginVersions of the namespace come to for a Connector; None: they must be looked at first.

    Neither a newer version nor a deleted one changes what a place runs, until its class, its version or
    `penstock.dev/restart` asks anew. A plugin of the connector's own
    distribution goes with the connector.

    Args:
        connector: the resource.
        worker: the worker configuration as written.
        plans: that its tasks are made from: the last good one, and that of a canary.
        restarted: the last token that asked for a restart of the connector.
        found: the PluginVersions of the namespace; None: they have not been looked at.
    """
    asked = asked_plugins(connector.spec.class_name, connector.spec.version, connector.spec.config, worker)
    requests = tuple((a.place, a.name, a.version) for a in asked)
    last = next((p for p in plans if p.plugin_requests == requests), plans[0] if plans else None)
    before = {} if last is None else {(place, name): version for place, name, version in last.plugin_requests}
    mounts = {} if last is None else {place: mount for mount in last.mounts for place in mount.places}
    is_asked_anew = last is None or last.restarted != restarted
    same = [a for a in asked if not is_asked_anew and before.get((a.place, a.name), ...) == a.version]
    changed = [a for a in asked if a not in same and not is_built_in(a.kind, a.name)]
    if found is None and changed:
        return None
    names = {a.name for a in asked}
    resolved = resolve_plugins(
        [a for a in asked if a in changed or (a in same and a.place in mounts)],
        offered(d for d in found or () if names & class_names(d.get("spec"))),
        kept={a.place: mounts[a.place] for a in same if a.place in mounts},
        before={a.place: mounts[a.place] for a in asked if a.place in mounts and (a.place, a.name) in before},
    )
    chosen = {place for mount in resolved.mounts for place in mount.places}
    resolution = PluginResolution(
        resolved.mounts,
        requests=requests,
        unoffered={a.type_property: a.name for a in asked if a.place not in chosen and not is_built_in(a.kind, a.name)},
    )
    if not resolved.problems:
        return resolution
    is_same_class = any(a.place == CONNECTOR and (a.place, a.name) in before for a in asked)
    return replace(
        resolution,
        mounts=last.mounts if last is not None and is_same_class else (),
        problems=tuple(map(str, resolved.problems)),
        is_missing=resolved.is_missing,
    )


def newer(
    connector: Connector, worker: Mapping[str, str], mounts: Sequence[PluginMount], offers: Sequence[PluginMount]
) -> tuple[str, ...]:
    """The PluginVersions that a restart would take up since they are newer and in the ranges that are asked for.

    Args:
        connector: the resource.
        worker: the worker configuration as written.
        mounts: what it runs.
        offers: what there is.
    """
    running = {place: mount for mount in mounts for place in mount.places}
    asked = asked_plugins(connector.spec.class_name, connector.spec.version, connector.spec.config, worker)
    asked = tuple(a for a in asked if a.place in running or not is_built_in(a.kind, a.name))
    resolved = resolve_plugins(asked, offers, before=running)
    if resolved.problems:  # a restart would change nothing
        return ()
    taken = (m for m in resolved.mounts for p in m.places if p in running and _is_newer(m, running[p]))
    return tuple(sorted({m.name for m in taken}))


def _is_newer(mount: PluginMount, running: PluginMount) -> bool:
    return Version(mount.version) > Version(running.version)
