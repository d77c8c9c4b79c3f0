"""Decide which Connector owns a Connect name. Pure.

A Connect name identifies a consumer group, offsets and status records: a Connector with the name of another one could read
and reset the other's offsets, and stop its tasks. So the oldest Connector that requests a name owns it, and the others do
nothing in Kafka.
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
    "older",
    "owner_mark",
    "reserved",
    "twin_claimant",
]

_GROUP: Final = "consumer.override.group.id"
_OF_SINKS: Final = "connect-"
_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_PART: Final = re.compile(r"([a-z0-9][a-z0-9-]{0,62})?")
"""Prefix of a namespace's name."""


class Age(NamedTuple):
    """Age of a Connector, which decides who owns a name: the smaller is the older; within a second, the uid decides."""

    created: str
    uid: str


class NameRefusal(NamedTuple):
    """Reason and message of the condition if a Connector does not own its Connect name."""

    reason: str
    message: str


def age_of(metadata: Mapping[str, Any]) -> Age:
    """Return the age from the metadata of a Connector."""
    return Age(str(metadata.get("creationTimestamp") or ""), str(metadata.get("uid") or ""))


def is_allowed(key: Key, connect_name: str, allowed: Collection[str] = ()) -> bool:
    """Return whether a Connector may have a Connect name, regardless of other Connectors.

    `<namespace>.<rest>` is for Connectors of that namespace, whether the namespace exists or not, since those are the
    default names.

    Args:
        key: the Connector.
        connect_name: the name that it requests.
        allowed: exceptions of the release, as `<namespace>/<Connect name>`, with `*` for any characters.
    """
    namespace, dot, _ = connect_name.partition(".")
    if not dot or namespace == key.namespace or not _NAMESPACE.fullmatch(namespace):
        return True
    return any(fnmatchcase(f"{key.namespace}/{connect_name}", pattern) for pattern in allowed)


def reserved(
    key: Key, connect_name: str, config: Mapping[str, str], allowed: Collection[str] = ()
) -> NameRefusal | None:
    """Return the refusal of a Connect name or consumer group that is reserved for another namespace; None: it is allowed.

    Args:
        key: the Connector.
        connect_name: the name that it requests.
        config: its configuration, which may name the group of a sink; that group is deleted when offsets are reset.
        allowed: as in `is_allowed`.
    """
    group = config.get(_GROUP, "").strip()
    if _may_be_reserved_group(key, group, allowed):
        return NameRefusal(
            Reason.NAME_RESERVED,
            f"spec.config.{_GROUP}: {group} contains a variable and may resolve to the group of another namespace's "
            f"Connector; use a name without a variable, or one that begins with {_OF_SINKS}{key.namespace}.",
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
                f"{namespace}. in Kafka; create this one there, choose another name, or have {key.namespace}/{name} added "
                f"to allowedConnectNames of the release",
            )
    return None


def _may_be_reserved_group(key: Key, group: str, allowed: Collection[str]) -> bool:
    """Return whether a group with a variable may resolve to a forbidden one; variables are resolved only in pods."""
    text, variable, _ = group.partition("${")
    if not variable:
        return False
    if not text.startswith(_OF_SINKS):
        return _OF_SINKS.startswith(text)
    name = text.removeprefix(_OF_SINKS)
    open_ended = [pattern for pattern in allowed if pattern.endswith("*")]
    if "." in name:
        return not is_allowed(key, name, open_ended)
    return bool(_PART.fullmatch(name)) and not any(fnmatchcase(f"{key.namespace}/{name}", p) for p in open_ended)


def conflict(connect_name: str, who: str, remedy: str = "") -> NameRefusal:
    """Return the refusal of a name that belongs to an older Connector.

    Args:
        connect_name: the name.
        who: description of the older Connector.
        remedy: further remedy for the user; begins with a semicolon.
    """
    return NameRefusal(
        Reason.NAME_CONFLICT,
        f"the name {connect_name} in Kafka belongs to {who}, which is older; give this one another name, or another "
        f"spec.connectName{remedy}",
    )


def older(own: Age, others: Mapping[Key, Age], claim: Claim | None) -> Key | Claim | None:
    """Return the oldest Connector (key or claim) that requests a name; None: this one is the oldest, and owns the name.

    Args:
        own: the age of this Connector.
        others: the ages of Connectors in this cluster that request it too, and may have it.
        claim: the claim in Kafka of a Connector that this operator does not see; None: there is none.
    """
    oldest_seen = min(((age, key) for key, age in others.items()), default=None)
    oldest = own if oldest_seen is None else min(own, oldest_seen[0])
    if claim is not None and Age(claim.created, claim.connector_uid) < oldest:
        return claim
    return oldest_seen[1] if oldest_seen is not None and oldest_seen[0] < own else None


def owner_mark(key: Key, uid: str, release: Release) -> str:
    """Return the mark of a Connector in its preparation records, unique among all Connectors that use its Kafka cluster."""
    return digest(release.operator, release.cluster, key.namespace, uid)


def is_claim_of(claim: Claim, release: Release) -> bool:
    """Return whether this release wrote a claim, in this cluster."""
    return _names(claim, release) and claim.installation == release.installation


def is_claim_of_twin(claim: Claim, release: Release) -> bool:
    """Return whether a twin wrote a claim: a release of the same name in another or earlier cluster with the same id."""
    return _names(claim, release) and claim.installation != release.installation


def _names(claim: Claim, release: Release) -> bool:
    return (claim.operator, claim.cluster) == (release.operator, release.cluster)


def claimant(claim: Claim, release: Release, *, is_seen: bool = True) -> tuple[str, str]:
    """Return a description of the Connector of a claim, and the remedy if that Connector no longer exists.

    Args:
        claim: claim of the name.
        release: this release.
        is_seen: whether this operator may get that Connector, if it is in this cluster.
    """
    who = f"Connector {claim.namespace}/{claim.name} of operator {claim.operator}"
    if claim.cluster == release.cluster:
        return who, "" if is_seen else (
            f"; this operator has no permission to check whether that Connector still exists: if it does not, allow the "
            f"operator to get Connectors in namespace {claim.namespace} (rbac.endingNamespaces), and the name is taken over"
        )
    remedy = f"; if that cluster no longer exists, set clusterId of this release to {claim.cluster}"
    return f"{who} in cluster {claim.cluster}", remedy


def twin_claimant(claim: Claim, seconds: float) -> tuple[str, str]:
    """Return a description of the Connector of a claim from a cluster with the same id, and the remedy.

    Args:
        claim: claim of the name.
        seconds: seconds after which the name is taken over.
    """
    of = f"operator {claim.operator} in another cluster with clusterId {claim.cluster}"
    return f"Connector {claim.namespace}/{claim.name} of {of}", (
        "; two running clusters must not have the same clusterId: give this release another one; if that cluster no longer "
        f"exists, the name is taken over automatically after it has been silent for {seconds:.0f} s"
    )


def gone_claimant(claim: Claim, seconds: float) -> tuple[str, str]:
    """Return a description of the deleted Connector of a claim, and the consequence.

    Args:
        claim: claim of the name.
        seconds: seconds after which the name is taken over.
    """
    who = f"Connector {claim.namespace}/{claim.name} of operator {claim.operator}"
    return who, f"; that Connector was deleted, and the name is taken over after {seconds:.0f} s"
