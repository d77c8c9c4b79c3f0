"""Report in a Connector's status why a run failed, since it may have failed before it wrote the status."""

import logging
from collections.abc import Mapping
from typing import Any

from penstock_operator.connector.kubernetes_writes import STATUS_MANAGER
from penstock_operator.connector.observe.connector_cache import CachedConnector
from penstock_operator.connector.render.metrics import undecided
from penstock_operator.connector.render.status import status_with_trouble
from penstock_operator.context import Context
from penstock_operator.errors import OperatorError, Refused
from penstock_operator.key import Key
from penstock_operator.kubernetes.kinds import CONNECTOR
from penstock_operator.reasons import EventType

__all__ = ["report_failure"]

log = logging.getLogger(__name__)


async def report_failure(
    key: Key, document: Mapping[str, Any], cached: CachedConnector, error: OperatorError, context: Context
) -> None:
    """Report the failure in the status and as an Event, once for each cause and generation. Never raises.

    Args:
        key: key of the Connector.
        document: the Connector, as the run read it.
        cached: cache of this Connector.
        error: why the run failed.
        context: the API server and the metrics.
    """
    if isinstance(error, Refused) and error.namespace_ends:
        cached.namespace_ends = True  # the next run reports that
        return
    trouble, metadata = cached.trouble, document["metadata"]
    trouble.failed(error, context.clock(), looking=cached.undecided)
    if trouble.verdict is None or cached.run_by:  # the status belongs to another operator
        return
    context.metrics.connector(key, undecided(document, trouble.verdict.reason))
    reported = trouble.verdict, metadata["generation"]
    if cached.reported_trouble == reported:
        return
    try:
        await _write(key, metadata["uid"], cached, context)
        cached.reported_trouble = reported
    except OperatorError as e:
        log.info("Cannot write the failure to the status of %s: %s", key, e)
    try:
        await context.run(
            context.kube.event,
            document,
            type_=EventType.WARNING,
            reason=trouble.verdict.reason,
            message=trouble.verdict.message,
            action="Reconcile",
        )
    except OperatorError as e:
        log.debug("Cannot create an Event for %s: %s", key, e)


async def _write(key: Key, uid: str, cached: CachedConnector, context: Context) -> None:
    """Add the trouble to the current status: the run may have written it before it failed."""
    now = await context.run(context.kube.get, CONNECTOR, key.namespace, key.name)
    if now is None or now["metadata"]["uid"] != uid or cached.trouble.verdict is None:
        return
    status = status_with_trouble(now, cached.trouble.verdict, context.clock())
    if status is not None:
        await context.run(
            context.kube.apply_status,
            CONNECTOR,
            key.namespace,
            key.name,
            status,
            uid=uid,
            manager=STATUS_MANAGER,
            resource_version=now["metadata"]["resourceVersion"],
        )
