"""What Prometheus reads of the operator: how it works, and the connectors that there are now."""

from penstock_operator.metrics.connector_rows import STATES, ConnectorFigures
from penstock_operator.metrics.operator_metrics import Metrics, QueueFigures, RolloutFigures

__all__ = ["STATES", "ConnectorFigures", "Metrics", "QueueFigures", "RolloutFigures"]
