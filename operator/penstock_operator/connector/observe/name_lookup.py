"""Look up whether a Connector owns its Connect name, and the names under which a deleted Connector left records."""

import logging
from collections.abc import Mapping
from typing import Any, Final

from penstock_model.contracts.task_reports import Claim, claim_key
from penstock_model.resources.connector import Connector
from penstock_operator import name_ownership
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.connector.observe.connector_cache import CachedConnector
from penstock_operator.context import Context
from penstock_operator.errors import Refused, Unavailable
from penstock_operator.key import Key
from penstock_operator.kubernetes.kinds import CONNECTOR
from penstock_operator.name_ownership import NameRefusal
from penstock_operator.reasons import ConditionType, Reason

__all__ = ["left_behind", "name_refusal"]

log = logging.getLogger(__name__)
_GONE_FOR: Final = 60.0
"""Seconds for which the owner of a name must have been missing before its claim, made by another release, is ignored."""
_ASK_AGAIN: Final = 600.0
"""Seconds after which another cluster with this cluster's id is queried again, to find out whether it still exists."""


async def name_refusal(
    connector: Connector,
    document: Mapping[str, Any],
    key: Key,
    context: Context,
    persisted: PersistedState,
    cached: CachedConnector,
) -> NameRefusal | None:
    """Return why the Connector does not own its Connect name: it is reserved, or an older one has it, here or in Kafka."""
    name, status = connector.connect_name, context.status
    release, allowed = context.settings.release, context.settings.allowed_connect_names
    if (reserved := name_ownership.reserved(key, name, connector.spec.config, allowed)) is not None:
        return reserved
    if not status.caught_up and persisted.reason == Reason.NAME_CONFLICT:  # claims cannot be read yet
        return NameRefusal(Reason.NAME_CONFLICT, str(persisted.conditions[ConditionType.READY].get("message", "")))
    own, connectors = name_ownership.age_of(document["metadata"]), context.connectors
    others = {
        k: age
        for k, age in connectors.claimants(name).items()
        if k != key and name_ownership.is_allowed(k, name, allowed)
    }
    claim = status.claim(name)
    if claim is not None and connectors.has(claim.connector_uid):
        claim = None
    if (refusal := await _twin_refusal(own, name, claim, persisted, context, cached)) is not None:
        return refusal
    owner = name_ownership.older(own, others, claim)
    if isinstance(owner, Claim):
        exists: bool | None = True
        if owner.cluster == release.cluster:
            exists = await _exists(owner, context)
        if exists is not False:
            return name_ownership.conflict(name, *name_ownership.claimant(owner, release, is_seen=exists is not None))
        # Its own release removes the claim once its pods are gone; a release that was uninstalled never does.
        if not name_ownership.is_claim_of(owner, release):
            uid, since = cached.owner_gone
            is_read = status.caught_up and status.trouble is None  # otherwise the name may have another claim
            if uid != owner.connector_uid or not is_read:
                since = context.clock()
                cached.owner_gone = owner.connector_uid, since
            if context.clock() - since < _GONE_FOR:
                return name_ownership.conflict(name, *name_ownership.gone_claimant(owner, _GONE_FOR))
        owner = name_ownership.older(own, others, None)
    return None if owner is None else name_ownership.conflict(name, f"Connector {owner}")


async def _twin_refusal(
    own: name_ownership.Age,
    name: str,
    claim: Claim | None,
    persisted: PersistedState,
    context: Context,
    cached: CachedConnector,
) -> NameRefusal | None:
    """Return a refusal if the name belongs to another cluster with this cluster's id; None: it does not.

    The other cluster is queried by removing its claim: an operator that runs there, of this release or an earlier one,
    writes the claim again immediately. A cluster that was replaced by this one does not.
    """
    now, asked = context.clock(), cached.twin_asked
    if claim is not None and name_ownership.is_claim_of_twin(claim, context.settings.release):
        if persisted.epoch is not None and own < name_ownership.Age(claim.created, claim.connector_uid):
            return None  # the other Connector is younger, and gives up the name when it reads this one's claim
        if asked is None or asked[0] != claim or now - asked[1] > _ASK_AGAIN:
            try:
                await context.run(context.status.write, [(claim_key(name), None)])
                cached.twin_asked = claim, now
            except Unavailable as e:
                log.debug("Cannot remove the claim of %s: %s", name, e)
        return name_ownership.conflict(name, *name_ownership.twin_claimant(claim, _GONE_FOR))
    if asked is not None and claim is None:
        is_read = context.status.caught_up and context.status.trouble is None
        since = asked[1] if is_read else now
        cached.twin_asked = asked[0], since
        if now - since < _GONE_FOR:
            return name_ownership.conflict(name, *name_ownership.twin_claimant(asked[0], _GONE_FOR))
    cached.twin_asked = None
    return None


async def _exists(claim: Claim, context: Context) -> bool | None:
    """Return whether the Connector of a claim of this cluster exists; None: the operator lacks permission to check."""
    try:
        document = await context.run(context.kube.get, CONNECTOR, claim.namespace, claim.name)
    except Refused:  # in a namespace that no longer belongs to this release
        return None
    return document is not None and document["metadata"]["uid"] == claim.connector_uid


def left_behind(context: Context, key: Key, cached: CachedConnector) -> tuple[str, ...]:
    """Return the Connect names under which a deleted Connector left records, unless another Connector uses the name.

    These are names that it claimed, and names without a claim that have reports of its uid. Records under a name that it
    requested but did not own never belong to it. A Connector that waits for the name removes the rest.
    """
    status, release = context.status, context.settings.release
    uid, own_name = cached.owned_name
    names = set()
    for name in {own_name, *status.claimed(*key, uid)}:
        claim = status.claim(name)
        if claim is None:
            is_its = name == own_name and any(r.connector_uid == uid for r in status.reports(name).values())
        else:
            is_its_key = name_ownership.is_claim_of(claim, release) and (claim.namespace, claim.name) == key
            is_its = is_its_key or (uid != "" and claim.connector_uid == uid)
        if is_its and not set(context.connectors.named(name)) - {key}:
            names.add(name)
    return tuple(sorted(names))
