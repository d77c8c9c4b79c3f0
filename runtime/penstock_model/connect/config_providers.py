"""Config providers that a worker configuration names (`config.providers`, KIP-297); `variables` resolves references. Pure.

Penstock replaces Apache Kafka's providers with its own. All other providers are Java plugins.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.errors import Problem

__all__ = ["java_providers", "own_providers", "parameters", "provider_problems", "provider_secrets"]

PREFIX: Final = "config.providers."
_KAFKA: Final = "org.apache.kafka.common.config.provider."
_OWN: Final[Mapping[str, str]] = {
    "FileConfigProvider": "file",
    "DirectoryConfigProvider": "dir",
    "EnvVarConfigProvider": "env",
}
"""Penstock's equivalent of each of Kafka's provider classes."""
_NAMES: Final = ("file", "dir", "directory", "env")
_RESERVED: Final = "secret"
_PARAMETERS: Final = ".param."
_SECRET_ENDINGS: Final = ("password", "passphrase", "secret", "token", "credential", "credentials", "key")


def own_providers(texts: Mapping[str, str]) -> Mapping[str, str]:
    """Return the kind of each provider that Penstock implements, by name: `file`, `dir` or `env`."""
    found = {}
    for name, cls in _declared(texts).items():
        if own := _own(cls):
            found[name] = own
    return found


def java_providers(texts: Mapping[str, str]) -> Mapping[str, str]:
    """Return the class of each other provider, by name."""
    return {name: cls for name, cls in _declared(texts).items() if cls and not _own(cls) and name != _RESERVED}


def parameters(texts: Mapping[str, str], name: str) -> Mapping[str, str]:
    """Return the configuration of a provider: its properties that start with `param.`, without that prefix."""
    prefix = f"{PREFIX}{name}{_PARAMETERS}"
    return {n.removeprefix(prefix): text for n, text in texts.items() if n.startswith(prefix)}


def provider_problems(texts: Mapping[str, str]) -> Iterator[Problem]:
    """Yield problems of config providers. Does not check whether Java classes exist."""
    for name, cls in _declared(texts).items():
        if name == _RESERVED:
            text = (
                f"the name {name} is reserved for Penstock's provider (${{secret:<name>:<key>}}); choose another name"
            )
            yield Problem("config.providers", text)
        elif not cls and name not in _NAMES:
            yield Problem(f"{PREFIX}{name}.class", f"is missing; set it to the class of config provider {name}")
        elif not cls or _own(cls):
            for limit in (n for n in texts if n.startswith(f"{PREFIX}{name}{_PARAMETERS}")):
                text = "has no effect in Penstock, so access would not be restricted; remove it if that is safe"
                yield Problem(limit, text)


def provider_secrets(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield literal values of provider parameters whose names end like a secret's: no definition declares secrets."""
    for name, text in texts.items():
        prefix, found, parameter = name.partition(_PARAMETERS)
        if found and prefix.startswith(PREFIX) and text.strip() and parameter.lower().endswith(_SECRET_ENDINGS):
            yield text.strip()


def _declared(texts: Mapping[str, str]) -> dict[str, str]:
    names = (name.strip() for name in texts.get("config.providers", "").split(","))
    return {name: texts.get(f"{PREFIX}{name}.class", "").strip() for name in names if name}


def _own(cls: str) -> str | None:
    return _OWN.get(cls.removeprefix(_KAFKA))
