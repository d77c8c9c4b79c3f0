"""Rollout of a change of the release to its Connectors: a few at a time, and stopped where they fail."""

from penstock_operator.rollout.limiter import RolloutLimiter

__all__ = ["RolloutLimiter"]
