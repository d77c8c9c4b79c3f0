"""Keep the latest record of each key of the status topic that the operator uses. Pure.

Records of Penstock are reports, control records, claims (`task_reports`), and incarnations (`incarnation`), of which the
greatest counts. Records of Kafka Connect are active topics, and states, which are kept without traces. Unreadable records
of Penstock are ignored; the key of an unreadable state is kept, so that it can be removed.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from penstock_model.connect.status_records import TOPIC_PREFIX, ActiveTopic, Status
from penstock_model.contracts.incarnation import Incarnation, incarnation_key, merge_records
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_reports import (
    Claim,
    Control,
    Report,
    UsedTokens,
    claim_key,
    control_key,
)

__all__ = ["News", "Records", "connector_of", "is_report"]

_PREFIXES: Final = (
    "penstock-report",
    "penstock-control",
    "penstock-claim",
    "penstock-incarnation",
    "penstock-used-tokens",
)
_REPORT: Final = b'["penstock-report"'
_INCARNATION: Final = b'["penstock-incarnation"'
_USED_TOKENS: Final = b'["penstock-used-tokens"'
_BETWEEN: Final = ":connector-"
_UNREADABLE: Final = Status("")


def is_report(key: bytes) -> bool:
    """Return whether a record with this key is a report."""
    return key.startswith(_REPORT)


class News(IntEnum):
    """Subject of a changed record; a greater one is more urgent."""

    PROGRESS = 0
    """Only the time of the last record of a task."""
    TOPICS = 1
    """Active topic."""
    OTHER = 2


@dataclass
class _ConnectorRecords:
    """Records of one Connect name, with keys and values as in the topic."""

    ours: dict[bytes, bytes] = field(default_factory=dict)
    topics: dict[bytes, bytes] = field(default_factory=dict)
    states: dict[bytes, Status] = field(default_factory=dict)
    incarnations: dict[bytes, bytes] = field(default_factory=dict)
    """Incarnation records, which are never removed."""
    used_tokens: bytes | None = None
    """Record of used tokens, which is never removed."""

    @property
    def empty(self) -> bool:
        return not (self.ours or self.topics or self.states or self.incarnations or self.used_tokens)


class Records:
    """Records by Connect name. For one thread at a time."""

    def __init__(self) -> None:
        self._connectors: dict[str, _ConnectorRecords] = {}
        self._claimed: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)

    def put(self, key: bytes, value: bytes | None) -> str | None:
        """Put a record or, if the value is None, a tombstone. Return the Connect name if its known records have changed."""
        name = connector_of(key)
        if name is None:
            return None
        known = self._connectors.get(name)
        if known is None:
            if value is None:
                return None
            known = self._connectors[name] = _ConnectorRecords()
        before = known.ours.get(key)
        changed = _put(known, key, value)
        if changed and key == claim_key(name):
            self._claim(name, before, value)
        if known.empty:
            del self._connectors[name]
        return name if changed else None

    def news(self, key: bytes, value: bytes | None) -> News:
        """Return the subject of a record that has not been put yet."""
        if key.startswith(TOPIC_PREFIX):
            return News.TOPICS
        if not key.startswith(_REPORT) or (known := self._connectors.get(connector_of(key) or "")) is None:
            return News.OTHER
        before, now = Report.of(known.ours.get(key)), Report.of(value)
        is_progress = before is not None and now is not None and now.differs_in_progress_alone(before)
        return News.PROGRESS if is_progress else News.OTHER

    def carried(self, connector: str, task: int | None = None) -> Sequence[tuple[bytes, bytes]]:
        """Return the records of this name for a pod that does not read the topic from the beginning.

        These are the incarnation records, of one task or of all, and for one task also the control record. Incarnation
        records of one key are merged.
        """
        known = self._connectors.get(connector)
        if known is None:
            return ()
        if task is None:
            return list(known.incarnations.items())
        places = ((incarnation_key(connector, task), known.incarnations), (control_key(connector), known.ours))
        return [(key, records[key]) for key, records in places if key in records]

    def epoch(self, connector: str) -> PlanEpoch | None:
        """Return the greatest epoch in its tasks' incarnation records; None: no record can be read.

        A task with a smaller epoch stops.
        """
        known = self._connectors.get(connector)
        epochs = [s for v in (known.incarnations.values() if known else ()) if (s := _epoch(v)) is not None]
        return max(epochs, default=None)

    def names(self) -> Collection[str]:
        """Return the names with reports, a control record or a claim."""
        return [name for name, known in self._connectors.items() if known.ours]

    def claimed(self, namespace: str, connector: str, uid: str) -> Collection[str]:
        """Return the Connect names that a Connector with this name or this uid claims."""
        return self._claimed.get((namespace, connector), set()) | self._claimed.get((uid,), set())

    def all_names(self) -> Collection[str]:
        """Return the names with reports, a control record, a claim or active topics."""
        return [name for name, known in self._connectors.items() if known.ours or known.topics]

    def same(self, other: "Records", name: str) -> bool:
        """Return whether `other` has the same reports, control record, claim, active topics and used tokens of this name."""
        mine, theirs = self._connectors.get(name, _ConnectorRecords()), other._connectors.get(name, _ConnectorRecords())  # noqa: SLF001 (its own class)
        return (mine.ours, mine.topics, mine.used_tokens) == (theirs.ours, theirs.topics, theirs.used_tokens)

    def reports(self, connector: str) -> Mapping[int, Report]:
        """Return the latest report of each task."""
        reports = (Report.of(v) for k, v in self._ours(connector) if k.startswith(_REPORT))
        return {r.task: r for r in sorted((r for r in reports if r is not None), key=lambda r: r.task)}

    def control(self, connector: str) -> Control | None:
        """Return the latest control record."""
        return Control.of(dict(self._ours(connector)).get(control_key(connector)))

    def claim(self, connector: str) -> Claim | None:
        """Return the latest claim."""
        return Claim.of(dict(self._ours(connector)).get(claim_key(connector)))

    def used_tokens(self, connector: str) -> UsedTokens:
        """Return the tokens that were used under this name."""
        known = self._connectors.get(connector)
        return (None if known is None else UsedTokens.of(known.used_tokens)) or UsedTokens()

    def active_topics(self, connector: str) -> Sequence[ActiveTopic]:
        """Return the active topics, by name."""
        known = self._connectors.get(connector)
        return sorted(t for v in (known.topics.values() if known else ()) if (t := ActiveTopic.of(v)) is not None)

    def states(self, connector: str) -> Mapping[bytes, Status]:
        """Return Kafka Connect's states of the connector and of its tasks, by key."""
        known = self._connectors.get(connector)
        return dict(known.states) if known else {}

    def keys(self, connector: str) -> Sequence[bytes]:
        """Return the keys of every record of this name that may be removed."""
        known = self._connectors.get(connector)
        return [*known.ours, *known.topics, *sorted(known.states)] if known else []

    def topic_keys(self, connector: str) -> Sequence[bytes]:
        """Return the keys of its active topics."""
        known = self._connectors.get(connector)
        return list(known.topics) if known else []

    def _claim(self, name: str, before: bytes | None, now: bytes | None) -> None:
        for value, is_now in ((before, False), (now, True)):
            claim = Claim.of(value)
            for owner in () if claim is None else ((claim.namespace, claim.name), (claim.connector_uid,)):
                names = self._claimed[owner]
                (names.add if is_now else names.discard)(name)
                if not names:
                    del self._claimed[owner]

    def _ours(self, connector: str) -> Collection[tuple[bytes, bytes]]:
        known = self._connectors.get(connector)
        return known.ours.items() if known else ()


