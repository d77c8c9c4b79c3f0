"""Redaction of what the JVM prints and logs while this process plans connectors.

A task's log hides its own secrets. A process that plans several connectors has no log for each of them.
"""

from collections.abc import Callable

__all__ = ["hidden", "hide"]

_redactors: dict[str, Callable[[str], str]] = {}


def hide(connector: str, redact: Callable[[str], str]) -> None:
    """Hide from now on what `redact` hides, in place of what was hidden for this connector."""
    _redactors[connector] = redact


def hidden(text: str) -> str:
    """Return the text without the secrets of all connectors."""
    for redact in tuple(_redactors.values()):
        text = redact(text)
    return text
