"""Observed records of a Connector in Kafka, and the ownership of its Connect name. Immutable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_reports import Control, Report, UsedToken
from penstock_operator.name_ownership import NameRefusal

__all__ = ["ActiveTopic", "NameOwnership", "ObservedRecords"]


@dataclass(frozen=True, slots=True)
class ActiveTopic:
    """Topic that the connector writes to or reads from (KIP-558); `since` is in seconds since 1970."""

    name: str
    task: int
    since: float


@dataclass(frozen=True, slots=True)
class ObservedRecords:
    """Records of a Connector in the status topic.

    Attributes:
        reports: by task number, reports of its tasks, of this uid only.
        has_stale: whether there are records of an earlier Connector of this name.
        active_topics: active topics, at least as many as the status shows.
        active_topic_count: number of active topics; None: they are not tracked.
        control: its last control record, of this uid only; None: there is none.
        last_epoch: the greatest epoch, looked up if a task was superseded; None: none.
        last_generation: the greatest plan generation, looked up if an annotation requests an offsets action.
        used_tokens: tokens used under its Connect name, including those of earlier Connectors.
        is_unread: whether the topic is not being read now, for any reason, however briefly.
        trouble: why the topic cannot be read, if that has lasted; None: it can.
        topic_fault: why the topic loses records, so that no task is restarted; empty: it does not.
    """

    reports: Mapping[int, Report] = field(default_factory=dict)
    has_stale: bool = False
    active_topics: Sequence[ActiveTopic] = ()
    active_topic_count: int | None = 0
    control: Control | None = None
    last_epoch: PlanEpoch | None = None
    last_generation: int = 0
    used_tokens: tuple[UsedToken, ...] = ()
    is_unread: bool = False
    trouble: str | None = None
    topic_fault: str = ""


@dataclass(frozen=True, slots=True)
class NameOwnership:
    """Ownership of the Connect name.

    Attributes:
        refusal: why the Connector does not own it; None: it does.
        unknown_cause: why it is unknown whether the name of a Connector that never ran is free; empty: it is known.
        has_claim: whether Kafka has the Connector's claim of the name.
        owner_mark: its mark in the records of its preparations (`name_ownership.owner_mark`).
    """

    refusal: NameRefusal | None = None
    unknown_cause: str = ""
    has_claim: bool = False
    owner_mark: str = ""
