"""Detect from the records of the status topic whether a connector may be running elsewhere.

A manual reset or change of offsets while a task runs would be overwritten, or would set back the running task. The records
do not distinguish a killed process from a running one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from penstock_kafka.records import Entry
from penstock_kafka.topic_consumer import NoSuchTopic
from penstock_model.connect.status_records import Status, connector_key
from penstock_model.contracts.task_reports import Claim, claim_key
from penstock_runtime.fencing.plan_fence import Place, recorded_generation
from penstock_runtime.kafka.compacted_topic import read_to_end

__all__ = ["Known", "known_in", "known_of"]

_LIVE: Final = ("RUNNING", "PAUSED", "RESTARTING")


@dataclass(frozen=True)
class Known:
    """Facts about a connector from the status topic.

    Attributes:
        rival: message that says what may be running the connector, and how to stop it; empty if nothing indicates this.
        generation: greatest recorded plan generation.
        is_unknown: whether the topic does not exist, or has no records of the connector.
    """

    rival: str = ""
    generation: int = 0
    is_unknown: bool = True


def known_of(place: Place) -> Known:
    """Return the facts about the connector of a place.

    Raises:
        RetriableError, ConnectError: Kafka does not answer, or refuses.
    """
    try:
        return known_in(read_to_end(place.shared, place.status_topic), place.connector)
    except NoSuchTopic:
        return Known()


def known_in(entries: Iterable[Entry], connector: str) -> Known:
    """Return the facts about a connector from the records of a status topic. Pure."""
    entries = list(entries)
    last = dict(entries)
    tasks = re.compile(re.escape(f"status-task-{connector}-").encode() + rb"[0-9]+")
    keys = [key for key in last if tasks.fullmatch(key) or key == connector_key(connector)]
    states = [s for key in keys if (s := Status.of(last[key])) is not None]
    claim = Claim.of(last.get(claim_key(connector)))
    generation = recorded_generation(entries, connector)
    return Known(_rival(connector, claim, states), generation, not states and claim is None and generation == 0)


def _rival(connector: str, claim: Claim | None, states: Sequence[Status]) -> str:
    if claim is not None:
        return (
            f"Connector {claim.namespace}/{claim.name} of operator {claim.operator} uses the name {connector} "
            f"in Kafka; set its spec.state to Stopped, and annotate it with penstock.dev/alter-offsets or "
            f"penstock.dev/reset-offsets"
        )
    live = sorted({f"{s.state} at {s.worker_id}" for s in states if s.state in _LIVE})
    if not live:
        return ""
    return (
        f"Connectors must be in the STOPPED state before their offsets can be modified, but {connector} is "
        f"{', '.join(live[:3])}; stop `penstock run`, or stop the connector in Kafka Connect"
    )
