"""Fence all earlier tasks of a connector before those of a plan start."""

import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from penstock.errors import Superseded
from penstock_kafka.records import Entry
from penstock_kafka.topic_consumer import NoSuchTopic
from penstock_kafka.topic_position import TopicPosition
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.status_snapshot import StatusSnapshot
from penstock_model.contracts.task_reports import Report, report_key
from penstock_runtime.fencing.incarnation import TransactionalIds, all_ids
from penstock_runtime.kafka import transactional_producer
from penstock_runtime.kafka.compacted_topic import StatusWriter, read_since
from penstock_runtime.kafka.settings import ClientSettings
from penstock_runtime.kafka.status_topic import Incarnation, incarnated_tasks, named_ids

__all__ = ["Place", "PlanFence", "Recorded", "fence", "recorded_generation", "supersede"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Place:
    """Location of the incarnation records of a connector's tasks.

    Attributes:
        connector: Connect name of the connector.
        group_id: `group.id` of the worker, with which transactional ids start.
        settings: clients of the cluster that the connector writes to.
        shared: clients of the worker's cluster.
        status_topic: status topic on the worker's cluster.
        owner: identifier of the Connector that is prepared (`PlanEpoch.owner`); empty: no Connector.
    """

    connector: str
    group_id: str
    settings: ClientSettings
    shared: ClientSettings
    status_topic: str
    owner: str = ""


@dataclass(frozen=True)
class PlanFence:
    """State of a plan that has fenced all earlier tasks, to determine later whether a newer plan has fenced it.

    Attributes:
        place: location of the incarnation records.
        epoch: epoch of the plan.
        position: position up to which the status topic was read; None: read it from the beginning.
    """

    place: Place
    epoch: PlanEpoch
    position: TopicPosition | None = None

    def check(self) -> None:
        """Check the records in the status topic since `position`.

        Raises:
            Superseded: the connector was started after this plan.
            RetriableError, ConnectError: Kafka does not answer, or refuses.
        """
        place, own = self.place, self.epoch
        with suppress(NoSuchTopic):
            news, _ = read_since(place.shared, place.status_topic, self.position)
            for found in incarnated_tasks(news, place.connector).values():
                # A record of the same generation is from a plan that found no record of this one: this one had no task.
                if found.generation >= own.generation and found.plan != own.plan:
                    raise Superseded(f"Connector {place.connector} was started since its earlier tasks were fenced")


def fence(
    place: Place,
    tasks: int = 0,
    *,
    transactional: bool = True,
    known: StatusSnapshot | None = None,
    newest: int | None = None,
    yields: bool = False,
) -> PlanFence:
    """Fence every process of every earlier task of a connector, because partitions may move between tasks.

    The new plan's incarnation records are written before anything is fenced, for earlier tasks and for new ones. If a
    greater plan writes at the same time, this one raises `Superseded`.

    Args:
        place: location of the incarnation records.
        tasks: number of new tasks.
        transactional: earlier incarnations may have ids that no record names yet, because they start at this moment. False:
            only named ids are fenced, so that a connector without ids needs no right to transactional ids.
        known: as for `prepare`.
        newest: the greatest generation that may be recorded; None: no limit.
        yields: whether to raise `Superseded` also if a plan with tasks is recorded with the same generation. A process that
            froze after reading, and writes after that plan, then neither hides that plan's records nor fences its tasks.

    Returns:
        State of the new plan; its epoch is that of the new tasks.

    Raises:
        Superseded: another process starts the same connector at the same time, with a greater generation; or a generation
            greater than `newest` is recorded, and nothing was fenced.
        NoSuchTopic: there is no status topic, and so no earlier task.
        RetriableError, ConnectError: Kafka does not answer, or refuses.
    """
    recorded = supersede(place, tasks, transactional=transactional, known=known, newest=newest, yields=yields)
    if recorded.ids:
        transactional_producer.fence(place.settings, recorded.ids)
        log.info("Fenced %d transactional ids of earlier incarnations of %s", len(recorded.ids), place.connector)
    return PlanFence(place, recorded.epoch, recorded.position)


@dataclass(frozen=True)
class Recorded:
    """Plan whose incarnation records are written for every task.

    Attributes:
        epoch: epoch of the plan.
        ids: transactional ids that earlier incarnations may still hold.
        position: position up to which the status topic was read.
    """

    epoch: PlanEpoch
    ids: list[str]
    position: TopicPosition | None


def supersede(
    place: Place,
    tasks: int,
    *,
    transactional: bool = False,
    least: int = 0,
    known: StatusSnapshot | None = None,
    newest: int | None = None,
    yields: bool = False,
) -> Recorded:
    """Write a new plan's incarnation records for earlier tasks and for new ones.

    Each incarnation of an earlier plan reads them at its next check, and exits. Arguments and errors are those of `fence`;
    `least` is the minimum generation.
    """
    name = place.connector
    entries = [] if known is None else known.entries()
    news, position = read_since(place.shared, place.status_topic, TopicPosition.of(known))
    entries += news
    before = incarnated_tasks(entries, name)
    greatest = max(recorded_generation(entries, name), 0 if known is None else known.generation)
    if newest is not None and greatest > newest:
        raise Superseded(
            f"Connector {name} was started since this was requested: plan generation {greatest} is recorded, and at most "
            f"{newest} was expected"
        )
    epoch = PlanEpoch.of_owner(max(least, 1 + greatest), place.owner, yields=yields)
    slots = {task: before[task].slots if task in before else 0 for task in {*before, *range(tasks)}}
    drivers = {  # ids from the records, because `group.id` may have changed
        t: {
            *named_ids(entries, name, t),
            *({TransactionalIds(place.group_id, name, t).driver} if transactional else ()),
        }
        for t in slots
    }
    writer = StatusWriter(place.shared, client_id=f"penstock-plan-{name}")
    written: set[int] = set()
    try:
        while slots.keys() - written:
            records = [
                Incarnation(0, 0, "", slots[t], epoch.generation, epoch.plan).entry(name, t, ids=drivers.get(t, ()))
                for t in sorted(slots.keys() - written)
            ]
            writer.write(place.status_topic, records)
            written |= slots.keys()
            news, position = read_since(place.shared, place.status_topic, position)
            for task, found in incarnated_tasks(news, name).items():
                if found.epoch.is_after(epoch):
                    raise Superseded(f"Connector {name} was started elsewhere at the same time, and runs there")
                slots[task] = max(found.slots, slots.get(task, 0))
    finally:
        writer.close()
    ids: list[str] = []
    for task, count in slots.items():
        ids += all_ids(drivers[task], count) if task in before else []
    return Recorded(epoch, ids, position)


def recorded_generation(entries: Iterable[Entry], connector: str) -> int:
    """Return the greatest generation in the incarnation records and reports of this connector; 0 if there is none."""
    entries = list(entries)
    found = [i.generation for i in incarnated_tasks(entries, connector).values()]
    start = report_key(connector, 0).rpartition(b",")[0] + b","
    reports = [Report.of(value) for key, value in entries if key.startswith(start)]
    return max([*found, *(r.epoch.generation for r in reports if r is not None)], default=0)
