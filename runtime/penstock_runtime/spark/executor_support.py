"""Connectors whose backlog executors can deliver: those that can be read or written from any machine."""

from penstock.source import SourceConnector
from penstock_runtime.pipeline.context import TaskContext

__all__ = ["reason_against_executors"]


def reason_against_executors(context: TaskContext) -> str | None:
    """Return why executors cannot deliver for a connector; None: they can."""
    connector, alias = context.connector, context.spec.plugins["connector"].alias
    if isinstance(connector, SourceConnector):
        if not connector.reads_anywhere(context.plugin_config):
            return f"{alias} does not declare that it can be read from any machine (SourceConnector.reads_anywhere)"
    elif not connector.writes_anywhere(context.plugin_config):
        return f"{alias} does not declare that it can be written from any machine (SinkConnector.writes_anywhere)"
    return None
