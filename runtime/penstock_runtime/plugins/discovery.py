"""Find plugins by the names that configurations use, and load them only when they are requested.

A class is found by its alias (`FileStreamSource`), the alias of a connector with its ending
(`FileStreamSourceConnector`), other aliases without theirs (`Json` for `JsonConverter`), a Java name of Kafka Connect that
the class implements, and its path (`module:Class` or `module.Class`). A `$Key` or `$Value` after any of them is a variant.
Reading the installed entry points takes about 50 ms and imports no plugin; a plugin is imported when a name refers to it.
"""

import importlib
import importlib.metadata
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Final, TypeVar, cast

from penstock import (
    ConfigError,
    Connector,
    Plugin,
    Problem,
)
from penstock.config import nearest
from penstock_java_compat.property_text import trimmed
from penstock_model.connect.plugin_names import aliases
from penstock_model.connect.versions import Version, VersionRange
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_runtime.java_plugins.catalog import JavaPlugin, find_class
from penstock_runtime.java_plugins.classes import adapter
from penstock_runtime.java_plugins.config_provider import KIND as CONFIG_PROVIDER
from penstock_runtime.plugins.java_origins import how_to_get, is_java_name, is_known, similar_class
from penstock_runtime.plugins.mounted import distributions, is_in, is_named, python_folders
from penstock_runtime.plugins.plugin_path import java_plugins
from penstock_runtime.plugins.plugin_ref import ENDINGS, PluginRef, broken, check_variant, checked, kind_name, load

__all__ = ["GROUP", "PluginEntry", "PluginRef", "Plugins", "entries_in", "load"]

GROUP: Final = "penstock.plugins"
_CONNECTORS: Final = ("source", "sink")
_BUILT_IN: Final = "penstock"
"""Distribution of the built-in plugins."""
P = TypeVar("P", bound=Plugin)


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """Installed plugin, possibly not imported yet; `path` is `module:Class`."""

    alias: str
    path: str
    version: str
    distribution: str
    load: Callable[[], object]
    java_name: str = ""
    """Name of the Java class, which also finds the plugin; empty for a Python plugin."""

    def ref(self, variant: str | None = None, name: str | None = None) -> PluginRef[Plugin]:
        """Import the plugin.

        Raises:
            ConfigError: the plugin cannot be used; the message says why, and which distribution it belongs to.
        """
        of = f" of distribution {self.distribution} {self.version}" if self.distribution else ""
        cls = checked(name or self.alias, self.load, f" ({self.path}{of})")
        return PluginRef(self.alias, cls, self.version, self.distribution, variant)


class _Unknown(Exception):
    """Raised when no plugin has that name. The message names the missing Python module or class, if one was tried."""


