"""How decisions ask what a task's pod must be made from, without knowing pods."""

from collections.abc import Callable

from penstock_operator.connector.plans import Plan

__all__ = ["LifeOf"]

LifeOf = Callable[[Plan, int], str]
"""A hash of everything that a task's pod is made from (`pods.Maker.life`)."""
