"""Whether a source can deliver as it is asked to (KIP-618)."""

from collections.abc import Iterator, Mapping

from penstock import Connector, SourceConnector
from penstock.config import Config
from penstock_model.connect.connector_config import SourceConfig
from penstock_model.connect.worker_config import WorkerConfig
from penstock_runtime.plan.problems import Findings

__all__ = ["check_boundary", "check_delivery", "exactly_once"]


def exactly_once(guarantee: str | None, worker: WorkerConfig) -> bool:
    """Whether records and offsets go in one transaction: yes, unless worker or `delivery.guarantee` say no."""
    return worker.exactly_once and (guarantee or "").strip() != "at-least-once"


def check_delivery(
    framework: SourceConfig,
    worker: WorkerConfig,
    connector: Connector | None,
    parsed: Config | None,
    alias: str,
    findings: Findings,
) -> None:
    """Refuse what is asked for and cannot be had; warn of what is not asked for and missing. Connect's words.

    Args:
        framework: what is asked for.
        worker: resolved.
        connector: the plugin, None where it cannot be made.
        parsed: its configuration, None if that is wrong: then the plugin cannot be asked whether it delivers exactly once.
        alias: the plugin's.
        findings: gets problems and warnings.
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
            f"{alias} may read other records the second time, so a failure can lose or double some; "
            f"exactly.once.support=required would refuse it",
        )
    if framework.transaction_boundary == "interval" and not exactly_once(framework.delivery_guarantee, worker):
        findings.warn("transaction.boundary", "has no effect at least once: there are no transactions")
    elif framework.transaction_boundary == "interval" and able is False:
        findings.warn("transaction.boundary", f"has no effect: {alias} cannot read again from an offset")


def check_boundary(
    config: Mapping[str, str],
    connector: Connector | None,
    parsed: Config | None,
    alias: str,
    findings: Findings,
    *,
    exactly_once: bool,
) -> None:
    """Refuse `transaction.boundary=connector` where the connector cannot end its transactions itself. Connect's words.

    Args:
        config: of the connector, resolved. The framework's part of it need not parse.
        connector: the plugin, None where it cannot be made.
        parsed: its configuration, None if that is wrong: then only a plugin that never can is refused.
        alias: the plugin's.
        findings: gets problems and warnings.
        exactly_once: records and offsets go in one transaction.
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
        findings.warn("transaction.boundary", "has no effect at least once: there are no transactions")


def _asking(framework: SourceConfig) -> Iterator[str]:
    if framework.exactly_once_support == "required":
        yield "exactly.once.support"
    if framework.delivery_guarantee == "exactly-once":
        yield "delivery.guarantee"
