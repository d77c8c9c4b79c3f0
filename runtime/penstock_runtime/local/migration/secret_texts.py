"""Which texts of a configuration are secrets, and references in their place. Pure, but for loading plugins.

Passwords of installed plugins and of Kafka clients are known. Of plugins that are not here only names tell: too many are
better than one that ends in Git.
"""

import re
from collections.abc import Mapping
from typing import Final

from penstock_model.connect.redaction import client_secrets
from penstock_runtime.plan.literals import plugin_secrets
from penstock_runtime.plugins.discovery import Plugins

__all__ = ["secret_properties", "with_references"]

_NAMED: Final = re.compile(
    r"passw|passphrase|secret|credential|token|jaas|(api|access|private|account|shared|encryption)[._-]?key|"
    r"connection[._-]?string|(^|[._-])(pass|pwd)($|[._-])",
    re.IGNORECASE,
)
_IN_URL: Final = re.compile(r"://[^/\s:@]+:[^/\s@]+@")
_VARIABLE: Final = re.compile(r"\$\{[^}:\s]+:[^}]*\}")
_NO_SECRET: Final = ("", "true", "false")
_KEY: Final = re.compile(r"[^-._a-zA-Z0-9]")


def secret_properties(class_name: str, config: Mapping[str, str]) -> dict[str, str]:
    """The properties that hold a secret as it is, with their texts."""
    known = {s.value for s in plugin_secrets(class_name, config, Plugins.installed())}
    return {
        name: text
        for name, text in config.items()
        if text.strip().lower() not in _NO_SECRET
        and not _VARIABLE.search(text)
        and (text.strip() in known or any(client_secrets({name: text})) or _NAMED.search(name) or _IN_URL.search(text))
    }


def with_references(config: Mapping[str, str], secrets: Mapping[str, str], secret_name: str) -> dict[str, str]:
    """The configuration with `${secret:<name>:<key>}` in place of each secret; the key is the property."""
    return {n: f"${{secret:{secret_name}:{key_of(n)}}}" if n in secrets else text for n, text in config.items()}


def key_of(name: str) -> str:
    """The key of a Secret for a property."""
    return _KEY.sub("_", name)
