"""Decides which Connector owns a Connect name. Pure.

A Connect name names a consumer group, offsets and status records: a Connector that has the name of another one can reset,
stop and read what the other one runs. So the oldest Connector that asks for a name owns it, and any other one does nothing
in Kafka.
"""

import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from penstock_model.contracts.task_reports import Claim
from penstock_operator.key import Key
from penstock_operator.names import digest
from penstock_operator.reasons import Reason
from penstock_operator.settings import Release

__all__ = [
    "Age",
    "NameRefusal",
    "age_of",
    "claimant",
    "conflict",
    "gone_claimant",
    "is_allowed",
    "is_claim_of",
    "is_claim_of_twin",
    "may_be_claim_of",
    "older",
    "owner_mark",
    "reserved",
    "twin_claimant",
]

_GROUP: Final = "consumer.override.group.id"
_OF_SINKS: Final = "connect-"
_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_PART: Final = re.compile(r"([a-z0-9][a-z0-9-]{0,62})?")
"""The beginning of the name of a namespace."""


class Age(NamedTuple):
    """The age of a Connector, which decides who owns a name: the smaller one is the older one, by uid within a second."""

    created: str
    uid: str


class NameRefusal(NamedTuple):
    """Why a Connector does not own its Connect name: the reason of a condition, and a sentence."""

    reason: str
    message: str


def age_of(metadata: Mapping[str, Any]) -> Age:
    """The age in the metadata of a Connector."""
    return Age(str(metadata.get("creationTimestamp") or ""), str(metadata.get("uid") or ""))


def is_allowed(key: Key, connect_name: str, allowed: Collection[str] = ()) -> bool:
    """Whether a Connector may have a name at all.

    `<namespace>.<rest>` is for Connectors of that namespace, whether the namespace exists or not, since those are the
    default names.

    Args:
        key: the Connector.
        connect_name: what it asks for.
        allowed: exceptions of the release, as `<namespace>/<Connect name>`, with `*` for any characters.
    """
    namespace, dot, _ = connect_name.partition(".")
    if not dot or namespace == key.namespace or not _NAMESPACE.fullmatch(namespace):
        return True
    return any(fnmatchcase(f"{key.namespace}/{connect_name}", pattern) for pattern in allowed)


def reserved(
    key: Key, connect_name: str, config: Mapping[str, str], allowed: Collection[str] = ()
) -> NameRefusal | None:
    """The refusal of a Connect name, or of the name of a consumer group, that is for another namespace.

    Args:
        key: the Connector.
        connect_name: what it asks for.
        config: its configuration, which may name the group of a sink; that group is deleted when offsets are reset.
        allowed: as in `is_allowed`.
    """
    group = config.get(_GROUP, "").strip()
    if _may_be_reserved_group(key, group, allowed):
        return NameRefusal(
            Reason.NAME_RESERVED,
            f"spec.config.{_GROUP}: {group} holds a variable and may come to be the group of another namespace's Connector; "
            f"write it out, or begin it with {_OF_SINKS}{key.namespace}.",
        )
    names = {"spec.connectName": connect_name}
    if group.startswith(_OF_SINKS):
        names[f"spec.config.{_GROUP}"] = group.removeprefix(_OF_SINKS)
    for field, name in names.items():
        if not is_allowed(key, name, allowed):
            namespace = name.partition(".")[0]
            return NameRefusal(
                Reason.NAME_RESERVED,
                f"{field}: {name} belongs to namespace {namespace}, whose Connectors have names that begin with "
                f"{namespace}. in Kafka; make this one there, or give it another name, or have {key.namespace}/{name} "
                f"added to allowedConnectNames of the release",
            )
    return None


def _may_be_reserved_group(key: Key, group: str, allowed: Collection[str]) -> bool:
    """Whether a group with a variable may be one that this Connector may not have; variables are resolved in pods only."""
    text, variable, _ = group.partition("${")
    if not variable:
        return False
    if not text.startswith(_OF_SINKS):
        return _OF_SINKS.startswith(text)
    name = text.removeprefix(_OF_SINKS)
    whatever_follows = [pattern for pattern in allowed if pattern.endswith("*")]
    if "." in name:
        return not is_allowed(key, name, whatever_follows)
    return bool(_PART.fullmatch(name)) and not any(fnmatchcase(f"{key.namespace}/{name}", p) for p in whatever_follows)


