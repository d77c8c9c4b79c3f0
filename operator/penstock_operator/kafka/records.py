"""The latest of each key of the status topic that matters to the operator. Pure.

Ours: reports, controls, claims (`task_reports`), incarnations (`incarnation`), of which the greatest counts.
Kafka Connect's: active topics, and states, without their traces. Of a record of ours that cannot be read nothing is kept; a
state that cannot be read is known by its key, to be removed.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from penstock_model.connect.status_records import Status
from penstock_model.contracts.incarnation import Incarnation, incarnation_key, merge_records
from penstock_model.contracts.pod_identity import Standing
from penstock_model.contracts.task_reports import Claim, Control, Report, claim_key, control_key

__all__ = ["ActiveTopic", "Records", "connector_of"]

_OURS: Final = ("penstock-report", "penstock-control", "penstock-claim", "penstock-incarnation")
_LIVES: Final = b'["penstock-incarnation"'
_BETWEEN: Final = ":connector-"
_UNREADABLE: Final = Status("")


class ActiveTopic(NamedTuple):
    """A topic that a connector has used (KIP-558).

    Attributes:
        name: the topic's.
        task: which used it first.
        discovered: when, milliseconds.
    """

    name: str
    task: int
    discovered: int


@dataclass
class _Of:
    """What is known of one Connect name: keys and values as they stand in the topic."""

    ours: dict[bytes, bytes] = field(default_factory=dict)
    topics: dict[bytes, bytes] = field(default_factory=dict)
    states: dict[bytes, Status] = field(default_factory=dict)
    lives: dict[bytes, bytes] = field(default_factory=dict)
    """Incarnation records: none is ever removed."""

    @property
    def empty(self) -> bool:
        return not (self.ours or self.topics or self.states or self.lives)


class Records:
    """The records by Connect name. Not for several threads at once."""

    def __init__(self) -> None:
        self._of: dict[str, _Of] = {}
        self._claimed: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)

    def put(self, key: bytes, value: bytes | None) -> str | None:
        """Take a record; None as value is a tombstone. The Connect name if that changed what a reader sees, else None."""
        name = connector_of(key)
        if name is None:
            return None
        of = self._of.get(name)
        if of is None:
            if value is None:
                return None
            of = self._of[name] = _Of()
        before = of.ours.get(key)
        changed = _put(of, key, value)
        if changed and key == claim_key(name):
            self._claim(name, before, value)
        if of.empty:
            del self._of[name]
        return name if changed else None

    def carried(self, connector: str, task: int | None = None) -> Sequence[tuple[bytes, bytes]]:
        """What pods need of this name that do not read the topic from its beginning: a task, or who shuts out all tasks.

        Incarnation records, and for a task what it is told; in place of several of one key the one that stands for all.
        """
        of = self._of.get(connector)
        if of is None:
            return ()
        if task is None:
            return list(of.lives.items())
        wanted = ((incarnation_key(connector, task), of.lives), (control_key(connector), of.ours))
        return [(key, kept[key]) for key, kept in wanted if key in kept]

    def standing(self, connector: str) -> Standing | None:
        """The greatest that its tasks' incarnations tell: tasks of a smaller one leave. None: there is none to be read."""
        of = self._of.get(connector)
        found = [s for v in (of.lives.values() if of else ()) if (s := _standing(v)) is not None]
        return max(found, key=lambda s: (s.generation, s.plan), default=None)

    def names(self) -> Collection[str]:
        """Those with reports, a control or a claim."""
        return [name for name, of in self._of.items() if of.ours]

    def claimed(self, namespace: str, connector: str, uid: str) -> Collection[str]:
        """The Connect names that a Connector of this name, or of this uid, claims."""
        return self._claimed.get((namespace, connector), set()) | self._claimed.get((uid,), set())

    def all_names(self) -> Collection[str]:
        """Those with records that a reader sees."""
        return [name for name, of in self._of.items() if of.ours or of.topics]

    def same(self, other: "Records", name: str) -> bool:
        """Whether a reader sees the same of this name there."""
        mine, theirs = self._of.get(name, _Of()), other._of.get(name, _Of())  # noqa: SLF001 (its own class)
        return mine.ours == theirs.ours and mine.topics == theirs.topics

    def reports(self, connector: str) -> Mapping[int, Report]:
        """By task."""
        found = (Report.of(v) for k, v in self._ours(connector) if k.startswith(b'["penstock-report"'))
        return {r.task: r for r in sorted((r for r in found if r is not None), key=lambda r: r.task)}

    def control(self, connector: str) -> Control | None:
        """The latest."""
        return Control.of(dict(self._ours(connector)).get(control_key(connector)))

    def claim(self, connector: str) -> Claim | None:
        """The latest."""
        return Claim.of(dict(self._ours(connector)).get(claim_key(connector)))

    def active_topics(self, connector: str) -> Sequence[ActiveTopic]:
        """By name."""
        of = self._of.get(connector)
        return sorted(t for v in (of.topics.values() if of else ()) if (t := _active_topic(v)) is not None)

    def states(self, connector: str) -> Mapping[bytes, Status]:
        """Kafka Connect's states of the connector and of its tasks, by key."""
        of = self._of.get(connector)
        return dict(of.states) if of else {}

    def keys(self, connector: str) -> Sequence[bytes]:
        """Of every record of this name."""
        of = self._of.get(connector)
        return [*of.ours, *of.topics, *sorted(of.states)] if of else []

    def topic_keys(self, connector: str) -> Sequence[bytes]:
        """Of its active topics."""
        of = self._of.get(connector)
        return list(of.topics) if of else []

    def _claim(self, name: str, before: bytes | None, now: bytes | None) -> None:
        for value, is_now in ((before, False), (now, True)):
            claim = Claim.of(value)
            for mark in () if claim is None else ((claim.namespace, claim.name), (claim.connector_uid,)):
                names = self._claimed[mark]
                (names.add if is_now else names.discard)(name)
                if not names:
                    del self._claimed[mark]

    def _ours(self, connector: str) -> Collection[tuple[bytes, bytes]]:
        of = self._of.get(connector)
        return of.ours.items() if of else ()


