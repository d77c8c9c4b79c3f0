"""Warn if a source reads standard input, which a pod does not have."""

from penstock import Connector, SourceConnector
from penstock.config import Config
from penstock_runtime.plan.problems import Findings

__all__ = ["read_for_want_of"]


def read_for_want_of(connector: Connector | None, parsed: Config | None, alias: str, findings: Findings) -> str | None:
    """Return the property whose absence makes the connector read standard input, and add a warning; None if there is none.

    Args:
        connector: the plugin; None if it cannot be created.
        parsed: its configuration; None if invalid.
        alias: alias of the plugin.
        findings: receives the warning, and any failure of the plugin.
    """
    if not isinstance(connector, SourceConnector) or parsed is None:
        return None
    name = findings.attempt_plugin("spec.config", f"{alias}.standard_input", lambda: connector.standard_input(parsed))
    if name is not None:
        findings.warn(name, "is not set, so standard input is read, which is always empty in a pod")
    return name
