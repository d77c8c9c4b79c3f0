"""Redact the JVM's output and log while this process plans connectors.

A task's log redacts the secrets of its connector. A process that plans several connectors has only one log for all.
"""

from collections.abc import Callable

__all__ = ["hidden", "hide"]

_redactors: dict[str, Callable[[str], str]] = {}


def hide(connector: str, redact: Callable[[str], str]) -> None:
    """Use `redact` from now on, instead of any previous function for this connector."""
    _redactors[connector] = redact


def hidden(text: str) -> str:
    """Return the text without the secrets of all connectors."""
    for redact in tuple(_redactors.values()):
        text = redact(text)
    return text
