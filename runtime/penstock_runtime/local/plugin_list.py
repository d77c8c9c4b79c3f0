"""`penstock plugins`: lists the installed plugins, and describes their configuration."""

import json
import textwrap
from collections.abc import Sequence
from typing import Any

from penstock import ConfigError, Connector, Plugin, Problem, SourceConnector, Transform
from penstock.config import nearest
from penstock_runtime.plugins.discovery import PluginRef, Plugins
from penstock_runtime.plugins.plugin_ref import kind_name

__all__ = ["listing"]


def listing(name: str | None, *, as_json: bool) -> tuple[str, bool]:
    """The text to print, and whether it is an answer and not an error.

    Args:
        name: show this plugin with its configuration; None lists all.
        as_json: print JSON.
    """
    plugins = Plugins.installed()
    every = list(plugins.every())
    refs = [r for r in every if isinstance(r, PluginRef)]
    broken = [p for p in every if isinstance(p, Problem)]
    if name is not None:
        try:
            refs = [r for r in refs if _named(r, name)] or _by_name(name, plugins, broken)
        except ConfigError as e:
            return f"{e}\n", False
    if as_json:
        return json.dumps([_as_data(r) for r in refs], indent=2) + "\n", True
    if name is not None:
        return "\n".join(_described(r) for r in refs), True
    rows = [(r.alias, _kind(r), r.version, ", ".join(r.cls.java_names)) for r in refs]
    rows.sort(key=lambda row: (row[1], row[0]))
    widths = [max(len(row[i]) for row in [*rows, ("PLUGIN", "KIND", "VERSION", "")]) for i in range(3)]
    lines = [("PLUGIN", "KIND", "VERSION", "STANDS IN FOR"), *rows]
    text = "\n".join("  ".join(c.ljust(w) for c, w in zip(line, [*widths, 0], strict=True)).rstrip() for line in lines)
    text += "\n\nOne plugin's configuration: penstock plugins NAME\n"
    return text + "".join(f"broken: {p.message}\n" for p in broken), True


def _by_name(name: str, plugins: Plugins, broken: Sequence[Problem]) -> list[PluginRef[Plugin]]:
    """The plugin whose class has this path.

    Raises:
        ConfigError: there is none, or it is broken. The message says why.
    """
    plain = name.partition("$")[0]
    if named := [Problem("", p.message) for p in broken if p.property == plain]:
        raise ConfigError(named)
    if "." in name or ":" in name:
        return [plugins.find(Plugin, name)]
    known = [e.alias for e in plugins.entries]
    near = nearest(plain, known) or next((k for k in known if k.lower() == plain.lower()), None)
    raise ConfigError(
        f"There is no plugin {name}.{f' Did you mean {near}?' if near else ''} penstock plugins lists all."
    )


def _named(ref: PluginRef[Plugin], name: str) -> bool:
    plain = name.partition("$")[0]
    return plain in (ref.alias, ref.reference, *ref.cls.java_names)


def _kind(ref: PluginRef[Plugin]) -> str:
    if issubclass(ref.cls, Connector):
        return "source" if issubclass(ref.cls, SourceConnector) else "sink"
    return kind_name(ref.cls).lower()


def _as_data(ref: PluginRef[Plugin]) -> dict[str, Any]:
    return {
        "alias": ref.alias,
        "class": ref.reference,
        "kind": _kind(ref),
        "version": ref.version,
        "javaNames": list(ref.cls.java_names),
        "variants": list(ref.cls.variants) if issubclass(ref.cls, Transform) else [],
        "config": [
            {
                "name": p.name,
                "type": p.type,
                "required": p.required,
                "default": p.default if isinstance(p.default, (str, int, float, bool, list)) else None,
                "importance": p.importance.value,
                "documentation": p.doc,
                "validValues": p.valid,
            }
            for p in ref.cls.Config.properties()
        ],
    }


def _described(ref: PluginRef[Plugin]) -> str:
    doc = (ref.cls.__doc__ or "").strip()
    variants = ""
    if issubclass(ref.cls, Transform) and ref.cls.variants:
        variants = "  write " + " or ".join(f"{ref.alias}${v}" for v in ref.cls.variants)
    lines = [f"{ref.alias} {ref.version} ({_kind(ref)}){variants}", textwrap.indent(doc, "  "), ""]
    for p in ref.cls.Config.properties():
        default = "required" if p.required else f"default {json.dumps(p.default, default=str)}"
        valid = f"; {p.valid}" if p.valid and p.type != "BOOLEAN" else ""
        lines.append(f"  {p.name}  ({p.type}, {default}, {p.importance.value}{valid})")
        lines.append(textwrap.fill(p.doc, 100, initial_indent="      ", subsequent_indent="      "))
    return "\n".join(lines) + "\n"
