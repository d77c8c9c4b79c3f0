"""Check that a source supports the requested delivery guarantee (KIP-618)."""

from collections.abc import Iterator, Mapping

from penstock import Connector, SourceConnector
from penstock.config import Config
from penstock_model.connect.connector_config import SourceConfig
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.resources.task_settings import RateLimits
from penstock_runtime.plan.problems import Findings

__all__ = ["check_boundary", "check_delivery", "check_rate_limit", "exactly_once"]


def exactly_once(guarantee: str | None, worker: WorkerConfig) -> bool:
    """Return whether records and offsets share a transaction: yes, unless the worker or `delivery.guarantee` disables it."""
    return worker.exactly_once and (guarantee or "").strip() != "at-least-once"


def check_delivery(
    framework: SourceConfig,
    worker: WorkerConfig,
    connector: Connector | None,
    parsed: Config | None,
    alias: str,
    findings: Findings,
) -> None:
    """Reject requested guarantees that are unsupported; warn of missing guarantees that were not requested.

    Messages are worded as in Kafka Connect.

    Args:
        framework: the connector's framework properties.
        worker: worker configuration, resolved.
        connector: the plugin; None if it cannot be created.
        parsed: its configuration; None if invalid: then the plugin cannot be asked whether it delivers exactly once.
        alias: alias of the plugin.
        findings: receives problems and warnings.
    """
    able: bool | None = True
    if isinstance(connector, SourceConnector) and parsed is not None:
        able = findings.attempt_plugin("spec.config", f"{alias}.exactly_once", lambda: connector.exactly_once(parsed))
    for name in _asking(framework):
        if not worker.exactly_once:
            findings.refuse(name, "This worker does not have exactly-once source support enabled.")
        if able is False:
            findings.refuse(
                name, "The connector does not support exactly-once semantics with the provided configuration."
            )
    if able is False and exactly_once(framework.delivery_guarantee, worker):
        findings.warn(
            "delivery.guarantee",
            f"{alias} may read other records after a restart, so a failure can lose or duplicate some; "
            f"exactly.once.support=required would reject it",
        )
    if framework.transaction_boundary == "interval" and not exactly_once(framework.delivery_guarantee, worker):
        findings.warn("transaction.boundary", "has no effect with at-least-once delivery, which uses no transactions")
    elif framework.transaction_boundary == "interval" and able is False:
        findings.warn("transaction.boundary", f"has no effect: {alias} cannot reread records from an offset")


def check_rate_limit(config: Mapping[str, str], limits: RateLimits, findings: Findings) -> None:
    """Reject `transaction.boundary=connector` with `spec.limits`: the task would pause during open transactions."""
    if limits != RateLimits() and config.get("transaction.boundary", "").strip().lower() == "connector":
        findings.refuse(
            "transaction.boundary",
            "cannot be connector with spec.limits: pauses would keep the connector's transactions open until Kafka aborts "
            "them; set poll or interval, or remove spec.limits",
        )


def check_boundary(
    config: Mapping[str, str],
    connector: Connector | None,
    parsed: Config | None,
    alias: str,
    findings: Findings,
    *,
    exactly_once: bool,
) -> None:
    """Reject `transaction.boundary=connector` if the connector cannot define transactions. Worded as in Kafka Connect.

    Args:
        config: the connector's properties, resolved. The framework's part may be invalid.
        connector: the plugin; None if it cannot be created.
        parsed: its configuration; None if invalid: then only a plugin that never supports this is rejected.
        alias: alias of the plugin.
        findings: receives problems and warnings.
        exactly_once: whether records and offsets share a transaction.
    """
    if config.get("transaction.boundary", "").strip().lower() != "connector" or not isinstance(
        connector, SourceConnector
    ):
        return
    method = "can_define_transaction_boundaries"
    able: bool | None = None
    if getattr(type(connector), method) is SourceConnector.can_define_transaction_boundaries:
        able = False
    elif parsed is not None:
        able = findings.attempt_plugin(
            "transaction.boundary", f"{alias}.{method}", lambda: connector.can_define_transaction_boundaries(parsed)
        )
    if able is False:
        findings.refuse(
            "transaction.boundary",
            "The connector does not support connector-defined transaction boundaries with the given configuration. "
            "Please reconfigure it to use a different transaction boundary definition.",
        )
    elif able and not exactly_once:
        findings.warn("transaction.boundary", "has no effect with at-least-once delivery, which uses no transactions")


def _asking(framework: SourceConfig) -> Iterator[str]:
    if framework.exactly_once_support == "required":
        yield "exactly.once.support"
    if framework.delivery_guarantee == "exactly-once":
        yield "delivery.guarantee"
