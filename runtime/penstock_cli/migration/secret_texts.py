"""Detection of secrets in a configuration, and references to replace them. Pure, but for loading plugins.

Passwords of installed plugins and of Kafka clients are known. For other plugins, only names and values can be
matched: too many matches are better than one secret that ends up in Git.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from penstock.errors import Problem
from penstock_model.connect.redaction import client_secrets
from penstock_model.connect.secret_names import has_secret_text, is_secret_name, secret_parts
from penstock_runtime.plan.plaintext_passwords import plugin_passwords
from penstock_runtime.plugins.discovery import Plugins

__all__ = ["hidden_parts", "is_secret", "keys_of", "placeholders", "secret_properties", "with_references"]

_VARIABLE: Final = re.compile(r"\$\{[^}:\s]+:[^}]*\}")
_NO_SECRET: Final = ("", "true", "false")
_OF_AN_ALIAS: Final = re.compile(r"(transforms|predicates)\.[^.]+\.(?P<own>.+)")
_OF_THE_CHAIN: Final = frozenset(("type", "predicate", "negate", "plugin.version"))
_NAMES: Final = (
    "transforms",
    "predicates",
    "key.converter",
    "value.converter",
    "header.converter",
    "topics",
    "topics.regex",
)
"""Properties whose values are names."""
_PLACEHOLDER: Final = re.compile(r"\$\{[A-Z][A-Z0-9_]*\}")
_WORD: Final = re.compile(r"\w+")
_NO_KEY: Final = re.compile(r"[^-._a-zA-Z0-9]")
_KEY_LENGTH: Final = 200


def secret_properties(class_name: str, config: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that contain a secret in plain text, with their values."""
    known = plugin_passwords(class_name, config, Plugins.installed())
    return {name: text for name, text in config.items() if is_secret(name, text, known)}


def is_secret(name: str, text: str, known: Collection[str] = ()) -> bool:
    """Return whether a text looks like a secret or has the name of a secret, or one of the known names."""
    literal = _PLACEHOLDER.sub("", _VARIABLE.sub("", text)).strip()
    alias = _OF_AN_ALIAS.fullmatch(name)
    own = name if alias is None else alias["own"]
    if literal.lower() in _NO_SECRET or name in _NAMES or (alias is not None and own in _OF_THE_CHAIN):
        return False
    if name in known or any(client_secrets({name: literal})):
        return True
    return has_secret_text(literal) or (is_secret_name(own) and bool(re.search(r"\w", literal)))


def placeholders(config: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem for texts such as `${DB_PASSWORD}`, which a script fills in before Kafka Connect gets them."""
    found = {name: match[0] for name, text in config.items() if (match := _PLACEHOLDER.search(text))}
    if found:
        unique = dict.fromkeys(found.values())
        what = "is a placeholder of a script, not a variable"
        if len(unique) > 1:
            what = "are placeholders of a script, not variables"
        texts = ", ".join(unique)
        yield Problem(
            ", ".join(found),
            f"{texts} {what}; fill in the value, or write ${{env:NAME}} or ${{secret:NAME:KEY}}",
        )


def hidden_parts(secrets: Mapping[str, str], config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield texts that messages must not show, with their properties: secret values, and the passwords in a URL or in JAAS.

    A password that equals the user's name or another public value is omitted: hiding it would only make messages
    unreadable.
    """
    words = {word for name, text in config.items() if name not in secrets for word in (text, *_WORD.findall(text))}
    for name, text in secrets.items():
        own = [s.value for s in client_secrets({name: text})]
        yield from ((name, part) for part in (text, text.strip(), *own, *secret_parts(text)) if part not in words)


def keys_of(names: Mapping[str, str]) -> dict[str, str]:
    """Return a unique key of a Secret for each of these properties."""
    keys: dict[str, str] = {}
    for name in names:
        plain = _NO_KEY.sub("_", name)[:_KEY_LENGTH]
        key = plain if plain.strip(".") else f"property{plain}"
        while key in keys.values():
            key += "_"
        keys[name] = key
    return keys


def with_references(config: Mapping[str, str], keys: Mapping[str, str], secret_name: str) -> dict[str, str]:
    """Return the configuration with `${secret:<name>:<key>}` as the value of each property that has a key."""
    return {n: f"${{secret:{secret_name}:{keys[n]}}}" if n in keys else text for n, text in config.items()}