class Plugins:
    """Installed plugins. Tests and embedders pass their own entries; `installed` reads those of the environment."""

    def __init__(
        self,
        entries: Iterable[PluginEntry],
        mounted: Mapping[str, Sequence[PluginEntry]] | None = None,
        first: Iterable[PluginEntry] = (),
        java: Iterable[JavaPlugin] = (),
        mounted_java: Mapping[str, Sequence[JavaPlugin]] | None = None,
    ) -> None:
        """Create a registry of plugins.

        Args:
            entries: entries of the environment.
            mounted: entries of images, by the places that they are for (`at`).
            first: entries that take precedence over all others.
            java: available Java plugins. Java connectors take precedence over `entries`; for other kinds `entries` take
                precedence, since Penstock's own plugins are faster.
            mounted_java: Java plugins of images, by the places that they are for.
        """
        self._mounted = mounted or {}
        self._mounted_java = mounted_java or {}
        self.java = tuple(java)
        connectors = tuple(_java_entry(p) for p in self.java if p.kind in _CONNECTORS)
        self._java_others = tuple(_java_entry(p) for p in self.java if p.kind not in (*_CONNECTORS, CONFIG_PROVIDER))
        self._layers = tuple(first), connectors, tuple(entries)
        self._entries = tuple(chain.from_iterable((*self._layers, self._java_others)))

    @classmethod
    def of(cls, classes: Mapping[str, type[Plugin]], version: str = "1.0.0", distribution: str = "test") -> "Plugins":
        """Return a registry of these classes under these aliases, for tests and embedders."""
        return cls(
            PluginEntry(alias, f"{c.__module__}:{c.__qualname__}", version, distribution, lambda c=c: c)  # type: ignore[misc]
            for alias, c in classes.items()
        )

    @staticmethod
    def installed(mounts: Sequence[PluginMount] = ()) -> "Plugins":
        """Return the plugins of the environment's entry points and of mounted images; they are read once per process."""
        return _installed(tuple(mounts), java_plugins())

    @property
    def entries(self) -> tuple[PluginEntry, ...]:
        """All plugins, not loaded."""
        return self._entries

    def every(self) -> Iterator[PluginRef[Plugin] | Problem]:
        """Load and yield all plugins; for a plugin that cannot be used, yield the problem instead."""
        for entry in sorted(self._entries, key=lambda e: e.alias):
            try:
                yield entry.ref()
            except ConfigError as e:
                yield Problem(entry.alias, e.problems[0].message)

    def find(
        self, kind: type[P], name: str, *, property_name: str = "", version: VersionRange | None = None
    ) -> PluginRef[P]:
        """Return the plugin of that kind and name.

        Args:
            kind: `Connector`, `SourceConnector`, `Transform`, `Predicate`, `Converter` or `HeaderConverter`.
            name: name as in a configuration.
            property_name: the property that holds the name, for messages.
            version: requested versions; if several match, the latest is returned.

        Raises:
            ConfigError: the plugin does not exist, is of another kind, is broken, or needs a newer runtime; one problem,
                under `property_name`.
        """
        name = trimmed(name)
        try:
            return self._find(kind, name, version)
        except _Unknown as e:
            if undeclared := self._undeclared(name):
                return Plugins((), java=undeclared).find(kind, name, property_name=property_name, version=version)
            where = f"Invalid value {name} for configuration {property_name}: " if property_name else ""
            plain = name.partition("$")[0]
            is_java = is_java_name(plain) or is_known(plain)
            more = f"{_of_a_project(kind, name)}{how_to_get(plain)}"
            if is_java:
                near = self._similar(kind, plain)
                text = f"{where}Class {name} could not be found.{near or more}"
            else:
                offer, near = self._offer(kind, name)
                text = f"{where}Class {name} could not be found{e}.{more}{near} {offer}"
            raise ConfigError(Problem(property_name, text)) from None
        except ConfigError as e:
            raise ConfigError(Problem(property_name, p.message) for p in e.problems) from e

    def _find(self, kind: type[P], name: str, version: VersionRange | None) -> PluginRef[P]:
        plain, _, variant = name.partition("$")
        entry = self._entry(kind, plain)
        if entry is None or (variant and entry.java_name):  # a nested class of Java is a separate plugin
            entry = self._java_named(kind, name)
        if entry is not None and entry.java_name:
            found = self._java_ref(kind, entry.java_name, version)
        else:
            found = entry.ref(variant or None, name) if entry is not None else self._by_path(plain, variant or None)
        if not issubclass(found.cls, kind):
            found = self._counterpart(kind, name, found)
        if version is not None and entry is not None and found.version not in version:
            found = self._in_version(kind, name, version, found, is_java=bool(entry.java_name))
        check_variant(found, name)
        return cast("PluginRef[P]", found)

    def at(self, place: str) -> "Plugins":
        """Return the plugins for one place: those of the image chosen for it take precedence; other images are ignored.

        Args:
            place: one of `PluginMount.places`: `connector`, `value.converter`, `transforms.hoist`.
        """
        java = (*self._mounted_java.get(place, ()), *self.java)
        return Plugins(self._layers[-1], first=self._mounted.get(place, ()), java=java)

    def _in_version(
        self, kind: type[Plugin], name: str, version: VersionRange, found: PluginRef[Plugin], *, is_java: bool
    ) -> PluginRef[Plugin]:
        """Return the plugin of the same name in the other language (Java or Python) if it has a requested version.

        Otherwise, return `found`; if there is another plugin, its versions are added to those of `found`. A built-in
        converter, transform or predicate is never replaced.
        """
        if not is_java and found.distribution == _BUILT_IN:
            return found
        others = Plugins(self._layers[-1], first=self._layers[0]) if is_java else Plugins((), java=self.java)
        try:
            other = others._find(kind, name, version)  # noqa: SLF001 (its own class)
        except (_Unknown, ConfigError):
            return found
        if other.version in version:
            return other
        return replace(found, versions=(*(found.versions or (found.version,)), *(other.versions or (other.version,))))

    def _undeclared(self, name: str) -> tuple[JavaPlugin, ...]:
        """Return Java plugins of that class that are on the plugin path but in no service manifest."""
        if "." not in name or ":" in name or any(p.class_name == name for p in self.java):
            return ()
        return find_class(dict.fromkeys(p.location for p in self.java), name)

    def _java_named(self, kind: type[Plugin], name: str) -> PluginEntry | None:
        """Return the Java plugin with that full or short class name.

        Raises:
            ConfigError: several classes have that short name.
        """
        every = (*self._layers[1], *self._java_others)
        if exact := [e for e in every if e.java_name == name]:
            return next((e for e in exact if _is_of(e, kind)), exact[0])
        possible = _aliases(kind, name)
        named = [e for e in every if e.alias in possible and _is_of(e, kind)]
        return _only(named, name) if named else None

    def _java_ref(self, kind: type[Plugin], class_name: str, version: VersionRange | None) -> PluginRef[Plugin]:
        """Return the latest requested version of a Java class or, if there is none, its latest version.

        If the class is of several kinds, versions of that kind are preferred.
        """
        named = [p for p in self.java if p.class_name == class_name and p.kind != CONFIG_PROVIDER]
        found = sorted([p for p in named if _is_of(_java_entry(p), kind)] or named, key=lambda p: Version(p.version))
        chosen = [p for p in found if version is None or p.version in version] or found
        versions = tuple(dict.fromkeys(p.version for p in found))
        return replace(_java_entry(chosen[-1]).ref(), versions=versions if len(versions) > 1 else ())

    def _entry(self, kind: type[Plugin], name: str) -> PluginEntry | None:
        """Return the entry that a name refers to; imports candidates only for Java names."""
        endings, possible = _endings(kind), _aliases(kind, name)
        for layer in self._layers:
            if found := [e for e in layer if e.alias in possible]:
                return _only(_meant(found, name, kind), name)
            if found := [e for e in layer if name in (e.path, e.path.replace(":", "."), e.java_name or e.path)]:
                return found[0]
        if "." not in name:
            return None
        last = name.rpartition(".")[2]
        likely = {last, *(last.removesuffix(e) for e in endings)}
        others = chain.from_iterable(self._layers)
        for entry in sorted(others, key=lambda e: e.alias not in likely):  # likely candidates first
            try:
                if name in entry.ref().cls.java_names:
                    return entry
            except ConfigError:
                if entry.alias in likely:
                    raise
        return None

    def _counterpart(self, kind: type[Plugin], name: str, found: PluginRef[Plugin]) -> PluginRef[Plugin]:
        """Return the plugin of the right kind that implements the same Java class, which may be of several kinds in Java.

        It gets the requested alias, since that is the name the user knows.
        """
        java = set(found.cls.java_names)
        for other in self.every():
            if isinstance(other, PluginRef) and issubclass(other.cls, kind) and java & set(other.cls.java_names):
                return replace(other, alias=found.alias, variant=found.variant)
        raise ConfigError(
            f"Class {name} does not implement the {kind.__name__} interface; it is a {kind_name(found.cls)}. "
            f"{self._offer(kind, name)[0]}"
        )

    def _by_path(self, name: str, variant: str | None) -> PluginRef[Plugin]:
        module, colon, attribute = name.partition(":") if ":" in name else name.rpartition(".")
        if not module or not colon:
            raise _Unknown
        try:
            loaded = importlib.import_module(module)
        except ModuleNotFoundError as e:
            if e.name and (module == e.name or module.startswith(f"{e.name}.")):
                raise _Unknown(f": no plugin has that name, and there is no Python module {e.name}") from None
            raise broken(name, e) from e
        except (Exception, SystemExit) as e:
            raise broken(name, e) from e
        try:
            named = attrgetter(attribute)(loaded)
        except AttributeError:
            raise _Unknown(f": the Python module {module} has no {attribute}") from None
        cls = checked(name, lambda: named)
        return PluginRef(attribute, cls, str(getattr(loaded, "__version__", "undefined")), module, variant)

    def _offer(self, kind: type[Plugin], name: str) -> tuple[str, str]:
        """Return a sentence with the plugins of that kind, and one that suggests the most similar name."""
        refs = [r for r in self.every() if isinstance(r, PluginRef) and issubclass(r.cls, kind)]
        names = [self._known_as(r) for r in refs]
        near = nearest(name.partition("$")[0].rpartition(".")[2], names)
        return f"Installed: {', '.join(names) or 'none'}.", f" Did you mean {near}?" if near else ""

    def _similar(self, kind: type[Plugin], name: str) -> str:
        """Return a sentence that suggests the Java class that a full name most likely misspells, or an empty string."""
        refs = (r for r in self.every() if isinstance(r, PluginRef) and issubclass(r.cls, kind))
        near = similar_class(name, (java for r in refs for java in r.cls.java_names))
        return f" Did you mean {near}?" if near else ""

    def _known_as(self, ref: PluginRef[Plugin]) -> str:
        """Return the alias that equals the Java class name, even if it belongs to another kind; else the plugin's alias."""
        java = (name.rpartition(".")[2] for name in ref.cls.java_names)
        return next((name for name in java if any(e.alias == name for e in self._entries)), ref.alias)


