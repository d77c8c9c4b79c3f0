"""Plan a connector: check its configuration and split it into tasks. Needs no Kafka, and a JVM only for Java plugins."""

from penstock_runtime.plan.planning import Plan, plan

__all__ = ["Plan", "plan"]
