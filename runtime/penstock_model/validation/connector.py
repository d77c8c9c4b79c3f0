"""Check everything in a Connector that can be checked without running its plugins. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from typing import Any, Final

from penstock.errors import Problem
from penstock_java_compat.property_text import trimmed
from penstock_model.connect import plugin_chain
from penstock_model.connect.config_providers import own_providers
from penstock_model.connect.connector_config import CommonConfig, config_class
from penstock_model.connect.plugin_chain import CONNECTOR, CONVERTERS, Place, TransformPlace, asked_plugins
from penstock_model.connect.plugin_names import is_built_in
from penstock_model.connect.redaction import HIDDEN, Redactor, client_secrets
from penstock_model.connect.variables import Secret, has_variable, misspelt_variables, unknown_providers
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.definitions import ClassDefinition, Definitions
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources.connector import Connector
from penstock_model.resources.partial import PLACEHOLDER
from penstock_model.resources.plugin_offers import is_unread, offered, unverified
from penstock_model.resources.refused_fields import refused_fields
from penstock_model.validation.client_overrides import check_clients
from penstock_model.validation.findings import Findings
from penstock_model.validation.plugin_definitions import KnownPlugins, find_definitions, version_problems
from penstock_model.validation.predicates import check_guard, check_negation, check_type, check_unused
from penstock_model.validation.tolerance_warning import warn_of_untraced_skips
from penstock_model.validation.topic_names import topic_name_problems
from penstock_model.validation.topics import PolicyUse, check_topic_rules
from penstock_model.validation.unknown_properties import Known, Unknown, unknown_properties
from penstock_model.validation.values import value_problems

__all__ = ["PluginKnowledge", "check_connector"]

_CHAIN: Final = ("transforms", "predicates")
_MOST_UNKNOWN: Final = 100
"""Maximum number of unknown properties that are reported: for each, the search for a similar name takes time."""
_LAG_UNKNOWN: Final = (
    "cannot follow the lag: that of a source is unknown, so the number of tasks is spec.tasksMax, within min and max; "
    "remove it, and set spec.tasksMax"
)


@dataclass(frozen=True, slots=True)
class PluginKnowledge:
    """Information about plugins, without the plugins.

    Attributes:
        offers: offers of the PluginVersions of the namespace; None: they could not be read.
        published: returns the definitions that a PluginVersion has published, or None.
        release: version of the built-in plugins.
        unverified: names of the PluginVersions that have not been verified.
        unread: names of the PluginVersions whose Java classes no pod has found yet.
    """

    offers: Sequence[PluginMount] | None
    published: Callable[[str], Definitions | None]
    release: str
    unverified: Collection[str] = ()
    unread: Sequence[str] = ()

    @classmethod
    def of(
        cls, documents: Sequence[Mapping[str, Any]] | None, published: Callable[[str], Definitions | None], release: str
    ) -> "PluginKnowledge":
        """Return the information for a namespace with these PluginVersions; None: they could not be read."""
        if documents is None:
            return cls(None, published, release)
        unread = sorted(d["metadata"]["name"] for d in documents if is_unread(d))
        return cls(offered(documents), published, release, frozenset(unverified(documents)), unread)


@dataclass(frozen=True, slots=True)
class _Checked:
    """Configuration to check.

    Attributes:
        config: all properties as written.
        own: the properties without variables.
        opaque: names of properties with variables, whose values only a pod knows.
    """

    config: Mapping[str, str]
    own: Mapping[str, str] = field(init=False)
    opaque: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        opaque = frozenset(n for n, t in self.config.items() if has_variable(t))
        object.__setattr__(self, "opaque", opaque)
        object.__setattr__(self, "own", {n: t for n, t in self.config.items() if n not in opaque})

    def opaque_below(self, prefix: str) -> frozenset[str]:
        return frozenset(n.removeprefix(prefix) for n in self.opaque if n.startswith(prefix))


def check_connector(
    resource: Connector,
    worker: WorkerConfig,
    knowledge: PluginKnowledge,
    policy: PolicyUse,
    is_refused: Callable[[Unknown], bool],
    more: Iterable[Problem] = (),
) -> tuple[Problem, ...]:
    """Check a Connector, and return the warnings about it.

    Args:
        resource: the Connector, perhaps a draft whose `reading` has problems.
        worker: worker configuration, resolved.
        knowledge: information about plugins.
        policy: how a TopicCreationPolicy applies.
        is_refused: returns whether an unknown property, or a misspelt class, is a problem instead of a warning.
        more: problems that were found elsewhere.

    Raises:
        ConfigError: all problems together, with the warnings about other properties.
    """
    checked = _Checked(resource.spec.config)
    known_providers = [*own_providers(worker.raw)]
    findings = Findings(
        [*refused_fields(resource.spec), *unknown_providers(checked.config, known_providers), *more],
        [*misspelt_variables(checked.config)],
    )
    variables = {p.property for p in findings.problems}
    places = _places(checked)
    plugins = _known_plugins(resource, worker, knowledge, places, findings)
    kind = _check_framework(resource, checked, worker, policy, plugins, findings)
    _check_chain(places, plugins, checked, findings)
    own = plugins.definitions.get(CONNECTOR)
    if own is not None and CONNECTOR not in plugins.other_versions:
        findings.problems += value_problems(own, checked.own, "", checked.opaque)
    _check_topic_names(resource, checked, kind, findings)
    unknown = [*plugins.misspelt, *_unknown_properties(checked, kind, plugins)]
    findings.problems += (u.problem for u in unknown if is_refused(u))
    findings.warnings += (u.problem for u in unknown if not is_refused(u))
    redactor = _redactor(resource, worker, plugins)
    findings.warnings += resource.reading.warnings
    findings.raise_for(resource.reading, (), redactor, checked.opaque - variables)
    return tuple(dict.fromkeys(redactor.problem(resource.reading.named(w)) for w in findings.warnings))


def _places(checked: _Checked) -> list[Place]:
    """Return the places for which the Connector itself sets a plugin."""
    own = {n: t for n, t in checked.config.items() if n not in _CHAIN or n not in checked.opaque}
    converters = [plugin_chain.converter(name, own, {}) for name in CONVERTERS if name in own]
    return [*converters, *plugin_chain.predicates(own), *plugin_chain.transforms(own)]


def _known_plugins(
    resource: Connector, worker: WorkerConfig, knowledge: PluginKnowledge, places: Sequence[Place], findings: Findings
) -> KnownPlugins:
    spec = resource.spec
    if spec.class_name == PLACEHOLDER:
        return KnownPlugins()
    asked = asked_plugins(spec.class_name, spec.version, spec.config, worker.converters)
    wrong = version_problems(asked)
    findings.problems += wrong
    unreadable = {p.property for p in wrong}
    readable = [replace(a, version=None) if a.version_property in unreadable else a for a in asked]
    written = {p.name: trimmed(p.type or "") for p in places}
    plugins = find_definitions(
        readable,
        knowledge.offers,
        knowledge.published,
        knowledge.release,
        written,
        knowledge.unverified,
        knowledge.unread,
    )
    findings.warnings += plugins.warnings
    others = plugins.other_versions | {a.place for a in asked if a.version_property in unreadable}
    return replace(plugins, other_versions=frozenset(others))


def _check_framework(
    resource: Connector,
    checked: _Checked,
    worker: WorkerConfig,
    policy: PolicyUse,
    plugins: KnownPlugins,
    findings: Findings,
) -> str | None:
    """Check the framework's properties, and return the kind of connector, or None if it is unknown."""
    definition = plugins.definitions.get(CONNECTOR)
    kind = None if definition is None else definition.type
    inherited = {n: t for n, t in worker.errors.items() if n not in checked.config}
    config = {**inherited, **checked.own}
    framework = findings.attempt(lambda: (config_class(kind) if kind else CommonConfig).parse(config))
    if framework is not None:
        warn_of_untraced_skips(framework, checked.config, findings)
        if not framework.tasks_max_enforce:
            findings.warn("tasks.max.enforce", "has no effect: spec.tasksMax is always enforced")
    if kind is None:
        return None
    if kind == "source" and resource.spec.autoscaling is not None:
        findings.warn("spec.autoscaling", _LAG_UNKNOWN)
    guarantee = config.get("delivery.guarantee", "").strip()
    once = kind == "source" and worker.exactly_once and guarantee != "at-least-once"
    check_topic_rules(kind, checked.own, worker, findings, policy)
    # With unresolved variables: without a password, security settings would look incomplete.
    every, found = {**config, **checked.config}, Findings()
    check_clients(
        kind, every, worker, resource.connect_name, exactly_once=once, findings=found, has_policy=policy.applies
    )
    findings.problems += (p for p in found.problems if not p.property.startswith("worker configuration"))
    findings.warnings += (w for w in found.warnings if not w.property.startswith("worker configuration"))
    return kind


