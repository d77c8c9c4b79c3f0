"""Writes of `apply` to the status topic: records that it writes or removes.

While Kafka is unavailable, nothing else waits for these records: each function returns the seconds until the next attempt.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from penstock_model.contracts.task_reports import Claim, Control, UsedTokens, claim_key, control_key, used_tokens_key
from penstock_model.contracts.task_spec import TaskState
from penstock_model.resources.connector import Connector
from penstock_operator.connector.model.decision import Decision
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.render.connect_states import state_records
from penstock_operator.context import Context
from penstock_operator.errors import Unavailable

__all__ = [
    "TRY_AGAIN",
    "remove_records",
    "remove_records_of_deleted",
    "write_claim",
    "write_control",
    "write_states",
    "write_used_tokens",
]

log = logging.getLogger(__name__)
TRY_AGAIN: Final = 2.0
"""Seconds until the next attempt to write a record."""


async def write_states(observed: Observation, decision: Decision, context: Context) -> float | None:
    """Write the states of connector and tasks, as Kafka Connect does.

    Returns:
        Seconds until the next attempt; None: they are written, or an event reports when they can be.
    """
    status, name = context.status, observed.connector.connect_name
    if status.trouble is not None or not (status.caught_up and status.exists):
        return None  # decided again when that changes
    records = state_records(observed, decision, status.states(name), worker_id=context.settings.release.operator)
    try:
        await context.run(status.write_states, records)
    except Unavailable as e:
        log.debug("Cannot write the states of %s: %s", name, e)
        return TRY_AGAIN
    return None


async def write_claim(document: Mapping[str, Any], observed: Observation, decision: Decision, context: Context) -> None:
    """Claim the Connect name, for operators that do not see this Connector, as soon as records are written under it.

    The claim is also written if pods already exist: when they were created, the topic may not have existed or been visible.
    """
    connector, status, release = observed.connector, context.status, context.settings.release
    if not (decision.create or observed.pods.tasks or _has_unclaimed_states(connector, context)):
        return
    own = connector.metadata
    claim = Claim(
        connector_uid=own.uid or "",
        namespace=own.namespace or "",
        name=own.name,
        created=document["metadata"].get("creationTimestamp", ""),
        operator=release.operator,
        cluster=release.cluster,
        installation=release.installation,
    )
    if not status.caught_up or status.claim(connector.connect_name) == claim:
        return
    try:
        await context.run(status.write, [(claim_key(connector.connect_name), claim.to_value())])
    except Unavailable as e:  # the topic may not exist before the first connector is prepared
        log.debug("Cannot write the claim of %s: %s", connector.connect_name, e)


def _has_unclaimed_states(connector: Connector, context: Context) -> bool:
    """Return whether there are states of this operator without a claim, which is needed to remove them later."""
    status, own = context.status, context.settings.release.operator
    if status.claim(connector.connect_name) is not None:
        return False
    return any(s.worker_id == own for s in status.states(connector.connect_name).values())


async def write_control(observed: Observation, decision: Decision, context: Context) -> float | None:
    """Write a control record, so that running tasks pause, resume, change their log level or record their topics again.

    A record without a new state repeats the state that was last sent to the tasks.

    Returns:
        Seconds until the next reconciliation: 0 after a reset, to report that it is done. None: the record is written.
    """
    connector, before = observed.connector, observed.records.control
    if context.status.trouble is not None:  # the connector's status reports it if it lasts
        return TRY_AGAIN
    if decision.control_state is None and not decision.topics_reset and not context.status.exists:
        return None  # no task has ever run; decided again when one does
    own = connector.metadata
    control = before or Control(connector_uid=own.uid or "", generation=0, state=TaskState.RUNNING)
    if decision.control_state is not None:
        control = control.model_copy(update={"generation": own.generation, "state": decision.control_state})
    if decision.log_level is not None:
        control = control.model_copy(update={"log_level": decision.log_level or None})
    mark = decision.topics_reset
    try:
        if mark:
            await context.run(context.status.reset_topics, connector.connect_name, _with_reset(control, mark))
        else:
            await context.run(context.status.write, [(control_key(connector.connect_name), control.to_value())])
    except Unavailable as e:
        log.warning("%s: cannot write the control record for its tasks: %s", connector.connect_name, e)
        return TRY_AGAIN
    return 0.0 if mark else None


def _with_reset(control: Control, mark: str) -> Control:
    return control.model_copy(update={"topics_reset": mark})


async def write_used_tokens(observed: Observation, decision: Decision, context: Context) -> bool:
    """Record used tokens, and return whether the actions that they request may begin.

    If the status topic does not exist yet, no earlier Connector can have used the name. A pod creates the topic, and then
    the record is written.
    """
    if not decision.used_tokens or not context.status.exists:
        return True
    name, record = observed.connector.connect_name, UsedTokens(tokens=decision.used_tokens)
    try:
        await context.run(context.status.write, [(used_tokens_key(name), record.to_value())])
    except Unavailable as e:
        log.warning("%s: cannot record the tokens of its annotations, so the requested actions wait: %s", name, e)
        return False
    return True


async def remove_records(connect_name: str, context: Context) -> float | None:
    """Remove all records under a Connect name. Return the seconds until the next attempt; None: they are removed."""
    try:
        await context.run(context.status.forget, connect_name)
    except Unavailable as e:
        log.warning("%s: cannot remove records of an earlier Connector: %s", connect_name, e)
        return TRY_AGAIN
    return None


async def remove_records_of_deleted(connect_names: Iterable[str], context: Context) -> None:
    """Remove the records of a deleted Connector under these Connect names.

    Raises:
        Unavailable: Kafka did not remove them; the caller must retry, since no later run would do it.
    """
    for name in connect_names:
        await context.run(context.status.forget, name)