def connector_of(key: bytes) -> str | None:
    """The Connect name that a key is about; None: not a key that matters here."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None
    if text.startswith('["penstock-'):
        return _in_ours(text)
    if text.startswith("status-topic-"):
        # Topic names hold no colon, connector names may.
        return text.partition(_BETWEEN)[2] or None
    if text.startswith("status-connector-"):
        return text.removeprefix("status-connector-") or None
    if text.startswith("status-task-"):
        name, _, task = text.removeprefix("status-task-").rpartition("-")
        return name if name and task.isdecimal() else None
    return None


def _in_ours(text: str) -> str | None:
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parts, list) or len(parts) < 2 or parts[0] not in _OURS:
        return None
    return parts[1] if isinstance(parts[1], str) and parts[1] else None


def _put(of: _Of, key: bytes, value: bytes | None) -> bool:
    if key.startswith((b"status-connector-", b"status-task-")):
        return _put_state(of, key, value)
    if key.startswith(_LIVES):
        if value is not None:  # whoever reads the topic passes over tombstones of these, too
            of.lives[key] = merge_records(of.lives.get(key), value)
        return False
    kept = of.topics if key.startswith(b"status-topic-") else of.ours
    if value is None:
        return kept.pop(key, None) is not None
    before = kept.get(key)
    kept[key] = value
    return before != value


def _put_state(of: _Of, key: bytes, value: bytes | None) -> bool:
    """A connector's state is the operator's to write, and told when another has; tasks tell of theirs by reports."""
    before = of.states.get(key)
    if value is None:
        of.states.pop(key, None)
    else:
        of.states[key] = Status.of(value) or _UNREADABLE
    now = of.states.get(key)
    return key.startswith(b"status-connector-") and (before and before.state) != (now and now.state)


def _standing(incarnation: bytes) -> Standing | None:
    try:
        found = Incarnation.of(incarnation)
        return Standing(generation=found.generation, plan=found.plan)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):  # whoever wrote it
        return None


def _active_topic(value: bytes) -> ActiveTopic | None:
    try:
        topic = json.loads(value)["topic"]
        return ActiveTopic(str(topic["name"]), int(topic["task"]), int(topic["discoverTimestamp"]))
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None
