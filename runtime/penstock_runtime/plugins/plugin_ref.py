"""Reference to a plugin class, and the checks before it is used."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, Generic, TypeVar

from penstock import (
    API_VERSION,
    ConfigError,
    Connector,
    Converter,
    HeaderConverter,
    Plugin,
    PluginContext,
    Predicate,
    Transform,
)
from penstock_model.connect import plugin_names
from penstock_model.contracts.task_spec import PluginReference
from penstock_runtime.java_plugins.classes import class_of
from penstock_runtime.java_plugins.java_class import PREFIX, JavaClass

__all__ = ["ENDINGS", "PluginRef", "broken", "check_variant", "checked", "kind_name", "load", "make"]

ENDINGS: Final[Mapping[type[Plugin], tuple[str, ...]]] = {
    Connector: plugin_names.ENDINGS["connector"],
    Converter: plugin_names.ENDINGS["converter"],
    HeaderConverter: plugin_names.ENDINGS["headerConverter"],
    Transform: plugin_names.ENDINGS["transform"],
    Predicate: plugin_names.ENDINGS["predicate"],
}
"""Kinds of plugin, and the endings of class names that Kafka Connect lets users omit."""

_P = TypeVar("_P", bound=Plugin)
P_co = TypeVar("P_co", bound=Plugin, covariant=True)


@dataclass(frozen=True, slots=True)
class PluginRef(Generic[P_co]):
    """Plugin class, with its alias, version and origin."""

    alias: str
    cls: type[P_co]
    version: str
    distribution: str
    variant: str | None = None
    versions: tuple[str, ...] = ()
    """All available versions of the class, if there are several."""

    @property
    def reference(self) -> str:
        """String from which another process loads the same class (`load`)."""
        if issubclass(self.cls, JavaClass):
            return self.cls.reference()
        return f"{self.cls.__module__}:{self.cls.__qualname__}"

    def spec(self) -> PluginReference:
        """Return the reference in the form of a task spec."""
        return PluginReference(reference=self.reference, alias=self.alias, version=self.version, variant=self.variant)


def load(reference: str) -> type[Plugin]:
    """Return the class of a `PluginRef.reference`.

    Raises:
        ConfigError: it cannot be imported, or is not a plugin that this runtime can run; the message says why.
    """
    if reference.startswith(PREFIX):
        return class_of(reference)
    module, _, name = reference.partition(":")
    return checked(reference, lambda: attrgetter(name)(importlib.import_module(module)))


def checked(name: str, get: Callable[[], object], origin: str = "") -> type[Plugin]:
    """Return the class that `get` imports.

    Args:
        name: name of the plugin, for messages.
        get: imports the class.
        origin: the distribution that declares the class, for messages.

    Raises:
        ConfigError: the class cannot be imported, is not a plugin, is abstract, or needs a newer runtime.
    """
    try:
        cls = get()
    except (Exception, SystemExit) as e:
        raise broken(name, e, origin) from e
    if not (isinstance(cls, type) and issubclass(cls, Plugin)):
        what = f"of type {type(cls).__name__}" if not isinstance(cls, type) else "not a subclass of penstock.Plugin"
        raise ConfigError(f"{name}{origin} is not a plugin: it is {what}")
    if inspect.isabstract(cls):
        lacking = ", ".join(sorted(cls.__abstractmethods__))
        raise ConfigError(f"{name}{origin} is incomplete: it does not define {lacking}")
    if cls.api_version > API_VERSION:
        raise ConfigError(
            f"{name} needs plugin API {cls.api_version}, but this runtime has {API_VERSION}; "
            f"use a newer Penstock or an older version of the plugin"
        )
    return cls


def broken(name: str, cause: BaseException, origin: str = "") -> ConfigError:
    """Return the error for a plugin whose import failed."""
    reason = f"{type(cause).__name__}: {cause}"
    return ConfigError(f"{name}{origin} is installed but cannot be imported: {reason}{_remedy(cause, origin)}")


def _remedy(cause: BaseException, origin: str) -> str:
    if isinstance(cause, ModuleNotFoundError) and cause.name:
        if origin.startswith((f" ({cause.name}:", f" ({cause.name}.")):
            return "; its distribution names a module that does not exist; reinstall it, or install another version"
        return f"; install the package that provides the module {cause.name.partition('.')[0]}"
    if isinstance(cause, (AttributeError, ImportError)):
        return "; its version is incompatible with that of a package that it needs"
    return ""


def make(cls: type[_P], context: PluginContext) -> _P:
    """Create a plugin object with its context."""
    plugin = cls()
    plugin.context = context
    return plugin


def check_variant(found: PluginRef[Plugin], name: str) -> None:
    """Check the variant in a name (`$Key`, `$Value`).

    Raises:
        ConfigError: the name has no variant and the plugin requires one, or the plugin does not have the variant.
    """
    if issubclass(found.cls, JavaClass):
        return  # a nested class of Java is a separate plugin
    variants = found.cls.variants if issubclass(found.cls, Transform) else ()
    if found.variant in variants or (not variants and found.variant is None):
        return
    if variants:
        wanted = ", ".join(f"{found.alias}${v}" for v in variants)
        raise ConfigError(f"{name} is not the name of a variant. Did you mean {wanted}?")
    raise ConfigError(f"{found.alias} has no variant ${found.variant}; write {found.alias}")


def kind_name(cls: type[Plugin]) -> str:
    """Return the name of the kind: `Connector`, `Transform` and so on."""
    return next((k.__name__ for k in ENDINGS if issubclass(cls, k)), "Plugin")
