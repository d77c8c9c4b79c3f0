"""Merge patches that request an action of the operator, as `kubectl penstock` does. Pure."""

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["annotation_patch", "state_patch"]

_PREFIX: Final = "penstock.dev/"


def state_patch(state: str) -> Mapping[str, Any]:
    """Return the patch that sets `spec.state` (`Running`, `Paused`, `Stopped`)."""
    return {"spec": {"state": state}}


def annotation_patch(action: str, token: str, content: str = "") -> Mapping[str, Any]:
    """Return the patch that sets the annotation of an action.

    Args:
        action: `restart`, `restart-failed`, `restart-tasks`, `reset-topics`, `list-offsets`, `alter-offsets`,
            `reset-offsets`: the annotation without its prefix.
        token: new token. The operator never handles the same token twice.
        content: text after the token: numbers of tasks, or the JSON of an alter request.
    """
    return {"metadata": {"annotations": {f"{_PREFIX}{action}": f"{token} {content}".rstrip()}}}
