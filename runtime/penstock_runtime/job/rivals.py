"""Who else may run a connector at this moment, as the status topic tells.

A reset or change of offsets by hand beside a live task would be overwritten, or set back what runs. The records cannot tell
a process that was killed from one that runs.
"""

import re
from collections.abc import Iterable
from typing import Final

from penstock_kafka.records import Entry
from penstock_kafka.topic_consumer import NoSuchTopic
from penstock_model.connect.status_records import Status, connector_key
from penstock_model.contracts.task_reports import Claim, claim_key
from penstock_runtime.fencing.plan_fence import Place
from penstock_runtime.kafka.compacted_topic import read_to_end

__all__ = ["rival_in", "rival_of"]

_LIVE: Final = ("RUNNING", "PAUSED", "RESTARTING")


def rival_of(place: Place) -> str:
    """Who may run the connector, and what to do about it, in a sentence; empty: nobody.

    Raises:
        RetriableError, ConnectError: Kafka does not answer, or refuses.
    """
    try:
        return rival_in(read_to_end(place.shared, place.status_topic), place.connector)
    except NoSuchTopic:
        return ""


def rival_in(entries: Iterable[Entry], connector: str) -> str:
    """The same, of the records of a status topic. Pure."""
    last = {entry[0]: entry[1] for entry in entries}
    claim = Claim.of(last.get(claim_key(connector)))
    if claim is not None:
        return (
            f"Connector {claim.namespace}/{claim.name} of operator {claim.operator or 'unknown'} has the name {connector} "
            f"in Kafka: set its spec.state: Stopped, and annotate it with penstock.dev/alter-offsets or "
            f"penstock.dev/reset-offsets"
        )
    tasks = re.compile(re.escape(f"status-task-{connector}-").encode() + rb"[0-9]+")
    states = [
        (key, Status.of(value))
        for key, value in last.items()
        if tasks.fullmatch(key) or key == connector_key(connector)
    ]
    live = sorted({f"{s.state} at {s.worker_id}" for _, s in states if s is not None and s.state in _LIVE})
    if not live:
        return ""
    return (
        f"Connectors must be in the STOPPED state before their offsets can be modified, and {connector} is "
        f"{', '.join(live[:3])}: end `penstock run`, or stop the connector in Kafka Connect"
    )
