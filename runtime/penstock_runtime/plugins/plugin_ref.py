"""A plugin class that has been found, and what must hold before it is used."""

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
"""The kinds of plugin, and what Kafka Connect lets users leave out at the end of a class's name."""

_P = TypeVar("_P", bound=Plugin)
P_co = TypeVar("P_co", bound=Plugin, covariant=True)


@dataclass(frozen=True, slots=True)
class PluginRef(Generic[P_co]):
    """A plugin class and what is known of it."""

    alias: str
    cls: type[P_co]
    version: str
    distribution: str
    variant: str | None = None
    versions: tuple[str, ...] = ()
    """All versions of the class that are here, where there are several."""

    @property
    def reference(self) -> str:
        """The text by which another process loads the same class (`load`)."""
        if issubclass(self.cls, JavaClass):
            return self.cls.reference()
        return f"{self.cls.__module__}:{self.cls.__qualname__}"

    def spec(self) -> PluginReference:
        """As the task spec has it."""
        return PluginReference(reference=self.reference, alias=self.alias, version=self.version, variant=self.variant)


def load(reference: str) -> type[Plugin]:
    """The class of a `PluginRef.reference`.

    Raises:
        ConfigError: it cannot be imported, or is no plugin that this runtime can run; the message says why.
    """
    if reference.startswith(PREFIX):
        return class_of(reference)
    module, _, name = reference.partition(":")
    return checked(reference, lambda: attrgetter(name)(importlib.import_module(module)))


def checked(name: str, get: Callable[[], object], whence: str = "") -> type[Plugin]:
    """The class that `get` imports.

    Args:
        name: for messages.
        get: imports it.
        whence: for messages: which distribution says that it is there.

    Raises:
        ConfigError: it cannot be imported, is no plugin, or needs a newer runtime.
    """
    try:
        cls = get()
    except (Exception, SystemExit) as e:
        raise broken(name, e, whence) from e
    if not (isinstance(cls, type) and issubclass(cls, Plugin)):
        what = f"of type {type(cls).__name__}" if not isinstance(cls, type) else "no subclass of penstock.Plugin"
        raise ConfigError(f"{name}{whence} is no plugin: it is {what}")
    if inspect.isabstract(cls):
        lacking = ", ".join(sorted(cls.__abstractmethods__))
        raise ConfigError(f"{name}{whence} is not complete: it does not define {lacking}")
    if cls.api_version > API_VERSION:
        raise ConfigError(
            f"{name} was written for plugin API {cls.api_version}, this runtime has {API_VERSION}: "
            f"use a newer Penstock or an older version of the plugin"
        )
    return cls


def broken(name: str, cause: BaseException, whence: str = "") -> ConfigError:
    """The error of a plugin whose import fails."""
    reason = f"{type(cause).__name__}: {cause}"
    return ConfigError(f"{name}{whence} is installed but cannot be imported: {reason}{_remedy(cause, whence)}")


def _remedy(cause: BaseException, whence: str) -> str:
    if isinstance(cause, ModuleNotFoundError) and cause.name:
        if whence.startswith((f" ({cause.name}:", f" ({cause.name}.")):
            return "; its distribution names a module that is not there, so install it anew or in another version"
        return f"; install what brings the module {cause.name.partition('.')[0]} beside it"
    if isinstance(cause, (AttributeError, ImportError)):
        return "; its version and that of what it needs do not go together"
    return ""


def make(cls: type[_P], context: PluginContext) -> _P:
    """A plugin object that knows where it runs."""
    plugin = cls()
    plugin.context = context
    return plugin


def check_variant(found: PluginRef[Plugin], name: str) -> None:
    """Raises ConfigError unless the name says which side of a record where the plugin needs it, and only there."""
    if issubclass(found.cls, JavaClass):
        return  # a nested class of Java is a plugin of its own
    variants = found.cls.variants if issubclass(found.cls, Transform) else ()
    if found.variant in variants or (not variants and found.variant is None):
        return
    if variants:
        wanted = ", ".join(f"{found.alias}${v}" for v in variants)
        raise ConfigError(f"{name} does not say what it works on. Did you mean {wanted}?")
    raise ConfigError(f"{found.alias} has no variant ${found.variant}; write {found.alias}")


def kind_name(cls: type[Plugin]) -> str:
    """`Connector`, `Transform` and so on."""
    return next((k.__name__ for k in ENDINGS if issubclass(cls, k)), "Plugin")
