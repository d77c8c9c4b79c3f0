"""List the Java plugins on a plugin path, with their versions and properties."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock.config import Importance, Property
from penstock.errors import ConfigError
from penstock_model.contracts.definitions import ConfigKey
from penstock_runtime.class_files import newer_class
from penstock_runtime.java_home import find_java
from penstock_runtime.java_plugins.hosts import host
from penstock_runtime.java_plugins.java_error import JavaError, JvmEnded
from penstock_runtime.java_plugins.locations import jars_of, plugin_locations

__all__ = ["KINDS", "JavaPlugin", "config_keys", "discover", "find_class", "plugins_in", "properties_of"]

log = logging.getLogger(__name__)

KINDS: Final = {
    "source": "source",
    "sink": "sink",
    "transformation": "transform",
    "predicate": "predicate",
    "converter": "converter",
    "header_converter": "headerconverter",
    "configprovider": "configprovider",
}
"""Kafka Connect's plugin types that Penstock runs, and their names in `penstock plugins`."""
_DISCOVERY: Final = 120.0
_CALL: Final = 60.0


@dataclass(frozen=True, slots=True)
class JavaPlugin:
    """Plugin class in a plugin location.

    Attributes:
        kind: one of the values of `KINDS`.
        class_name: Java class.
        version: result of its `version()`; `undefined` if there is none.
        location: folder or jar of the plugin.
    """

    kind: str
    class_name: str
    version: str
    location: str

    @property
    def simple_name(self) -> str:
        """Name of the class without its package."""
        return self.class_name.rpartition(".")[2]


def discover(path: Sequence[str]) -> tuple[JavaPlugin, ...]:
    """Return the plugins on a plugin path.

    Raises:
        ConfigError: entries of the path cannot be used; lists all of them.
        ConnectError: Java cannot be run, or its JVM ends.
    """
    found: list[JavaPlugin] = []
    newer: list[str] = []
    for location in plugin_locations(path):
        of_location = plugins_in(str(location))
        if not of_location:  # Kafka Connect skips these too: a plugin path often holds other files
            cause = _newer_class(location)
            newer += [cause] if cause else []
            log.warning(
                "Found no Kafka Connect connector, transform, predicate, converter or config provider in %s%s",
                *(location, f": {cause}" if cause else ""),
            )
        found += of_location
    if path and not found:
        cause = (
            newer[0]
            if newer
            else (
                "no class in the jars is a Kafka Connect connector, transform, predicate, converter or config provider; "
                "check that it is the plugin's own folder"
            )
        )
        raise ConfigError(f"cannot find a plugin in {', '.join(path)}: {cause}")
    return tuple(found)


def _newer_class(location: Path) -> str:
    """Return which class of a plugin needs a newer Java, and what to do; empty if none does."""
    java = find_java().major
    return next((cause for jar in jars_of(location) if (cause := newer_class(jar, java))), "")


def plugins_in(location: str) -> list[JavaPlugin]:
    """Return the plugins in a location.

    Raises:
        ConfigError: the location cannot be read.
        ConnectError: Java cannot be run, or its JVM ends.
    """
    try:
        classes = host().call("plugins", _DISCOVERY, location=location)
    except JavaError as e:
        raise ConfigError(f"cannot list the plugins in {location}: {e}") from e
    except JvmEnded as e:
        raise e.during(f"cannot list the plugins in {location}") from None
    return _plugins(classes, location)


def find_class(locations: Iterable[str], class_name: str) -> tuple[JavaPlugin, ...]:
    """Return the plugins of this class in these locations, even if no service manifest names the class."""
    found: list[JavaPlugin] = []
    for location in locations:
        try:
            classes = host().call("find", _CALL, location=location, **{"class": class_name})
        except JavaError as e:
            log.warning("Cannot load %s from %s: %s", class_name, location, e)
            continue
        except JvmEnded as e:
            raise e.during(f"cannot load {class_name} from {location}") from None
        found += _plugins(classes, location)
    return tuple(found)


def _plugins(classes: Iterable[Sequence[Any]], location: str) -> list[JavaPlugin]:
    return [
        JavaPlugin(KINDS[kind], name, version or "undefined", location)
        for kind, name, version in classes
        if kind in KINDS
    ]


def config_keys(location: str, class_name: str) -> tuple[ConfigKey, ...]:
    """Return the configuration definition of a plugin of any kind.

    Raises:
        ConfigError: the class cannot be loaded, or its `config()` fails.
        JvmEnded: the JVM ends, or does not answer.
    """
    try:
        keys = host().call("config", _CALL, location=location, **{"class": class_name})
    except JavaError as e:
        raise ConfigError(f"cannot load {class_name} from {location}: {e}") from e
    except JvmEnded as e:
        raise e.during(f"cannot load {class_name} from {location}") from None
    return tuple(map(_config_key, keys))


def properties_of(location: str, class_name: str) -> tuple[Property, ...]:
    """Return the configuration definition of a plugin in the form of the Python API.

    Raises:
        ConfigError, JvmEnded: as `config_keys`.
    """
    return tuple(
        Property(k.name, k.type, k.default_value, k.required, Importance(k.importance), k.documentation, k.valid)
        for k in config_keys(location, class_name)
    )


def _config_key(packed: Sequence[Any]) -> ConfigKey:
    name, type_, required, default, importance, doc, valid, group, order, width, display, dependents = packed[:12]
    values, any_case, minimum, maximum = packed[12:]
    return ConfigKey(
        name=name,
        type=type_,
        required=required,
        default_value=default,
        importance=importance,
        documentation=doc,
        group=group,
        width=width,
        display_name=display,
        dependents=tuple(dependents),
        order_in_group=order,
        valid=valid,
        values=tuple(values) or None,
        any_case=any_case,
        minimum=_number(minimum),
        maximum=_number(maximum),
    )


def _number(text: str) -> int | float | None:
    if not text:
        return None
    return int(text) if text.removeprefix("-").isdecimal() else float(text)
