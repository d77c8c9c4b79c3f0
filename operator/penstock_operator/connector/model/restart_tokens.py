"""Tokens of the annotations that request restarts. Pure."""

from collections.abc import Mapping
from typing import Final

__all__ = ["RESTART_ACTIONS", "restart_token"]

RESTART_ACTIONS: Final = ("restart", "restart-failed", "restart-tasks")
_PREFIX: Final = "penstock.dev/"
_TOKEN_LENGTH: Final = 100


def restart_token(annotations: Mapping[str, str], action: str) -> tuple[str, str]:
    """Return the token in an action's annotation, and the rest of the value; both are empty without the annotation."""
    token, _, rest = annotations.get(_PREFIX + action, "").strip().partition(" ")
    return token[:_TOKEN_LENGTH], rest