def _check_topic_names(resource: Connector, checked: _Checked, kind: str | None, findings: Findings) -> None:
    own = {**checked.own, **dict.fromkeys(checked.opaque.intersection(_CHAIN), "")}
    for found in topic_name_problems(kind, own, is_built_in=is_built_in("connector", resource.spec.class_name)):
        (findings.problems if found.is_certain else findings.warnings).append(found.problem)


def _check_chain(places: Sequence[Place], plugins: KnownPlugins, checked: _Checked, findings: Findings) -> None:
    transforms = [p for p in places if isinstance(p, TransformPlace)]
    predicates = [p for p in places if p.name.startswith("predicates.")]
    known = tuple(dict.fromkeys(p.name.removeprefix("predicates.") for p in predicates))
    for place in places:
        if not check_type(place, findings) or place.name in plugins.other_versions:
            continue
        definition = plugins.definitions.get(place.name)
        if definition is not None and _check_variant(place, definition, findings):
            texts = {n: t for n, t in place.properties.items() if not has_variable(t)}
            unknown = checked.opaque_below(place.prefix)
            findings.problems += value_problems(definition, texts, place.prefix, unknown)
    for transform in transforms:
        if transform.name in plugins.definitions and transform.name not in plugins.other_versions:  # like the plan
            check_negation(transform, checked.config, findings)
        if "predicates" not in checked.opaque:
            check_guard(transform, known, checked.config, findings)
    if "transforms" not in checked.opaque:
        check_unused(predicates, transforms, findings)