def _endings(kind: type[Plugin]) -> Sequence[str]:
    return next((e for k, e in ENDINGS.items() if issubclass(kind, k)), ())


def _aliases(kind: type[Plugin], name: str) -> frozenset[str]:
    return aliases(name, _endings(kind), of_connector=issubclass(kind, Connector))


def _of_a_project(kind: type[Plugin], name: str) -> str:
    """Return a hint to install the project in this folder, if it declares a plugin of that name."""
    plain = name.partition("$")[0]
    try:
        declared = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"][GROUP]
        is_declared = plain in declared.values() or any(alias in declared for alias in _aliases(kind, plain))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # missing or unreadable
        is_declared = False
    if not is_declared:
        return ""
    return " The pyproject.toml in this folder declares it; install it: python -m pip install --no-deps --editable ."


@cache
def _installed(mounts: tuple[PluginMount, ...], java: tuple[JavaPlugin, ...]) -> Plugins:
    folders = python_folders(mounts)
    own = (e for e in importlib.metadata.entry_points(group=GROUP) if e.dist is None or not is_in(e.dist, folders))
    mounted, mounted_java = dict[str, Sequence[PluginEntry]](), dict[str, Sequence[JavaPlugin]]()
    for m in mounts:
        if m.runtime == "Java":
            mounted_java |= dict.fromkeys(m.places, _listed(m))
        else:
            mounted |= dict.fromkeys(m.places, entries_in(m.folder, m.plugin))
    return Plugins(map(_entry, own), mounted, java=java, mounted_java=mounted_java)


