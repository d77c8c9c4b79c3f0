"""Who may use which name in Kafka. Pure.

A Connect name is the name of a consumer group, of offsets and of status records: whoever has it can reset, stop and read
what another runs under it. So one Connector owns it, the oldest that asks for it, and any other does nothing in Kafka.
"""

import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from penstock_model.contracts.task_reports import Claim
from penstock_operator.connector.render.names import digest
from penstock_operator.queue.key import Key
from penstock_operator.reasons import Reason
from penstock_operator.settings import Release

__all__ = [
    "Age",
    "NameRefusal",
    "age_of",
    "claimant",
    "conflict",
    "is_allowed",
    "is_of",
    "is_of_twin",
    "leaving",
    "mark",
    "may_be_of",
    "older",
    "reserved",
    "twin",
]

_GROUP: Final = "consumer.override.group.id"
_OF_SINKS: Final = "connect-"
_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_PART: Final = re.compile(r"([a-z0-9][a-z0-9-]{0,62})?")
"""The beginning of a namespace's name."""


class Age(NamedTuple):
    """A Connector's right to its name: the smaller one is the older. Of two made in the same second the smaller uid."""

    created: str
    uid: str


class NameRefusal(NamedTuple):
    """Why a Connector does not own its Connect name: a reason of conditions, and a sentence."""

    reason: str
    message: str


def age_of(metadata: Mapping[str, Any]) -> Age:
    """Of a Connector's metadata."""
    return Age(str(metadata.get("creationTimestamp") or ""), str(metadata.get("uid") or ""))


def is_allowed(key: Key, connect_name: str, allowed: Collection[str] = ()) -> bool:
    """Whether a Connector may have a name at all.

    `<namespace>.<rest>` is for Connectors of that namespace, whether it exists or not: such are the names that Connectors
    have by default.

    Args:
        key: the Connector.
        connect_name: that it asks for.
        allowed: the release's exceptions, `<namespace>/<Connect name>`, with `*` for any characters.
    """
    namespace, dot, _ = connect_name.partition(".")
    if not dot or namespace == key.namespace or not _NAMESPACE.fullmatch(namespace):
        return True
    return any(fnmatchcase(f"{key.namespace}/{connect_name}", pattern) for pattern in allowed)


def reserved(
    key: Key, connect_name: str, config: Mapping[str, str], allowed: Collection[str] = ()
) -> NameRefusal | None:
    """Whether the name, or that of the consumer group, is another namespace's.

    Args:
        key: the Connector.
        connect_name: that it asks for.
        config: its configuration; a sink's group may have a name of its own, and goes with its offsets when they are reset.
        allowed: as `is_allowed` has it.
    """
    group = config.get(_GROUP, "").strip()
    if _hides(key, group, allowed):
        return NameRefusal(
            Reason.NAME_RESERVED,
            f"spec.config.{_GROUP}: {group} holds a variable and may come to be the group of another namespace's Connector; "
            f"write it out, or begin it with {_OF_SINKS}{key.namespace}.",
        )
    asked = {"spec.connectName": connect_name}
    if group.startswith(_OF_SINKS):
        asked[f"spec.config.{_GROUP}"] = group.removeprefix(_OF_SINKS)
    for field, name in asked.items():
        if not is_allowed(key, name, allowed):
            namespace = name.partition(".")[0]
            return NameRefusal(
                Reason.NAME_RESERVED,
                f"{field}: {name} belongs to namespace {namespace}, whose Connectors have names that begin with "
                f"{namespace}. in Kafka; make this one there, or give it another name, or have {key.namespace}/{name} "
                f"added to allowedConnectNames of the release",
            )
    return None


def _hides(key: Key, group: str, allowed: Collection[str]) -> bool:
    """Whether a variable, which is resolved in pods only, may make a group that this Connector may not have."""
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
    """An older Connector has the name."""
    return NameRefusal(
        Reason.NAME_CONFLICT,
        f"the name {connect_name} in Kafka belongs to {who}, which is older; give this one another name, or another "
        f"spec.connectName{remedy}",
    )


def older(own: Age, others: Mapping[Key, Age], claim: Claim | None) -> Key | Claim | None:
    """Who has the older right to a name, of the Connectors that are seen and of who claims it in Kafka; None: nobody.

    Args:
        own: of the Connector that asks.
        others: that ask for it too, and may.
        claim: in Kafka, of a Connector that is not seen; of one that is, its age says enough.
    """
    seen = min(((age, key) for key, age in others.items()), default=None)
    oldest = own if seen is None else min(own, seen[0])
    if claim is not None and Age(claim.created, claim.connector_uid) < oldest:
        return claim
    return seen[1] if seen is not None and seen[0] < own else None


def mark(key: Key, uid: str, release: Release) -> str:
    """A Connector among all that use one Kafka, for the records of its preparations: no other one has this mark."""
    return digest(release.operator, release.cluster, key.namespace, uid)


def is_of(claim: Claim, release: Release) -> bool:
    """Whether a release wrote a claim, in this cluster."""
    return (claim.operator, claim.cluster) == (release.operator, release.cluster) and not is_of_twin(claim, release)


def is_of_twin(claim: Claim, release: Release) -> bool:
    """Whether a release of this one's name wrote it in a cluster of this one's name: one that was before this, or lives."""
    is_named_so = (claim.operator, claim.cluster) == (release.operator, release.cluster)
    return is_named_so and claim.installation not in (None, release.installation)


def may_be_of(claim: Claim, release: Release) -> bool:
    """Whether it may have: claims of older releases do not say in which cluster, or which release."""
    return claim.operator in ("", release.operator) and claim.cluster in (None, release.cluster)


def claimant(claim: Claim, release: Release, *, is_seen: bool = True) -> tuple[str, str]:
    """Who claims a name that is not ours, in words, and what to do where nobody is there any more.

    Args:
        claim: of the name.
        release: that asks.
        is_seen: whether it may look for that Connector, if it is of this cluster.
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


def twin(claim: Claim, seconds: float) -> tuple[str, str]:
    """Who claims a name in a cluster that is called as this one, in words, and what to do."""
    of = f"operator {claim.operator} in another cluster with clusterId {claim.cluster}"
    return f"Connector {claim.namespace}/{claim.name} of {of}", (
        "; two clusters that live must not have the same clusterId: give this release another one; where that cluster is no "
        f"more, the name is taken over by itself when nothing was heard of it for {seconds:.0f} s"
    )


def leaving(claim: Claim, seconds: float) -> tuple[str, str]:
    """Who claims a name and is gone, in words, and what follows."""
    who = f"Connector {claim.namespace}/{claim.name} of operator {claim.operator}"
    return who, f"; that Connector is gone, and the name is taken over when it was for {seconds:.0f} s"
