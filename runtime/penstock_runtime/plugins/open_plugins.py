"""Track the open plugins of a chain, each of which must be closed once."""

import logging
from typing import TypeAlias, TypeVar

from penstock.plugin import Converter, HeaderConverter, Predicate, Transform
from penstock_runtime.process.plugin_exit import as_failure

__all__ = ["ChainPlugin", "OpenPlugins"]

log = logging.getLogger(__name__)
ChainPlugin: TypeAlias = Transform | Predicate | Converter | HeaderConverter
P = TypeVar("P", bound=ChainPlugin)


class OpenPlugins:
    """Transforms, predicates and converters that are not closed yet."""

    def __init__(self) -> None:
        self._open: list[tuple[str, ChainPlugin]] = []

    def add(self, place: str, plugin: P) -> P:
        """Track a plugin. Call this before `configure`, so that a plugin that rejects its configuration is closed too."""
        self._open.append((place, plugin))
        return plugin

    def close(self) -> None:
        """Close each plugin once, in reverse order. If one raises, log the error and continue with the others."""
        while self._open:
            place, plugin = self._open.pop()
            try:
                plugin.close()
            except BaseException as e:  # noqa: BLE001 (a plugin may raise anything)
                log.warning("Cannot close the plugin of %s: %s", place, as_failure(e))