def _listed(mount: PluginMount) -> tuple[JavaPlugin, ...]:
    """Return the Java classes of an image, as listed by its PluginVersion."""
    return tuple(JavaPlugin(c.type.lower(), c.java_names[0], mount.version, mount.folder) for c in mount.classes)


def entries_in(folder: str, plugin: str) -> tuple[PluginEntry, ...]:
    """Return the plugins of a distribution in the folder of an image, without importing them."""
    held = (d for d in distributions([folder]) if is_named(d, plugin))
    return tuple(_entry(e) for d in held for e in d.entry_points.select(group=GROUP))


def _java_entry(plugin: JavaPlugin) -> PluginEntry:
    return PluginEntry(
        plugin.simple_name,
        plugin.class_name,
        plugin.version,
        "",
        lambda: adapter(plugin.kind, plugin.location, plugin.class_name),
        java_name=plugin.class_name,
    )


def _entry(e: importlib.metadata.EntryPoint) -> PluginEntry:
    return PluginEntry(
        e.name, e.value, e.dist.version if e.dist else "undefined", e.dist.name if e.dist else "", e.load
    )


def _meant(found: list[PluginEntry], name: str, kind: type[Plugin]) -> list[PluginEntry]:
    """Return the best matches of a name: entries of that kind, and of those the ones with exactly that alias."""
    if len(found) > 1:
        found = [e for e in found if _is_of(e, kind)] or found
    return [e for e in found if e.alias == name] or found


def _is_of(entry: PluginEntry, kind: type[Plugin]) -> bool:
    try:
        return issubclass(entry.ref().cls, kind)
    except ConfigError:
        return False


def _only(found: list[PluginEntry], name: str) -> PluginEntry:
    if len({e.path for e in found}) > 1:
        paths = ", ".join(f"{e.path} ({e.distribution} {e.version})" for e in found)
        raise ConfigError(
            f"{name} is ambiguous, since several plugins have that name: {paths}; write the path of the intended one"
        )
    return found[0]
