"""Warn if records that `errors.tolerance=all` skips are not recorded anywhere."""

from collections.abc import Mapping

from penstock_model.connect.errors_config import ErrorsConfig
from penstock_model.validation.findings import Findings

__all__ = ["warn_of_untraced_skips"]


def warn_of_untraced_skips(framework: ErrorsConfig, own: Mapping[str, str], findings: Findings) -> None:
    """Warn if failed records are only counted, but neither stored nor logged.

    Args:
        framework: the connector's properties, with the worker's as defaults.
        own: the connector's properties, to report where the tolerance is set.
        findings: receives the warning.
    """
    if framework.errors_tolerance != "all" or framework.errors_log_enable or framework.dlq_topic.strip():
        return
    name = "errors.tolerance"
    findings.warn(
        name if name in own else f"worker configuration, {name}",
        "failed records are skipped without a trace: set errors.deadletterqueue.topic.name to keep them, or "
        "errors.log.enable=true to log them",
    )