def connector_of(key: bytes) -> str | None:
    """Return the Connect name of a key; None: the key does not matter to the operator."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None
    if text.startswith('["penstock-'):
        return _connector_in_json(text)
    if key.startswith(TOPIC_PREFIX):
        # Topic names hold no colon, connector names may.
        return text.partition(_BETWEEN)[2] or None
    if text.startswith("status-connector-"):
        return text.removeprefix("status-connector-") or None
    if text.startswith("status-task-"):
        name, _, task = text.removeprefix("status-task-").rpartition("-")
        return name if name and task.isdecimal() else None
    return None


def _connector_in_json(text: str) -> str | None:
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parts, list) or len(parts) < 2 or parts[0] not in _PREFIXES:
        return None
    return parts[1] if isinstance(parts[1], str) and parts[1] else None


def _put(known: _ConnectorRecords, key: bytes, value: bytes | None) -> bool:
    if key.startswith((b"status-connector-", b"status-task-")):
        return _put_state(known, key, value)
    if key.startswith(_INCARNATION):
        if value is not None:  # tasks ignore tombstones of these as well
            known.incarnations[key] = merge_records(known.incarnations.get(key), value)
        return False
    if key.startswith(_USED_TOKENS):
        before, known.used_tokens = known.used_tokens, value
        return before != value
    is_topic = key.startswith(TOPIC_PREFIX)
    records = known.topics if is_topic else known.ours
    if value is None:
        return records.pop(key, None) is not None
    before = records.get(key)
    records[key] = ActiveTopic.earlier(before, value) if is_topic else value
    return before != records[key]


def _put_state(known: _ConnectorRecords, key: bytes, value: bytes | None) -> bool:
    """Return whether a connector's state has changed: the operator writes it, and corrects what others write."""
    before = known.states.get(key)
    if value is None:
        known.states.pop(key, None)
    else:
        known.states[key] = Status.of(value) or _UNREADABLE
    now = known.states.get(key)
    return key.startswith(b"status-connector-") and (before and before.state) != (now and now.state)


def _epoch(incarnation: bytes) -> PlanEpoch | None:
    try:
        return Incarnation.of(incarnation).epoch
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):  # anyone may have written it
        return None
