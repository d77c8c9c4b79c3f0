"""Check converters, transforms and predicates: installed, of the right kind and version, and configurable."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from penstock import ConfigError, Converter, HeaderConverter, Plugin, PluginContext, Predicate, Problem, Transform
from penstock_model.connect import plugin_chain
from penstock_model.connect.plugin_chain import Place
from penstock_model.connect.redaction import literal_secrets
from penstock_model.connect.variables import Secret
from penstock_model.validation.predicates import check_guard, check_negation, check_type, check_unused
from penstock_model.validation.unknown_properties import Known
from penstock_runtime.plan.plugin_versions import check_syntax, check_version, requested_version
from penstock_runtime.plan.problems import Findings
from penstock_runtime.plugins.discovery import PluginRef, Plugins
from penstock_runtime.plugins.open_plugins import ChainPlugin, OpenPlugins
from penstock_runtime.plugins.plugin_ref import make

__all__ = ["Chain", "check_chain", "check_transforms"]


@dataclass
class Chain:
    """Plugins of a connector other than the connector class.

    Attributes:
        connector: Connect name of the connector, which plugins receive.
        plugins: plugins by place (`value.converter`, `transforms.hoist`).
        secrets: plaintext passwords in the properties.
    """

    connector: str
    plugins: dict[str, PluginRef[Plugin]] = field(default_factory=dict)
    secrets: list[Secret] = field(default_factory=list)

    @property
    def known(self) -> dict[str, Known]:
        """Properties of the plugins, by place."""
        return {place: Known.of(ref.cls.Config, ref.alias) for place, ref in self.plugins.items()}


def check_chain(
    connector: str, config: Mapping[str, str], worker: Mapping[str, str], plugins: Plugins, findings: Findings
) -> Chain:
    """Find and configure every plugin other than the connector.

    Args:
        connector: Connect name of the connector.
        config: the connector's properties, resolved.
        worker: the worker's properties, resolved, with its default converters.
        plugins: installed plugins.
        findings: receives problems and warnings.
    """
    chain = Chain(connector)
    for name in plugin_chain.CONVERTERS:
        kind: type[Plugin] = HeaderConverter if name == "header.converter" else Converter
        place = plugin_chain.converter(name, config, worker)
        own = Findings() if place.from_worker else findings
        _check(place, kind, plugins, own, chain)
        if place.from_worker:
            check_syntax(config.get(f"{name}.plugin.version"), f"{name}.plugin.version", findings)
            findings.problems += (Problem(f"worker configuration, {p.property}", p.message) for p in own.problems)
    check_transforms(config, plugins, findings, chain)
    return chain


def check_transforms(config: Mapping[str, str], plugins: Plugins, findings: Findings, chain: Chain) -> None:
    """Find and configure the transforms and predicates, and add them to the chain; arguments as for `check_chain`."""
    predicates, transforms = plugin_chain.predicates(config), plugin_chain.transforms(config)
    for predicate in predicates:
        _check(predicate, Predicate, plugins, findings, chain)
    known = tuple(dict.fromkeys(p.name.removeprefix("predicates.") for p in predicates))
    for transform in transforms:
        if _check(transform, Transform, plugins, findings, chain):
            check_negation(transform, config, findings)
        check_guard(transform, known, config, findings)
    check_unused(predicates, transforms, findings)


def _check(place: Place, kind: type[Plugin], plugins: Plugins, findings: Findings, chain: Chain) -> bool:
    """Check a plugin; return whether it is installed in the requested version. Only then are its properties known."""
    version = f"{place.name}.plugin.version"
    if not check_type(place, findings):
        if place.type is not None:
            check_syntax(place.version, version, findings)
        return False
    name = place.type or ""
    requested = requested_version(place.version)
    ref = findings.attempt(
        lambda: plugins.at(place.name).find(kind, name, property_name=place.type_property, version=requested)
    )
    if ref is None:
        check_syntax(place.version, version, findings)
        return False
    chain.plugins[place.name] = ref
    chain.secrets += literal_secrets(ref.cls.Config, place.properties)
    names = (place.type_property, version)
    if not check_version(ref, place.version, names, findings, of_step=kind in (Transform, Predicate)):
        return False
    parsed = findings.attempt_plugin(
        place.type_property, f"{ref.alias}.Config", lambda: ref.cls.Config.parse(place.properties, place.prefix)
    )
    if parsed is not None:
        findings.attempt_plugin(
            place.type_property, f"{ref.alias}.configure", lambda: _configure(ref, place, parsed, chain.connector)
        )
    return True


def _configure(ref: PluginRef[Plugin], place: Place, parsed: Any, connector: str) -> None:
    """Configure a plugin as the task will, to find problems that only `configure` detects, and discard it."""
    opened = OpenPlugins()
    plugin = make(ref.cls, PluginContext(connector, place.name, ref.version))
    opened.add(place.name, cast("ChainPlugin", plugin))
    try:
        match plugin:
            case HeaderConverter() if place.name == "header.converter":
                plugin.configure(parsed)
            case Converter():
                plugin.configure(parsed, is_key=place.name == "key.converter")
            case Transform():
                if ref.variant is not None:
                    plugin.side = ref.variant.lower()
                plugin.configure(parsed)
            case Predicate():
                plugin.configure(parsed)
            case _:
                raise AssertionError(place.name)
    except ConfigError as e:
        raise ConfigError(
            Problem(
                place.prefix + p.property if p.property and not p.property.startswith(place.prefix) else p.property,
                p.message,
            )
            for p in e.problems
        ) from e
    finally:
        opened.close()
