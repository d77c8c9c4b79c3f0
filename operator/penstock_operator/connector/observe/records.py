"""Look up the records of a Connector in the status topic, and whether it owns its Connect name."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock_model.contracts.exit_codes import ExitCode
from penstock_operator.connector.model.observed_records import ActiveTopic, NameOwnership, ObservedRecords
from penstock_operator.connector.model.offsets_requests import RESET_TOPICS, offsets_requests
from penstock_operator.connector.model.persisted_state import PersistedState
from penstock_operator.connector.model.pod_status import Pod
from penstock_operator.connector.observe.name_lookup import name_refusal
from penstock_operator.connector.observe.subject import Subject
from penstock_operator.kubernetes.times import instant
from penstock_operator.name_ownership import owner_mark
from penstock_operator.reasons import Reason

__all__ = ["look_up_records"]


async def look_up_records(
    subject: Subject, pods: Sequence[Pod], trouble: str | None
) -> tuple[ObservedRecords, NameOwnership]:
    """Look up the records of a Connector. This sends no request to Kafka, since the operator reads the topic anyway.

    Args:
        subject: the Connector.
        pods: pods of the Connector.
        trouble: why the operator cannot read the status topic, if that has lasted; None: it can.

    Raises:
        OperatorError: a request to the API server about the owners of the name failed.
    """
    connector, uid, persisted, status = subject.connector, subject.uid, subject.persisted, subject.context.status
    name = connector.connect_name
    refusal = await name_refusal(connector, subject.document, subject.key, subject.context, persisted, subject.cached)
    unread = status.trouble or "the status topic has not been read yet"
    unseen = "" if status.caught_up and status.trouble is None else unread
    if refusal is None:
        subject.cached.owned_name = uid, name
    reports, control, claim = status.reports(name), status.control(name), status.claim(name)
    were_superseded = any(t.reason == Reason.SUPERSEDED for t in persisted.tasks.values()) or any(
        p.ended is not None and p.ended.code == ExitCode.SUPERSEDED for p in pods
    )
    topics, topic_count = _topics(subject, is_refused=refusal is not None)
    records = ObservedRecords(
        reports={n: r for n, r in reports.items() if r.connector_uid == uid},
        has_stale=any(r.connector_uid != uid for r in reports.values()),
        active_topics=topics,
        active_topic_count=topic_count,
        control=control if control is not None and control.connector_uid == uid else None,
        last_epoch=status.epoch(name) if were_superseded else None,
        last_generation=_generation(subject, name) if offsets_requests(connector.metadata.annotations) else 0,
        used_tokens=status.used_tokens(name).tokens,
        is_unread=bool(unseen),
        trouble=trouble,
        topic_fault=status.policy_fault or "",
    )
    ownership = NameOwnership(
        refusal=refusal,
        unknown_cause="" if persisted.has_run else unseen,
        has_claim=claim is not None and claim.connector_uid == uid,
        owner_mark=owner_mark(subject.key, uid, subject.context.settings.release),
    )
    return records, ownership


def _generation(subject: Subject, name: str) -> int:
    """Return the highest known plan generation of a Connect name; 0: none is known."""
    status = subject.context.status
    epochs = [subject.persisted.epoch, status.epoch(name)]
    epochs += (r.epoch for r in status.reports(name).values())
    return max((s.generation for s in epochs if s is not None), default=0)


def _topics(subject: Subject, *, is_refused: bool) -> tuple[tuple[ActiveTopic, ...], int | None]:
    """Return the active topics (KIP-558), and their number.

    A topic keeps its entry in the status, so that the status changes only if the set of names does. Until the status topic
    has been read, all entries are kept.
    """
    status, active = subject.context.status, _active(subject.document.get("status") or {}, subject.persisted)
    if not subject.context.settings.worker_config.topic_tracking_enable:
        return (), None
    if is_refused:
        return (), 0
    if not status.caught_up:
        return tuple(active.values()), max(
            len(active), int((subject.document.get("status") or {}).get("activeTopicCount") or 0)
        )
    found = status.active_topics(subject.connector.connect_name)
    return tuple(active.get(t.name) or ActiveTopic(t.name, t.task, t.discovered / 1000) for t in found), len(found)


def _active(status: Mapping[str, Any], persisted: PersistedState) -> dict[str, ActiveTopic]:
    """Return the active topics since the last reset, according to a status."""
    resets = (a.at for a in persisted.offsets if a.action == RESET_TOPICS and a.result == "Succeeded")
    reset, active = max(resets, default=0.0), {}
    for topic in status.get("activeTopics") or ():
        since = instant(topic.get("since"))
        if since is not None and since >= reset:
            active[str(topic["name"])] = ActiveTopic(str(topic["name"]), int(topic["task"]), since)
    return active
