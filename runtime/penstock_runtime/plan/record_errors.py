"""Whether anything tells which records `errors.tolerance=all` passes over."""

from collections.abc import Mapping

from penstock_model.connect.errors_config import ErrorsConfig
from penstock_runtime.plan.problems import Findings

__all__ = ["check_record_errors"]


def check_record_errors(framework: ErrorsConfig, own: Mapping[str, str], findings: Findings) -> None:
    """Warn where records that fail are counted, and neither kept nor logged.

    Args:
        framework: the connector's properties over the worker's.
        own: the connector's, to say where the tolerance stands.
        findings: gets the warning.
    """
    if framework.errors_tolerance != "all" or framework.errors_log_enable or framework.dlq_topic.strip():
        return
    name = "errors.tolerance"
    findings.warn(
        name if name in own else f"worker configuration, {name}",
        "records that fail are left out, and it is not known which: name errors.deadletterqueue.topic.name to keep "
        "them, or set errors.log.enable=true to have a line in the log for each",
    )
