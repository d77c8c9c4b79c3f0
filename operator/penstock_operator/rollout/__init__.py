"""The rollout of a change of the release over its Connectors: a few at a time, stopped where they fail."""

from penstock_operator.rollout.limiter import RolloutLimiter
from penstock_operator.rollout.startup import progress_of_all

__all__ = ["RolloutLimiter", "progress_of_all"]
