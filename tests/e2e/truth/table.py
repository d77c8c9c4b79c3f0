"""All faults, by what is broken."""

from typing import Final

from .fault import Fault
from .faults import configuration, database, kafka, kubernetes, operator, plugin, plugin_versions, process

__all__ = ["GROUPS"]

GROUPS: Final[dict[str, tuple[Fault, ...]]] = {
    "Kafka": kafka.FAULTS,
    "Processes and pods of tasks": process.FAULTS,
    "Plugins and data": plugin.FAULTS,
    "Databases": database.FAULTS,
    "Configuration": configuration.FAULTS,
    "Kubernetes": kubernetes.FAULTS,
    "Plugin versions": plugin_versions.FAULTS,
    "Operator and release": operator.FAULTS,
}
