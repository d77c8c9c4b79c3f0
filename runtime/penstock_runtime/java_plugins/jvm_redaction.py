"""Redact the JVM's output and log while this process plans connectors.

A task's log hides the secrets of its connector. A process that plans several connectors has no separate log for each.
"""

from collections.abc import Callable

__all__ = ["hidden", "hide"]

_redactors: dict[str, Callable[[str], str]] = {}


def hide(connector: str, redact: Callable[[str], str]) -> None:
    """Apply `redact` from now on; it replaces the previous function for this connector."""
    _redactors[connector] = redact


def hidden(text: str) -> str:
    """Return the text without the secrets of all connectors."""
    for redact in tuple(_redactors.values()):
        text = redact(text)
    return text
