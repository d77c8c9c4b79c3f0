"""A transform as a test configures it, and what comes of work that may fail."""

from collections.abc import Callable
from typing import Any

from penstock import Transform

__all__ = ["configured", "outcome"]


def configured(plugin: Transform, side: str = "value", **texts: str) -> Any:
    """The plugin with these properties; an underscore stands for a dot."""
    plugin.side = side
    plugin.configure(plugin.Config.parse({name.replace("_", "."): text for name, text in texts.items()}))
    return plugin


def outcome(work: Callable[[], object]) -> object:
    """Its result, or the class of its error."""
    try:
        return work()
    except Exception as e:  # noqa: BLE001 (an error is an outcome, too)
        return type(e)
