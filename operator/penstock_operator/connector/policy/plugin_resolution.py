"""Resolve the PluginVersions of a Connector (KIP-891), and keep them until others are requested. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from penstock.errors import Problem
from penstock_model.connect.plugin_chain import CONNECTOR, AskedPlugin, asked_plugins
from penstock_model.connect.plugin_names import is_built_in
from penstock_model.connect.version_messages import newest_first, not_found, reported_once, there_are
from penstock_model.connect.versions import Version, VersionRange
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources.connector import Connector
from penstock_model.resources.plugin_offers import NOT_INSPECTED, class_names, is_unread, offered, offering, unverified
from penstock_model.resources.version_selection import ResolvedPlugins, resolve_plugins
from penstock_operator.connector.model.plans import Plan, PluginRequest
from penstock_operator.connector.model.resolutions import PluginResolution
from penstock_operator.reasons import Reason

__all__ = ["newer", "passed_over", "resolve"]

_UNREAD: Final = (
    "waiting for a pod to check whether the Java plugins of {1} contain {0}; `kubectl get pluginversions` shows any problem "
    "of the pod; fix it, or delete a PluginVersion that is not needed"
)
_UNVERIFIED: Final = (
    "cannot use PluginVersion {0}, which offers {1}: {2} (`kubectl describe pluginversion {0}` shows more); {3}"
)
_CORRECT_IMAGE: Final = (
    "correct its image, or name the pull Secret in images.pullSecrets of the release or in the namespace's default "
    "ServiceAccount, since the verifying pod does not use spec.template"
)


def resolve(
    connector: Connector,
    worker: Mapping[str, str],
    plans: Sequence[Plan],
    restarted: str,
    found: Iterable[Mapping[str, Any]] | None = None,
) -> PluginResolution | None:
    """Resolve the plugins of a Connector with the namespace's PluginVersions; None: these must be listed first.

    Neither a newer version nor the deletion of one changes the plugin of a place until another class or version is
    requested, or a restart with `penstock.dev/restart`. A plugin in the connector's distribution has the connector's
    version. A PluginVersion that has not been verified is used only if exactly its version is requested, or if the
    Connector's plans already run it.

    Args:
        connector: the resource.
        worker: the worker configuration, with unresolved variables.
        plans: the plans of its tasks: the last good one, then that of a canary.
        restarted: the last token that requested a restart of the connector.
        found: the PluginVersions of the namespace; None: they have not been listed.
    """
    asked = asked_plugins(connector.spec.class_name, connector.spec.version, connector.spec.config, worker)
    requests = tuple((a.place, a.name, a.version) for a in asked)
    first = sorted(plans, key=lambda p: p.plugin_requests != requests)
    kept = _by_place([p for p in first if p.restarted == restarted], lambda r: r in requests)
    same = [a for a in asked if a.place in kept]
    changed = [a for a in asked if a not in same and not is_built_in(a.kind, a.name)]
    if found is None and changed:
        return None
    classes = {r[:2] for r in requests}
    before = _by_place(plans, lambda r: r[:2] in classes)
    names = {a.name for a in asked}
    there = [d for d in found or () if names & class_names(d)]
    offers, unseen = offered(there), unverified(there)
    proven = {(m.name, m.image, m.version) for p in plans for m in p.mounts}
    usable = [
        o
        for o in offers
        if o.name not in unseen or (o.name, o.image, o.version) in proven or any(_pins(a, o) for a in changed)
    ]
    resolved = resolve_plugins(
        [a for a in asked if a in changed or kept.get(a.place) is not None],
        usable,
        kept={place: mount for place, mount in kept.items() if mount is not None},
        before={place: mount for place, mount in before.items() if mount is not None},
    )
    resolved = _with_waits(resolved, changed, offers, usable, unseen)
    chosen = {place for mount in resolved.mounts for place in mount.places}
    if unread := sorted(d["metadata"]["name"] for d in found or () if is_unread(d)):
        waits = (
            Problem(a.type_property, _UNREAD.format(a.name, ", ".join(unread)))
            for a in changed
            if a.place not in chosen
        )
        resolved = resolved.waiting_for(waits)
    resolution = PluginResolution(
        resolved.mounts,
        requests=requests,
        unoffered={a.type_property: a.name for a in asked if a.place not in chosen and not is_built_in(a.kind, a.name)},
    )
    if not resolved.problems:
        return resolution
    last = plans[0] if plans else None
    is_same_class = last is not None and {r[:2] for r in last.plugin_requests} & {(CONNECTOR, asked[0].name)}
    return replace(
        resolution,
        mounts=last.mounts if last is not None and is_same_class else (),
        problems=tuple(map(str, reported_once(resolved.problems))),
        is_missing=resolved.is_missing,
    )


def _with_waits(
    resolved: ResolvedPlugins,
    changed: Sequence[AskedPlugin],
    offers: Sequence[PluginMount],
    usable: Sequence[PluginMount],
    unseen: Mapping[str, str],
) -> ResolvedPlugins:
    """Return the resolution in which places without a plugin wait for the newest matching one that is not verified yet."""
    others = [o for o in offers if o not in usable]
    chosen = {place for mount in resolved.mounts for place in mount.places}
    waits: dict[str, tuple[str, Problem]] = {}
    for asked in changed:
        there = offering(asked, others)
        fits = [o for o in there if _allows(asked, o)]
        if asked.place in chosen or not there:
            continue
        if fits:
            newest = max(fits, key=lambda o: Version(o.version))
            text = _unverified(asked, newest, unseen[newest.name], offering(asked, usable))
            waits[asked.place] = asked.version_property, Problem(asked.type_property, text)
        elif all(p.property != asked.version_property for p in resolved.problems):
            unfit = ", ".join(reversed(newest_first(o.version for o in there)))
            text = f"{not_found(asked.name, _range(asked), [])}; not verified: [{unfit}]"
            waits[asked.place] = "", Problem(asked.version_property, text)
    answered = {version for version, _ in waits.values()}
    rest = tuple(p for p in resolved.problems if p.property not in answered)
    is_missing = resolved.is_missing and bool(rest)
    return ResolvedPlugins(resolved.mounts, rest, is_missing).waiting_for(p for _, p in waits.values())


def _unverified(asked: AskedPlugin, newest: PluginMount, why: str, verified: Sequence[PluginMount]) -> str:
    """Return why the newest matching version cannot be used, and the remedy."""
    if why == Reason.IMAGE_PULL_BACK_OFF:
        cause, remedy = f"it is not verified, since its image cannot be pulled: {why}", _CORRECT_IMAGE
    elif why == NOT_INSPECTED:
        cause, remedy = f"it is not verified yet, since {why}", "the connector starts once it is"
    else:
        cause = f"it is not verified: {why.removesuffix('.')}"
        remedy = f"correct the cause, or set {asked.version_property}: {newest.version} to use it nevertheless"
    others = f"; verified, but not in the requested range: {there_are(o.version for o in verified)}" if verified else ""
    return f"{_UNVERIFIED.format(newest.name, asked.name, cause, remedy)}{others}"


def _range(asked: AskedPlugin) -> VersionRange | None:
    try:
        return VersionRange.requested(asked.version)
    except ValueError:  # reported where it is resolved
        return None


def _allows(asked: AskedPlugin, offer: PluginMount) -> bool:
    versions = _range(asked)
    return versions is None or offer.version in versions


def _pins(asked: AskedPlugin, offer: PluginMount) -> bool:
    """Return whether exactly this version is requested, not a range."""
    versions = _range(asked)
    if versions is None or not offering(asked, [offer]):
        return False
    return any(r.lower == r.upper == Version(offer.version) for r in versions.restrictions if r.lower is not None)


def _by_place(plans: Sequence[Plan], counts: Callable[[PluginRequest], bool]) -> dict[str, PluginMount | None]:
    """Return the plugin of each place, from the first plan that has a request for it for which `counts` is true.

    None means a plugin of the runtime.
    """
    found: dict[str, PluginMount | None] = {}
    for plan in plans:
        mounts = {place: mount for mount in plan.mounts for place in mount.places}
        for request in plan.plugin_requests:
            if counts(request):
                found.setdefault(request[0], mounts.get(request[0]))
    return found


def newer(
    connector: Connector, worker: Mapping[str, str], mounts: Sequence[PluginMount], offers: Sequence[PluginMount]
) -> tuple[str, ...]:
    """Return the names of newer PluginVersions in the requested ranges, which a restart would use.

    Args:
        connector: the resource.
        worker: the worker configuration, with unresolved variables.
        mounts: the images that it runs.
        offers: the available images.
    """
    return tuple(sorted({m.name for m in _taken_up(connector, worker, mounts, offers)}))


def passed_over(
    connector: Connector,
    worker: Mapping[str, str],
    mounts: Sequence[PluginMount],
    offers: Sequence[PluginMount],
    unseen: Mapping[str, str],
) -> tuple[str, ...]:
    """Return a message for each newer PluginVersion that is not used because it has not been verified.

    Args:
        connector: the resource.
        worker: the worker configuration, with unresolved variables.
        mounts: the images that it runs.
        offers: the available images, including those that have not been verified.
        unseen: by name, why a PluginVersion has not been verified.
    """
    found = {m.name: m.version for m in _taken_up(connector, worker, mounts, offers) if m.name in unseen}
    return tuple(
        f"PluginVersion {name} has the newer version {version}, but is not used until it is verified: {unseen[name]}"
        for name, version in sorted(found.items())
    )


def _taken_up(
    connector: Connector, worker: Mapping[str, str], mounts: Sequence[PluginMount], offers: Sequence[PluginMount]
) -> tuple[PluginMount, ...]:
    """Return the images with newer versions that a restart would use from these offers."""
    running = {place: mount for mount in mounts for place in mount.places}
    asked = asked_plugins(connector.spec.class_name, connector.spec.version, connector.spec.config, worker)
    asked = tuple(a for a in asked if a.place in running or not is_built_in(a.kind, a.name))
    resolved = resolve_plugins(asked, offers, before=running)
    if resolved.problems:  # a restart would change nothing
        return ()
    return tuple(m for m in resolved.mounts for p in m.places if p in running and _is_newer(m, running[p]))


def _is_newer(mount: PluginMount, running: PluginMount) -> bool:
    return Version(mount.version) > Version(running.version)