def _check_variant(place: Place, definition: ClassDefinition, findings: Findings) -> bool:
    """Return whether the name has a variant (`$Key`, `$Value`) exactly if the plugin requires one; else add a problem."""
    name = trimmed(place.type or "")
    _, dollar, variant = name.partition("$")
    if definition.is_java or (variant in definition.variants if definition.variants else not dollar):
        return True
    alias = definition.class_name
    if definition.variants:
        wanted = ", ".join(f"{alias}${v}" for v in definition.variants)
        findings.refuse(place.type_property, f"{name} is not the name of a variant. Did you mean {wanted}?")
    else:
        findings.refuse(place.type_property, f"{alias} has no variant ${variant}; write {alias}")
    return False


def _unknown_properties(checked: _Checked, kind: str | None, plugins: KnownPlugins) -> list[Unknown]:
    framework = _framework(kind)
    known = {place: Known.defined(definition) for place, definition in plugins.definitions.items()}
    connector = known.pop(CONNECTOR, None)
    hidden = tuple(f"{of}." for of in _CHAIN if of in checked.opaque)
    config = {n: t for n, t in checked.config.items() if not (hidden and n.startswith(hidden))}
    return list(islice(unknown_properties(config, framework, connector, known), _MOST_UNKNOWN))


@cache
def _framework(kind: str | None) -> Known:
    return Known.of(config_class(kind) if kind else CommonConfig)


def _redactor(resource: Connector, worker: WorkerConfig, plugins: KnownPlugins) -> Redactor:
    config = resource.spec.config
    names = {
        name
        for place, definition in plugins.definitions.items()
        for key in definition.config
        if key.type == "PASSWORD" and (name := key.name if place == CONNECTOR else f"{place}.{key.name}") in config
    }
    literal = (Secret(HIDDEN, config[n].strip()) for n in names if config[n].strip() and not has_variable(config[n]))
    secrets = [*literal, *client_secrets({**worker.raw, **config})]
    return Redactor(secrets, [resource.spec.class_name, *plugin_chain.class_names(config), *config], config)
