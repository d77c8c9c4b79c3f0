"""Config providers of a worker configuration, for `variables.resolve`: Penstock's and those of Java plugins."""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Self

from penstock.errors import ConfigError, ConnectError, Problem
from penstock_model.connect.config_providers import java_providers, own_providers, parameters, provider_secrets
from penstock_model.connect.redaction import HIDDEN, Redactor
from penstock_model.connect.variables import ProviderTable, Secret, providers_in, resolve
from penstock_model.connect.versions import Version
from penstock_model.contracts.task_spec import PluginReference
from penstock_runtime.java_plugins.catalog import JavaPlugin, find_class
from penstock_runtime.java_plugins.config_provider import KIND, JavaConfigProvider
from penstock_runtime.java_plugins.java_class import PREFIX
from penstock_runtime.java_plugins.java_error import JavaError
from penstock_runtime.java_plugins.jvm_redaction import hide
from penstock_runtime.plugins.plugin_path import java_plugins

__all__ = ["ConfigProviders"]

log = logging.getLogger(__name__)
_REFERENCE: Final = re.compile(rf"{PREFIX}{KIND}:([^#].*)#([^#]+)")


class ConfigProviders:
    """Config providers of a worker configuration.

    A Java provider is created when a variable first needs it, and called once for each key: its values are cached until
    `close`. After a failure it is not called again.

    Args:
        worker: the worker configuration as written.
        secrets_dir: folder with the values of `${secret:..}` in parameters of providers.
        environment: values of `${env:..}` in them; None: the environment of the process.
        references: the classes that the plan has found; None: search the plugin path.

    Attributes:
        table: table for `variables.resolve`.
    """

    def __init__(
        self,
        worker: Mapping[str, str],
        secrets_dir: Path | None = None,
        environment: Mapping[str, str] | None = None,
        references: Mapping[str, PluginReference] | None = None,
    ) -> None:
        self._worker = worker
        self._secrets_dir = secrets_dir
        self._environment = environment
        self._references = references
        self._classes = java_providers(worker)
        self._made: dict[str, JavaConfigProvider] = {}
        self._values: dict[tuple[str, str], dict[str, str]] = {}
        self._secrets: dict[str, list[Secret]] = {}
        self._redactors: dict[str, Redactor] = {}
        self._failures: dict[str, Exception] = {}
        own = own_providers(worker)
        self.table: ProviderTable = {**own, **{name: partial(self._get, name) for name in self._classes}}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def problems(self) -> Iterator[Problem]:
        """Create all Java providers; yield the problems of their classes and parameters.

        Raises:
            ConnectError: the JVM cannot be started, has ended, or does not answer.
        """
        for name in self._classes:
            try:
                self._provider(name)
            except ValueError as e:
                yield Problem(f"config.providers.{name}.class", str(e))

    def references(self, *configurations: Mapping[str, str]) -> dict[str, PluginReference]:
        """Return the classes of the Java providers that variables of these configurations name, for a task spec."""
        named = providers_in(text for of in configurations for text in of.values())
        return {name: _reference(self._plugin(name)) for name in self._classes if name in named}

    def redact(self, text: str) -> str:
        """Return the text without the values that Java providers have returned and without secrets in their parameters."""
        for redactor in tuple(self._redactors.values()):
            text = redactor(text)
        return text

    def close(self) -> None:
        """Close the Java providers."""
        made, self._made = self._made, {}
        for name, provider in made.items():
            try:
                provider.end()
            except (JavaError, ConnectError) as e:
                log.warning("Cannot close the config provider %s: %s", name, self.redact(str(e)))

    def _get(self, name: str, path: str, keys: Sequence[str]) -> Mapping[str, str]:
        found = self._values.setdefault((name, path), {})
        missing = [key for key in keys if key not in found]
        if not missing:
            return found
        provider = self._provider(name)
        try:
            values, ttl = provider.get(path, missing)
        except ConnectError as e:
            self._failures[name] = self._redacted(e)
            raise self._failures[name] from None
        found.update(values)
        self._hide(name, (Secret(f"${{{name}:{path}:{key}}}", value) for key, value in values.items()))
        if ttl is not None:
            log.warning(
                "The config provider %s sets a ttl of %d ms for values of %s, which is ignored: a task uses them until it "
                "restarts",
                *(name, ttl, path or "the empty path"),
            )
        return found

    def _provider(self, name: str) -> JavaConfigProvider:
        if name in self._failures:
            raise self._failures[name]
        if name not in self._made:
            try:
                self._made[name] = self._make(name)
            except (ConnectError, ValueError) as e:
                self._failures[name] = self._redacted(e)
                raise self._failures[name] from None
        return self._made[name]

    def _make(self, name: str) -> JavaConfigProvider:
        given = {f"config.providers.{name}.param.{n}": text for n, text in parameters(self._worker, name).items()}
        resolved = resolve(given, self._secrets_dir, self._environment, providers=own_providers(self._worker))
        literal = (Secret(HIDDEN, text) for text in provider_secrets(given))
        self._hide(name, (*resolved.secrets, *literal))
        if resolved.problems:
            raise ValueError("; ".join(map(str, resolved.problems)))
        return JavaConfigProvider(self._plugin(name), name, parameters(resolved.values, name))

    def _plugin(self, name: str) -> JavaPlugin:
        if self._references is not None:
            return _plugin_of(self._references[name])
        cls, here = self._classes[name], java_plugins()
        named = [p for p in here if cls in (p.class_name, p.simple_name)]
        found = named or find_class(dict.fromkeys(p.location for p in here), cls)
        if providers := [p for p in found if p.kind == KIND]:
            return max(providers, key=lambda p: Version(p.version))
        what = f"cannot use the config provider {name}: "
        if found:
            raise ValueError(f"{what}{cls} is a {found[0].kind}, not a ConfigProvider; name another class")
        raise ValueError(f"{what}class {cls} is not on the plugin path; pass its jar or folder with --plugin-path")

    def _hide(self, name: str, secrets: Iterable[Secret]) -> None:
        known = self._secrets.setdefault(name, [])
        known += secrets
        self._redactors[name] = Redactor(known)
        hide(f"config.providers.{name}", self._redactors[name])

    def _redacted(self, error: Exception) -> Exception:
        """Return the error without secrets: a ValueError if the user can correct it in the configuration."""
        if isinstance(error, ConfigError):
            return ValueError("; ".join(self.redact(p.message) for p in error.problems))
        return type(error)(self.redact(str(error)))


def _reference(plugin: JavaPlugin) -> PluginReference:
    reference = f"{PREFIX}{KIND}:{plugin.location}#{plugin.class_name}"
    return PluginReference(reference=reference, alias=plugin.simple_name, version=plugin.version)


def _plugin_of(reference: PluginReference) -> JavaPlugin:
    match = _REFERENCE.fullmatch(reference.reference)
    if match is None:
        raise ValueError(f"cannot load {reference.reference}: it is malformed; write {PREFIX}{KIND}:<location>#<class>")
    return JavaPlugin(KIND, match[2], reference.version, match[1])
