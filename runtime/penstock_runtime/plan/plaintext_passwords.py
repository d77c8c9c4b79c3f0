"""Find plaintext passwords in a configuration, which should be references. Pure, except for loading plugins."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from penstock import Connector, Converter, HeaderConverter, Plugin, Predicate, Problem, Transform
from penstock_model.connect import plugin_chain
from penstock_model.connect.redaction import HIDDEN, client_secrets
from penstock_model.connect.variables import Secret
from penstock_runtime.plugins.discovery import Plugins

__all__ = ["IN_PLAINTEXT", "check_literals", "literal_passwords", "plugin_passwords", "plugin_secrets"]

IN_PLAINTEXT: Final = "contains a plaintext password"
"""Beginning of the warning about a password."""
_VARIABLE: Final = re.compile(r"\$\{[^}:\s]+:[^}]*\}")


def literal_passwords(config: Mapping[str, str], plugins: Mapping[str, type[Plugin]]) -> dict[str, str]:
    """Return passwords that contain no variable, by property.

    Args:
        config: the connector's properties, as written.
        plugins: plugin classes, by place (`connector`, `transforms.hoist`).
    """
    found: dict[str, str] = {}
    for place, cls in plugins.items():
        prefix = "" if place == "connector" else f"{place}."
        own = {name.removeprefix(prefix): text for name, text in config.items() if name.startswith(prefix)}
        passwords = cls.Config.passwords(own).items()
        found.update((prefix + name, text) for name, text in passwords if not _VARIABLE.search(text))
    found.update(
        (name, text.strip())
        for name, text in config.items()
        if not _VARIABLE.search(text) and any(True for _ in client_secrets({name: text}))
    )
    return found


def check_literals(literals: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a warning for each plaintext password."""
    for name, text in literals.items():
        if "${" in text:
            continue  # a mistyped reference, which is reported separately
        yield Problem(
            name,
            f"{IN_PLAINTEXT}, visible to everyone who may read this connector; store it under a key of a "
            "Secret in the same namespace, and write ${secret:<name>:<key>} here",
        )


def plugin_secrets(class_name: str, config: Mapping[str, str], plugins: Plugins) -> Iterator[Secret]:
    """Yield the passwords in a configuration that may be invalid, before any plugin receives it. Raises nothing."""
    return (Secret(HIDDEN, text) for text in plugin_passwords(class_name, config, plugins).values())


def plugin_passwords(class_name: str, config: Mapping[str, str], plugins: Plugins) -> Mapping[str, str]:
    """Return the passwords in a configuration that may be invalid, by property. Raises nothing."""
    found = dict[str, type[Plugin]]()
    wanted: list[tuple[str, type[Plugin], str | None]] = [("connector", Connector, class_name)]
    with suppress(Exception):  # planning reports errors in these
        wanted += (
            (name, HeaderConverter if name == "header.converter" else Converter, config.get(name))
            for name in plugin_chain.CONVERTERS
        )
        wanted += ((place.name, Transform, place.type) for place in plugin_chain.transforms(config))
        wanted += ((place.name, Predicate, place.type) for place in plugin_chain.predicates(config))
    for place, kind, name in wanted:
        with suppress(Exception):
            if name:
                found[place] = plugins.at(place).find(kind, name).cls
    with suppress(Exception):
        return literal_passwords(config, found)
    return {}
