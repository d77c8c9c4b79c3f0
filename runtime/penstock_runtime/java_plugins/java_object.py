"""Configured object of a Java plugin in the JVM of this process: a transform, predicate, converter or config provider."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

from penstock.errors import ConfigError, DataError, Problem
from penstock_runtime.java_plugins.catalog import JavaPlugin
from penstock_runtime.java_plugins.hosts import host
from penstock_runtime.java_plugins.java_class import JavaClass, JavaConfig
from penstock_runtime.java_plugins.java_error import JavaError, JvmEnded, PluginFailed
from penstock_runtime.process.liveness import LOOP

__all__ = ["CheckedConfig", "JavaObject"]

_CONFIGURE: Final = 60.0  # seconds


class CheckedConfig(JavaConfig):
    """Properties of a plugin within a connector, checked by its configuration definition."""

    @classmethod
    def parse(cls, texts: Mapping[str, str], prefix: str = "") -> Self:
        """Check the properties as Kafka Connect does when it validates a connector.

        Raises:
            ConfigError: properties are missing or invalid; lists all of them.
        """
        given = {f"{prefix}{name}": text for name, text in {**texts, **cls.added(prefix)}.items()}
        place = {"location": cls.location, "class": cls.class_name}
        what = f"cannot validate the configuration of {cls.class_name}"
        try:
            values = host().call("validate_definition", _CONFIGURE, **place, prefix=prefix, properties=given)
        except JavaError as e:
            raise ConfigError(f"{what}: {e.text}") from None
        except JvmEnded as e:
            raise e.during(what) from None
        problems = [Problem(name, message) for name, messages in values for message in messages]
        if problems:
            raise ConfigError(problems)
        return super().parse(texts, prefix)

    @classmethod
    def added(cls, prefix: str) -> Mapping[str, str]:
        """Return the properties that Kafka Connect adds before validation."""
        return {}


class JavaObject:
    """Configured Java object, identified by a number.

    Args:
        plugin: adapter or class of the plugin.
        method: method of the host that creates the object.
        type_property: the property that names the class.
        arguments: arguments of the method, in addition to the class.

    Raises:
        ConfigError: the plugin refuses its properties.
        JvmEnded: the JVM has ended, or does not answer.
    """

    longest: ClassVar[float] = 300.0
    """Timeout of a call in seconds, if no task loop sets one."""

    def __init__(self, plugin: JavaClass | JavaPlugin, method: str, type_property: str, **arguments: Any) -> None:
        self._host = host()
        self._name = plugin.class_name
        place = {"location": plugin.location, "class": plugin.class_name}
        try:
            self.number = self._host.call(method, _CONFIGURE, **place, **arguments)
        except JavaError as e:
            raise ConfigError(Problem(type_property, f"cannot configure {self._name}: {e.text}")) from None
        except JvmEnded as e:
            raise e.during(f"cannot configure {self._name}") from None

    def call(self, method: str, doing: str, **arguments: Any) -> Any:
        """Call a method of the host.

        Args:
            method: name of the method.
            doing: operation, for messages: `apply`.
            arguments: arguments of the method.

        Raises:
            DataError: a value that was sent does not match its schema.
            PluginFailed: the plugin failed as a whole or does not return, or the JVM has ended.
        """
        limit = LOOP.call or self.longest
        try:
            return self._host.call(method, limit, **arguments)
        except JavaError as e:
            if e.kind == "data":
                raise DataError(e.text) from None
            raise PluginFailed(f"cannot {doing} {self._name}: {e.text}") from None
        except JvmEnded as e:
            raise self._ended(method, limit, e).during(f"cannot {doing} {self._name}") from None

    def _ended(self, method: str, limit: float, error: JvmEnded) -> JvmEnded:
        if not self._host.is_open:
            return error
        self._host.kill()
        return JvmEnded(f"its {method}() has not returned within {limit:g} s, so its JVM was killed")

    def close(self, method: str, **arguments: Any) -> None:
        """Close the object, if the JVM still runs."""
        if self._host.is_open:
            self._host.call(method, _CONFIGURE, **arguments)
