"""Prometheus metrics of the operator and of each connector."""

from penstock_operator.metrics.connector_rows import STATES, ConnectorFigures
from penstock_operator.metrics.operator_metrics import Metrics, QueueFigures, RolloutFigures

__all__ = ["STATES", "ConnectorFigures", "Metrics", "QueueFigures", "RolloutFigures"]
