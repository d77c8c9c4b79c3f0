"""`penstock plugins`: lists plugins with all of their versions, and describes their configuration."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from penstock import ConfigError, Plugin, Problem, Transform
from penstock.config import Property, nearest
from penstock_runtime.java_plugins.catalog import properties_of
from penstock_runtime.java_plugins.java_class import JavaClass
from penstock_runtime.local.plugin_rows import Row, offers_of, rows, within
from penstock_runtime.plugins.discovery import PluginRef, Plugins

__all__ = ["listing"]


def listing(
    name: str | None, *, as_json: bool, version: str | None = None, documents: Sequence[Mapping[str, Any]] | None = None
) -> tuple[str, bool]:
    """The text to print, and whether it is an answer and not an error.

    Args:
        name: show this plugin with its configuration; None lists all.
        as_json: print JSON.
        version: show this version alone, or a range of versions; None shows all.
        documents: PluginVersions of one namespace, besides what is installed; None: none were given.
    """
    plugins = Plugins.installed()
    every = list(plugins.every())
    refs = [r for r in every if isinstance(r, PluginRef) and not issubclass(r.cls, JavaClass)]
    broken = [p for p in every if isinstance(p, Problem)]
    try:
        offers, refused = offers_of(documents or ())
        found = rows(refs, offers, plugins.java)
        if name is not None:
            found = [r for r in found if r.is_named(name)] or rows(_by_name(name, plugins, broken, found), ())
        if version is not None:
            found = within(found, version, name)
    except ConfigError as e:
        return f"{e}\n", False
    if as_json:
        return json.dumps([_as_data(r) for r in found], indent=2) + "\n", True
    told = "".join(f"broken: {p}\n" for p in refused)
    if name is not None:
        return "\n".join(map(_described, found)) + told, True
    told = "".join(f"broken: {p.message}\n" for p in broken) + told
    table = _table(found, with_origin=documents is not None)
    return f"{table}\n\nOne plugin's configuration: penstock plugins NAME\n{told}", True


def _table(found: Sequence[Row], *, with_origin: bool) -> str:
    head = ["PLUGIN", "KIND", "VERSION", *(["FROM"] if with_origin else []), "STANDS IN FOR"]
    lines = [head]
    for r in found:
        origin = [_origin(r)] if with_origin else []
        name = r.alias if r.java is None else r.java.class_name
        lines.append([name, r.kind, r.version, *origin, ", ".join(r.java_names)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def _origin(row: Row) -> str:
    if row.java is not None:
        return row.java.location
    return row.offer.name if row.offer is not None else "the runtime"


def _by_name(name: str, plugins: Plugins, broken: Sequence[Problem], found: Sequence[Row]) -> list[PluginRef[Plugin]]:
    """The plugin whose class has this path.

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
        f"There is no plugin {name}.{f' Did you mean {near}?' if near else ''} penstock plugins lists all."
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
        "config": None if row.offer is not None else [_property(p) for p in _properties(row)],
    }


def _property(p: Property) -> dict[str, Any]:
    return {
        "name": p.name,
        "type": p.type,
        "required": p.required,
        "default": p.default if isinstance(p.default, (str, int, float, bool, list)) else None,
        "importance": p.importance.value,
        "documentation": p.doc,
        "validValues": p.valid,
    }


def _properties(row: Row) -> Sequence[Property]:
    if row.java is not None:
        return properties_of(row.java.location, row.java.class_name)
    return row.ref.cls.Config.properties() if row.ref is not None else ()


def _described(row: Row) -> str:
    ref = row.ref
    title = f"{row.alias} {row.version} ({row.kind})"
    if row.java is not None:
        title = f"{row.java.class_name} {row.version} ({row.kind})"
        return "\n".join([title, f"  Java, from {row.java.location}", "", *_described_properties(row)]) + "\n"
    if ref is None:
        offer = row.offer
        assert offer is not None
        where = f"PluginVersion {offer.name}, image {offer.image}"
        return f"{title}\n  {where}\n  Its configuration stands in the image: install it to have it described here.\n"
    doc = (ref.cls.__doc__ or "").strip()
    variants = ""
    if issubclass(ref.cls, Transform) and ref.cls.variants:
        variants = "  write " + " or ".join(f"{ref.alias}${v}" for v in ref.cls.variants)
    lines = [f"{title}{variants}", textwrap.indent(doc, "  "), ""]
    return "\n".join([*lines, *_described_properties(row)]) + "\n"


def _described_properties(row: Row) -> list[str]:
    lines = []
    for p in _properties(row):
        default = "required" if p.required else f"default {json.dumps(p.default, default=str)}"
        valid = f"; {p.valid}" if p.valid and p.type != "BOOLEAN" else ""
        lines.append(f"  {p.name}  ({p.type}, {default}, {p.importance.value}{valid})")
        lines.append(textwrap.fill(p.doc, 100, initial_indent="      ", subsequent_indent="      "))
    return lines
