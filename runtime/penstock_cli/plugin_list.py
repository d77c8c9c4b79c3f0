"""`penstock plugins`: lists plugins with all of their versions, and describes their configuration."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Self, get_args

from penstock import ConfigError, Plugin, Problem, Transform
from penstock.config import nearest
from penstock_cli.plugin_rows import Row, offers_of, rows, within
from penstock_cli.published import Given
from penstock_model.contracts.definitions import ClassDefinition, ConfigKey, config_key_info
from penstock_model.contracts.plugin_mount import PluginType
from penstock_runtime.java_plugins.catalog import config_keys
from penstock_runtime.java_plugins.java_class import JavaClass
from penstock_runtime.plugins.definitions import definition_of
from penstock_runtime.plugins.discovery import PluginRef, Plugins

__all__ = ["listing"]

_TYPES: Final[Mapping[str, PluginType]] = {word.lower(): word for word in get_args(PluginType)}
"""Types in a PluginVersion, by the kinds of rows."""

_VERSION_PROPERTIES: Final[Mapping[str, str]] = {
    "source": "spec.version",
    "sink": "spec.version",
    "transform": "transforms.<alias>.plugin.version",
    "predicate": "predicates.<alias>.plugin.version",
    "converter": "key.converter.plugin.version, value.converter.plugin.version",
    "headerconverter": "header.converter.plugin.version",
}
"""The properties that choose a version, by the kinds of rows."""


def listing(
    name: str | None, *, as_json: bool, version: str | None = None, given: Given | None = None
) -> tuple[str, bool]:
    """Return the text to print, and whether it is a result rather than an error.

    Args:
        name: show this plugin with its configuration; None lists all.
        as_json: print JSON: a list of all plugins, or the properties of one plugin as in Kafka Connect's REST API.
        version: show only this version, or a range of versions; None shows all.
        given: PluginVersions of one namespace, to list in addition to installed plugins; None: only installed ones.
    """
    plugins = Plugins.installed()
    every = list(plugins.every())
    refs = [r for r in every if isinstance(r, PluginRef) and not issubclass(r.cls, JavaClass)]
    broken = [p for p in every if isinstance(p, Problem)]
    try:
        offers, refused = offers_of(given.plugin_versions if given is not None else ())
        found = rows(refs, offers, plugins.java)
        if name is not None:
            found = [r for r in found if r.is_named(name)] or rows(_by_name(name, plugins, broken, found), ())
        if version is not None:
            found = within(found, version, name)
        if as_json:
            whole = [_as_data(r) for r in found] if name is None else _key_infos(found, given)
            return json.dumps(whole, indent=2) + "\n", True
    except ConfigError as e:
        return f"{e}\n", False
    broken_lines = "".join(f"broken: {p}\n" for p in refused)
    if name is not None:
        return "\n".join(_described(r, given) for r in found) + broken_lines, True
    broken_lines = "".join(f"broken: {p.message}\n" for p in broken) + broken_lines
    table = _table(found, with_origin=given is not None)
    return f"{table}\n\nShow a plugin's configuration: penstock plugins NAME\n{broken_lines}", True


def _table(found: Sequence[Row], *, with_origin: bool) -> str:
    head = ["PLUGIN", "KIND", "VERSION", *(["FROM"] if with_origin else []), "REPLACES"]
    lines = [head]
    for r in found:
        origin = [_origin(r)] if with_origin else []
        name = r.alias if r.java is None else r.java.class_name
        is_default = len(r.versions) > 1 and r.version == r.versions[0]
        lines.append(
            [name, r.kind, f"{r.version} (default)" if is_default else r.version, *origin, ", ".join(r.java_names)]
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def _origin(row: Row) -> str:
    if row.java is not None:
        return row.java.location
    return row.offer.name if row.offer is not None else "the runtime"


def _by_name(name: str, plugins: Plugins, broken: Sequence[Problem], found: Sequence[Row]) -> list[PluginRef[Plugin]]:
    """Return the plugin whose class has this path.

    Raises:
        ConfigError: there is none, or it is broken. The message says why.
    """
    plain = name.partition("$")[0]
    if named := [Problem("", p.message) for p in broken if p.property == plain]:
        raise ConfigError(named)
    if "." in name or ":" in name:
        return [plugins.find(Plugin, name)]
    known = [r.alias for r in found]
    near = nearest(plain, known) or next((k for k in known if k.lower() == plain.lower()), None)
    raise ConfigError(
        f"cannot find plugin {name}{f'; did you mean {near}?' if near else ';'} `penstock plugins` lists all plugins"
    )


def _as_data(row: Row) -> dict[str, Any]:
    ref = row.ref
    return {
        "alias": row.alias,
        "class": ref.reference if ref is not None else row.java.class_name if row.java is not None else None,
        "kind": row.kind,
        "version": row.version,
        "defaultVersion": row.versions[0],
        "recommendedVersions": list(row.versions),
        "pluginVersion": row.offer.name if row.offer is not None else None,
        "image": row.offer.image if row.offer is not None else None,
        "javaNames": list(row.java_names),
        "variants": list(ref.cls.variants) if ref is not None and issubclass(ref.cls, Transform) else [],
    }


class _Configuration(NamedTuple):
    """Configuration of a plugin: its properties, description and variants."""

    keys: Sequence[ConfigKey]
    description: str = ""
    variants: Sequence[str] = ()

    @classmethod
    def of(cls, definition: ClassDefinition) -> Self:
        return cls(definition.config, definition.description, definition.variants)


def _key_infos(found: Sequence[Row], given: Given | None) -> list[dict[str, object]]:
    """Return the properties of the latest version, as `GET /connector-plugins/<name>/config` returns those of the plugin."""
    kind = found[0].kind  # a converter's name also means the header converter that replaces the same class
    return [config_key_info(k) for k in _configuration([r for r in found if r.kind == kind][-1], given).keys]


def _configuration(row: Row, given: Given | None) -> _Configuration:
    """Return the configuration of a row's plugin.

    Raises:
        ConfigError: a PluginVersion publishes it, but it is not available.
    """
    if row.java is not None:
        return _Configuration(config_keys(row.java.location, row.java.class_name))
    if row.ref is not None:
        return _Configuration.of(definition_of(row.alias, row.ref.cls, row.version))
    assert row.offer is not None
    assert given is not None
    definition = given.definitions(row.offer.name).of(row.class_name, _TYPES[row.kind], row.version)
    if definition is None:
        raise ConfigError(
            f"cannot show the configuration of {row.class_name} {row.version}: PluginVersion {row.offer.name} has "
            "not published the definitions of this class; see its condition Ready"
        )
    return _Configuration.of(definition)


def _described(row: Row, given: Given | None) -> str:
    name, origin = row.class_name, []
    if row.java is not None:
        name, origin = row.java.class_name, [f"  Java, from {row.java.location}"]
    if row.offer is not None:
        origin = [f"  PluginVersion {row.offer.name}, image {row.offer.image}"]
    title = f"{name} {row.version} ({row.kind})"
    try:
        configuration = _configuration(row, given)
    except ConfigError as e:
        return "\n".join([title, *origin, f"  {e}"]) + "\n"
    if configuration.variants:
        title += "  write " + " or ".join(f"{row.alias}${v}" for v in configuration.variants)
    description = [textwrap.indent(configuration.description, "  ")] if configuration.description else []
    versions = f"  {_VERSION_PROPERTIES[row.kind]}  (default {row.versions[0]}; recommended {', '.join(row.versions)})"
    return "\n".join([title, *origin, *description, "", versions, *_described_properties(configuration)]) + "\n"


def _described_properties(configuration: _Configuration) -> list[str]:
    lines = []
    for k in configuration.keys:
        default = "required" if k.required else f"default {json.dumps(k.default_value)}"
        valid = f"; {k.valid}" if k.valid and k.type != "BOOLEAN" else ""
        lines.append(f"  {k.name}  ({k.type}, {default}, {k.importance}{valid})")
        lines.append(textwrap.fill(k.documentation, 100, initial_indent="      ", subsequent_indent="      "))
    return lines