def conflict(connect_name: str, who: str, remedy: str = "") -> NameRefusal:
    """The refusal of a name that an older Connector has.

    Args:
        connect_name: the name.
        who: the older Connector.
        remedy: what else a user can do; begins with a semicolon.
    """
    return NameRefusal(
        Reason.NAME_CONFLICT,
        f"the name {connect_name} in Kafka belongs to {who}, which is older; give this one another name, or another "
        f"spec.connectName{remedy}",
    )


def older(own: Age, others: Mapping[Key, Age], claim: Claim | None) -> Key | Claim | None:
    """The oldest Connector that asks for a name, if it is older than this one: a key or a claim; None: this one owns it.

    Args:
        own: the age of the Connector that asks.
        others: the ages of Connectors in this cluster that ask for it too, and may have it.
        claim: in Kafka, of a Connector that this operator does not see; None: there is none.
    """
    oldest_seen = min(((age, key) for key, age in others.items()), default=None)
    oldest = own if oldest_seen is None else min(own, oldest_seen[0])
    if claim is not None and Age(claim.created, claim.connector_uid) < oldest:
        return claim
    return oldest_seen[1] if oldest_seen is not None and oldest_seen[0] < own else None


def owner_mark(key: Key, uid: str, release: Release) -> str:
    """The mark of a Connector in the records of its preparations; of all Connectors that use one Kafka no other has it."""
    return digest(release.operator, release.cluster, key.namespace, uid)


def is_claim_of(claim: Claim, release: Release) -> bool:
    """Whether this release wrote a claim, in this cluster."""
    names_this_release = (claim.operator, claim.cluster) == (release.operator, release.cluster)
    return names_this_release and not is_claim_of_twin(claim, release)


def is_claim_of_twin(claim: Claim, release: Release) -> bool:
    """Whether a twin wrote a claim: a release of the same name in another cluster with the same id, of now or of before."""
    names_this_release = (claim.operator, claim.cluster) == (release.operator, release.cluster)
    return names_this_release and claim.installation not in (None, release.installation)


def may_be_claim_of(claim: Claim, release: Release) -> bool:
    """Whether this release may have written a claim: those of older releases do not name the cluster, or the operator."""
    return claim.operator in ("", release.operator) and claim.cluster in (None, release.cluster)


def claimant(claim: Claim, release: Release, *, is_seen: bool = True) -> tuple[str, str]:
    """The Connector of a claim, in words, and what to do where that Connector is gone.

    Args:
        claim: of the name.
        release: this one.
        is_seen: whether this operator may look that Connector up, if it is of this cluster.
    """
    who = f"Connector {claim.namespace}/{claim.name} of operator {claim.operator}"
    if claim.cluster is None:
        return who, ""
    if claim.cluster == release.cluster:
        return who, "" if is_seen else (
            f"; this operator may not see whether that Connector is still there: where it is gone, allow the operator to "
            f"get Connectors in namespace {claim.namespace} (rbac.endingNamespaces), and the name is taken over"
        )
    remedy = f"; where that cluster is no more, set clusterId of this release to {claim.cluster}"
    return f"{who} in cluster {claim.cluster}", remedy


def twin_claimant(claim: Claim, seconds: float) -> tuple[str, str]:
    """The Connector of a claim from a cluster with the same id, in words, and what to do.

    Args:
        claim: of the name.
        seconds: after which the name is taken over.
    """
    of = f"operator {claim.operator} in another cluster with clusterId {claim.cluster}"
    return f"Connector {claim.namespace}/{claim.name} of {of}", (
        "; two clusters that live must not have the same clusterId: give this release another one; where that cluster is no "
        f"more, the name is taken over by itself when nothing was heard of it for {seconds:.0f} s"
    )


def gone_claimant(claim: Claim, seconds: float) -> tuple[str, str]:
    """The deleted Connector of a claim, in words, and what follows.

    Args:
        claim: of the name.
        seconds: after which the name is taken over.
    """
    who = f"Connector {claim.namespace}/{claim.name} of operator {claim.operator}"
    return who, f"; that Connector is gone, and the name is taken over when it was for {seconds:.0f} s"
