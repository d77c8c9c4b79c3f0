"""Plugin path of this process (Kafka Connect's `plugin.path`), and the Java plugins on it."""

from collections.abc import Sequence
from functools import cache

from penstock_runtime.java_plugins.catalog import JavaPlugin, discover

__all__ = ["java_plugins", "use_plugin_path"]

_path: list[str] = []


def use_plugin_path(path: Sequence[str]) -> None:
    """Look for Java plugins in these folders, jars and archives from now on."""
    _path[:] = path
    _discovered.cache_clear()


def java_plugins() -> tuple[JavaPlugin, ...]:
    """Return the Java plugins of this process; the first call lists them in a JVM.

    Raises:
        ConfigError: an entry of the path cannot be used.
        ConnectError: Java cannot be run.
    """
    return _discovered(tuple(_path))


@cache
def _discovered(path: tuple[str, ...]) -> tuple[JavaPlugin, ...]:
    return discover(path) if path else ()
