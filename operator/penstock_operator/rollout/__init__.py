"""Brings the Connectors of a release up to date, some at a time, and stops where they do not get healthy again."""

from penstock_operator.rollout.live import all_shares
from penstock_operator.rollout.places import Places

__all__ = ["Places", "all_shares"]
