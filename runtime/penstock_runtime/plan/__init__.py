"""The plan: is this connector's configuration good, and what does each of its tasks get? Starts no JVM, asks no Kafka."""

from penstock_runtime.plan.planning import Plan, plan

__all__ = ["Plan", "plan"]
