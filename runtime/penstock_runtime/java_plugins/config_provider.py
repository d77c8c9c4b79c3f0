"""Configured Java config provider (KIP-297). It runs in the JVM of this process."""

from collections.abc import Collection, Mapping
from typing import ClassVar, Final

from penstock_runtime.java_plugins.catalog import JavaPlugin
from penstock_runtime.java_plugins.java_object import JavaObject

__all__ = ["KIND", "JavaConfigProvider"]

KIND: Final = "configprovider"


class JavaConfigProvider(JavaObject):
    """Java config provider.

    Args:
        plugin: class of the provider.
        name: name in the worker configuration.
        properties: parameters of the provider.

    Raises:
        ConfigError: the provider refuses its parameters.
        JvmEnded: the JVM has ended, or does not answer.
    """

    longest: ClassVar[float] = 60.0

    def __init__(self, plugin: JavaPlugin, name: str, properties: Mapping[str, str]) -> None:
        super().__init__(plugin, "make_provider", f"config.providers.{name}.class", properties=dict(properties))

    def get(self, path: str, keys: Collection[str]) -> tuple[Mapping[str, str], int | None]:
        """Return the values of those keys that exist at the path, and their time to live in milliseconds.

        Raises:
            PluginFailed: the provider failed or does not return, or the JVM has ended.
        """
        arguments = {"provider": self.number, "path": path, "keys": list(keys)}
        values, ttl = self.call("get_config", "get values from", **arguments)
        return values, ttl

    def end(self) -> None:
        """Close the provider, if the JVM still runs."""
        self.close("close_provider", provider=self.number)
