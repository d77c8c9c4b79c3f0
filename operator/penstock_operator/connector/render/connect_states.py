"""Render Kafka Connect's state records of a connector, which the operator writes into the status topic. Pure.

A running task writes its own states. The operator writes the others, before the rest of a decision: the state of the
connector; RESTARTING before the next incarnation of a task; UNASSIGNED or FAILED for a task that was lost before it wrote
that itself; tombstones for tasks that no longer exist. A record that the topic already has is not written again, so that a
decision may be carried out twice, or by another operator. `kafka_writes` removes the records of a deleted Connector.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from penstock_model.connect.status_records import State, Status, connector_key, connector_status, task_key, task_status
from penstock_model.resources.connector import State as DesiredState
from penstock_operator.connector.model.decision import CreateTask, Decision
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.pod_status import Phase
from penstock_operator.reasons import Reason

__all__ = ["state_records"]

Entry = tuple[bytes, bytes | None]
_LIVE_STATES: Final = frozenset((State.RUNNING, State.PAUSED, State.RESTARTING))
_END_STATES: Final = frozenset((State.FAILED, State.UNASSIGNED))


def state_records(
    observed: Observation, decision: Decision, known: Mapping[bytes, Status], *, worker_id: str
) -> Sequence[Entry]:
    """Return the records to write, in order; none if another Connector owns the name, or if all are already written.

    Args:
        observed: the observation from which the decision was made.
        decision: the decision made from it.
        known: the states in the topic, by key.
        worker_id: worker id of this operator, the same for all its replicas.
    """
    if (
        observed.name.refusal is not None
        or observed.deleting is not None
        or observed.pods.foreign
        or observed.records.has_stale
    ):
        return ()
    # If the connector never ran here, the states are those of a Kafka Connect cluster from which it is migrated.
    if known and not (observed.persisted.has_run or decision.persisted.has_run):
        return ()
    return (*_connector(observed, decision, known, worker_id), *_tasks(observed, decision, known, worker_id))


def _connector(
    observed: Observation, decision: Decision, known: Mapping[bytes, Status], worker_id: str
) -> Iterator[Entry]:
    name = observed.connector.connect_name
    state = _state_of_connector(observed, decision)
    before = known.get(connector_key(name), Status(""))
    if state is None or before.state == state:
        return
    if before.state == State.FAILED and state is not State.STOPPED and not _is_prepared(observed, decision):
        return  # the preparation is retried, and the state does not change until it succeeds
    epoch = decision.persisted.epoch or observed.persisted.epoch
    generation = epoch.generation if epoch is not None else before.generation
    if state is State.RESTARTING:  # Kafka Connect writes UNASSIGNED first, and both without a version
        for written in (State.UNASSIGNED, state):
            yield connector_status(name, written, worker_id=worker_id, generation=generation, version=None)
        return
    plan = decision.plan or observed.plan(decision.persisted.plan)
    yield connector_status(
        name,
        state,
        worker_id=worker_id,
        generation=generation,
        version=plan.version if plan is not None else None,
        trace=decision.verdict.message if state is State.FAILED else None,
    )


def _is_prepared(observed: Observation, decision: Decision) -> bool:
    plan = decision.plan or observed.plan(decision.persisted.plan)
    return plan is not None and observed.is_prepared(plan)


def _state_of_connector(observed: Observation, decision: Decision) -> State | None:
    """Return the state of the connector itself, without its tasks; None: it does not change."""
    if observed.connector.spec.state is DesiredState.STOPPED:
        return State.STOPPED
    if decision.verdict.reason == Reason.PREPARE_FAILED:
        return State.FAILED
    if decision.persisted.epoch is None:
        return State.RESTARTING if observed.persisted.has_run or decision.persisted.has_run else None
    if decision.plan is None:
        return None
    return State.PAUSED if observed.connector.spec.state is DesiredState.PAUSED else State.RUNNING


def _tasks(observed: Observation, decision: Decision, known: Mapping[bytes, Status], worker_id: str) -> Iterator[Entry]:
    name, persisted = observed.connector.connect_name, decision.persisted
    alive = {p.task for p in observed.pods.tasks if p.phase is not Phase.ENDED}
    yield from ((key, None) for key in _obsolete_keys(observed, decision, known) if _task_of(key) not in alive)
    if observed.connector.spec.state is DesiredState.STOPPED or persisted.epoch is None:
        return
    generation = persisted.epoch.generation
    starting = {wish.task for wish in decision.create if isinstance(wish, CreateTask)}
    for number, task in persisted.tasks.items():
        before = known.get(task_key(name, number))
        if before is None:
            continue
        state, trace = None, None
        if number in starting:
            state = State.RESTARTING
        elif (
            task.has_ended
            and number not in alive
            and before.state in _LIVE_STATES
            and not _has_reported_end(observed, number)
        ):
            is_failed = task.state == "Failed" and task.reason != Reason.UNAVAILABLE
            state = State.FAILED if is_failed else State.UNASSIGNED
            trace = (task.trace or task.message) if is_failed else None
        if state is not None and before.state != state:
            yield task_status(
                name, number, state, worker_id=worker_id, generation=generation, version=None, trace=trace
            )


def _obsolete_keys(observed: Observation, decision: Decision, known: Mapping[bytes, Status]) -> Iterator[bytes]:
    """Return the keys of ended tasks: all in a stopped connector, otherwise those that the plan does not have."""
    name, plan = observed.connector.connect_name, decision.plan
    tasks = {n: key for key in known if (n := _task_of(key)) is not None}
    if observed.connector.spec.state is DesiredState.STOPPED:
        # A task that has just ended may have written its state after `known` was read.
        ended = [
            n
            for n, t in decision.persisted.tasks.items()
            if t.state == "Stopped" and observed.persisted.task(n).state == "Stopping"
        ]
        yield from {task_key(name, n) for n in (*tasks, *ended)}
    elif plan is not None and observed.is_prepared(plan):
        yield from (key for n, key in tasks.items() if n >= len(plan.tasks))


def _task_of(key: bytes) -> int | None:
    """Return the task of a key; None: it is the key of the connector."""
    return int(key.rpartition(b"-")[2]) if key.startswith(b"status-task-") else None


def _has_reported_end(observed: Observation, number: int) -> bool:
    """Return whether the last incarnation of a task has reported its end: its state record exists or will follow."""
    report = observed.records.reports.get(number)
    return (
        report is not None and report.pod_uid == observed.persisted.task(number).pod_uid and report.state in _END_STATES
    )
