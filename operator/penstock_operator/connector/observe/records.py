"""Looks up the records of a Connector in the status topic, and whether it owns its Connect name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_reports import Control, Report, UsedToken
from penstock_operator.connector.model.observation import ActiveTopic
from penstock_operator.connector.model.offsets_requests import RESET_TOPICS, offsets_requests
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.connector.model.pod_status import Pod
from penstock_operator.connector.observe.name_lookup import name_refusal
from penstock_operator.connector.observe.subject import Subject
from penstock_operator.kubernetes.times import instant
from penstock_operator.name_ownership import NameRefusal, owner_mark
from penstock_operator.reasons import Reason

__all__ = ["Records", "look_up_records"]


@dataclass(frozen=True, slots=True)
class Records:
    """Records of a Connector in Kafka, and the ownership of its name; the fields are those of `Observation`."""

    reports: Mapping[int, Report]
    stale_records: bool
    topics: Sequence[ActiveTopic]
    topic_count: int | None
    control: Control | None
    name_refusal: NameRefusal | None
    name_unseen: str
    has_claimed: bool
    owner: str
    recorded: PlanEpoch | None
    generation: int
    used_tokens: tuple[UsedToken, ...]
    status_unread: bool


async def look_up_records(subject: Subject, pods: Sequence[Pod]) -> Records:
    """Look up the records of a Connector; `pods` are its own. Kafka gets no request: the operator has read the topic.

    Raises:
        OperatorError: a request to the API server about the owners of the name failed.
    """
    connector, uid, persisted, status = subject.connector, subject.uid, subject.persisted, subject.context.status
    name = connector.connect_name
    refusal = await name_refusal(connector, subject.document, subject.key, subject.context, persisted, subject.cached)
    unseen = "" if status.caught_up and status.trouble is None else status.trouble or "the status topic is not read yet"
    if refusal is None:
        subject.cached.owned_name = uid, name
    reports, control, claim = status.reports(name), status.control(name), status.claim(name)
    were_superseded = any(t.reason == Reason.SUPERSEDED for t in persisted.tasks.values()) or any(
        p.ended is not None and p.ended.code == ExitCode.SUPERSEDED for p in pods
    )
    topics, topic_count = _topics(subject, is_refused=refusal is not None)
    return Records(
        reports={n: r for n, r in reports.items() if r.connector_uid == uid},
        stale_records=any(r.connector_uid != uid for r in reports.values()),
        topics=topics,
        topic_count=topic_count,
        control=control if control is not None and control.connector_uid == uid else None,
        name_refusal=refusal,
        name_unseen="" if persisted.has_run else unseen,
        has_claimed=claim is not None and claim.connector_uid == uid,
        owner=owner_mark(subject.key, uid, subject.context.settings.release),
        recorded=status.epoch(name) if were_superseded else None,
        generation=_generation(subject, name) if offsets_requests(connector.metadata.annotations) else 0,
        used_tokens=status.used_tokens(name).tokens,
        status_unread=bool(unseen),
    )


def _generation(subject: Subject, name: str) -> int:
    """Return the greatest plan generation that is known under a Connect name."""
    status = subject.context.status
    epochs = [subject.persisted.epoch, status.epoch(name)]
    epochs += (r.epoch for r in status.reports(name).values())
    return max((s.generation for s in epochs if s is not None), default=0)


def _topics(subject: Subject, *, is_refused: bool) -> tuple[tuple[ActiveTopic, ...], int | None]:
    """Return the active topics (KIP-558), and their number.

    A topic keeps its entry of the status, so that only another set of names changes the status. While the status topic
    has
    not been read yet, all entries stay.
    """
    status, told = subject.context.status, _told(subject.document.get("status") or {}, subject.persisted)
    if not subject.context.settings.worker_config.topic_tracking_enable:
        return (), None
    if is_refused:
        return (), 0
    if not status.caught_up:
        return tuple(told.values()), max(
            len(told), int((subject.document.get("status") or {}).get("activeTopicCount") or 0)
        )
    found = status.active_topics(subject.connector.connect_name)
    return tuple(told.get(t.name) or ActiveTopic(t.name, t.task, t.discovered / 1000) for t in found), len(found)


def _told(status: Mapping[str, Any], persisted: PersistedState) -> dict[str, ActiveTopic]:
    """Return the active topics since the last reset in a status, which this operator or an earlier one wrote."""
    resets = (a.at for a in persisted.offsets if a.action == RESET_TOPICS and a.result == "Succeeded")
    reset, told = max(resets, default=0.0), {}
    for topic in status.get("activeTopics") or ():
        since = instant(topic.get("since"))
        if since is not None and since >= reset:
            told[str(topic["name"])] = ActiveTopic(str(topic["name"]), int(topic["task"]), since)
    return told
