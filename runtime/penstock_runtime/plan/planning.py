"""Run all checks of a connector, and return either all problems together or its tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from penstock import Connector, Plugin, PluginContext, Problem, SourceConnector
from penstock import _returned as returned
from penstock.config import Config
from penstock_model.connect import plugin_chain
from penstock_model.connect.connector_config import CommonConfig, SinkConfig, SourceConfig, config_class
from penstock_model.connect.plugin_chain import CONNECTOR
from penstock_model.connect.redaction import Redactor, client_secrets, literal_secrets
from penstock_model.connect.variables import Resolved, misspelt_variables, resolve
from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.task_spec import PluginReference, TaskSpec
from penstock_model.resources import connector as resources
from penstock_model.resources.partial import PLACEHOLDER
from penstock_model.resources.refused_fields import refused_fields
from penstock_model.validation.client_overrides import check_clients, unused_overrides
from penstock_model.validation.tolerance_warning import warn_of_untraced_skips
from penstock_model.validation.topics import PolicyUse, check_topic_rules
from penstock_model.validation.unknown_properties import Known, typed_properties, unknown_properties
from penstock_runtime.java_plugins.hosts import use_java
from penstock_runtime.java_plugins.jvm_redaction import hide
from penstock_runtime.plan.chain_check import check_chain
from penstock_runtime.plan.delivery_guarantee import check_boundary, check_delivery, check_rate_limit, exactly_once
from penstock_runtime.plan.java_check import check_java, java_warnings
from penstock_runtime.plan.plaintext_passwords import check_literals, literal_passwords
from penstock_runtime.plan.plugin_versions import check_version, requested_version
from penstock_runtime.plan.problems import Findings, names_of
from penstock_runtime.plan.standard_input import read_for_want_of
from penstock_runtime.plan.tasks import (
    check_tasks_max,
    fingerprint,
    framework_properties,
    own_properties,
    split,
    task_specs,
)
from penstock_runtime.plugins.config_providers import ConfigProviders
from penstock_runtime.plugins.discovery import PluginRef, Plugins
from penstock_runtime.plugins.plugin_ref import make

__all__ = ["Plan", "plan"]


@dataclass(frozen=True)
class Plan:
    """Valid configuration of a connector, split into tasks.

    Attributes:
        connector: Connect name of the connector.
        kind: `source` or `sink`.
        tasks: one spec per task, completed by `TaskSpec.for_incarnation`; none for a connector that is `Stopped`.
        given: by task, the names of the properties that the plugin has set.
        framework: the framework's properties; the worker's `errors.*` are their defaults.
        exactly_once: whether records and offsets share a transaction.
        standard_input: property whose absence makes the tasks read standard input; None if they do not.
        warnings: warnings for the user, without secrets.
        plugins: plugins by place, as in a task spec.
        hash: hash of everything that a plan depends on.
        redactor: removes secrets from any output about this connector.
        literals: plaintext passwords in the configuration, by property.
    """

    connector: str
    kind: str
    tasks: tuple[TaskSpec, ...]
    given: tuple[tuple[str, ...], ...]
    framework: SourceConfig | SinkConfig
    exactly_once: bool
    standard_input: str | None
    warnings: tuple[Problem, ...]
    plugins: Mapping[str, PluginReference]
    hash: str
    redactor: Redactor
    literals: Mapping[str, str] = field(repr=False)


def plan(
    resource: resources.Connector,
    worker: WorkerConfig,
    plugins: Plugins,
    secrets_dir: Path | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    policy_selects: bool = False,
    registered: bool = False,
    splits: bool = True,
) -> Plan:
    """Plan a connector.

    Args:
        resource: the connector as the user wrote it.
        worker: the worker configuration as the user wrote it, variables unresolved (`WorkerConfig.raw`).
        plugins: installed plugins.
        secrets_dir: folder with the values of `${secret:..}`; tasks get the same folder.
        environment: values of `${env:..}`; the process's environment if None.
        policy_selects: whether, according to the operator, a TopicCreationPolicy applies that the connector does not name.
        registered: whether the operator has run the connector before.
        splits: whether the plugin splits its work into tasks. Otherwise the plan has a single task, which has all of the
            connector's properties and is not run.

    Raises:
        ConfigError: all problems together, including those of the resource's text (`resource.reading`), without secrets,
            each under the property or field that the user wrote.
        RetriableError: no problem was found, but an external system that the plugin checks cannot be reached.
        ConnectError: a config provider fails, or does not answer.
    """
    java, unusable = check_java(resource.spec.java)
    use_java(java)
    named = resource.spec.topic_creation_policy_ref is not None
    policy = PolicyUse(named=named, selected=policy_selects, registered=registered)
    with ConfigProviders(worker.raw, secrets_dir, environment) as providers:
        found = Findings([*refused_fields(resource.spec), *unusable], [*misspelt_variables(resource.spec.config)])
        return _plan(
            resource,
            worker,
            plugins,
            secrets_dir,
            environment,
            providers,
            found,
            policy=policy,
            splits=splits,
        )


def _plan(
    resource: resources.Connector,
    worker: WorkerConfig,
    plugins: Plugins,
    secrets_dir: Path | None,
    environment: Mapping[str, str] | None,
    providers: ConfigProviders,
    findings: Findings,
    *,
    policy: PolicyUse,
    splits: bool,
) -> Plan:
    own = resolve(resource.spec.config, secrets_dir, environment, providers=providers.table)
    shared = resolve(worker.raw, secrets_dir, environment, providers=providers.table)
    findings.problems += (Problem(f"worker configuration, {p.property}", p.message) for p in shared.problems)
    resolved_worker = findings.attempt(lambda: WorkerConfig.parse(shared.values)) or worker
    inherited = {n: t for n, t in resolved_worker.errors.items() if n not in own.values}
    config = {**inherited, **own.values}

    ref, fits = _find(resource, plugins, findings)
    chain = check_chain(resource.connect_name, own.values, resolved_worker.converters, plugins, findings)
    redactor = Redactor(
        [*own.secrets, *shared.secrets, *chain.secrets, *client_secrets({**shared.values, **config})],
        [resource.spec.class_name, *plugin_chain.class_names(own.values), *config],
        resource.spec.config,
    )
    framework: CommonConfig | None
    connector: Connector | None = None
    parsed: Config | None = None
    if ref is None:
        framework = findings.attempt(lambda: CommonConfig.parse(config))
        kind = "source"
    else:
        redactor = redactor.with_secrets(literal_secrets(ref.cls.Config, config))
        hide(resource.connect_name, redactor)
        kind = "source" if issubclass(ref.cls, SourceConnector) else "sink"
        framework = findings.attempt(lambda: config_class(kind).parse(config))
        if fits:  # another version may have different properties (Connect's rule)
            parsed = findings.attempt_plugin("spec.class", f"{ref.alias}.Config", lambda: ref.cls.Config.parse(config))
            context = PluginContext(resource.connect_name, CONNECTOR, ref.version)
            connector = findings.attempt_plugin("spec.class", ref.alias, partial(make, ref.cls, context))
        mine = {
            *own_properties(own.values, config_class(kind), ref.cls),
            *(p.name for p in ref.cls.Config.properties()),
        }
        # The plugin does not validate a partly invalid configuration.
        sure = None if names_of([*own.problems, *resource.reading.problems]) & mine else parsed
        once = _check_kind(
            kind,
            ref.alias,
            connector,
            sure,
            framework,
            config,
            resolved_worker,
            resource.connect_name,
            policy,
            findings,
        )
        _validate(ref.alias, connector, sure, findings)
        if connector is not None:
            check_tasks_max(connector, ref.alias, resource.spec.tasks_max, findings)
        standard_input = read_for_want_of(connector, sure, ref.alias, findings)
    if framework is not None:
        warn_of_untraced_skips(framework, own.values, findings)
    known = (
        Known.of(config_class(kind) if ref else CommonConfig),
        Known.of(ref.cls.Config, ref.cls.__name__) if ref else None,
    )
    findings.warnings += (u.problem for u in unknown_properties(own.values, *known, chain.known))
    found = {place: r.cls for place, r in chain.plugins.items()} | ({"connector": ref.cls} if ref and fits else {})
    check_rate_limit(own.values, resource.spec.limits, findings)
    literals = literal_passwords(resource.spec.config, found)
    findings.warnings += check_literals(literals)
    typed = typed_properties(*known, chain.known)
    findings.warnings += (r for r in resource.reading.warnings if r.property not in typed)
    findings.raise_for(resource.reading, own.problems, redactor)
    assert ref is not None
    assert isinstance(framework, (SourceConfig, SinkConfig))
    assert connector is not None

    places: dict[str, PluginRef[Plugin]] = {"connector": ref, **chain.plugins}
    # Overrides that no policy checked do not reach the task.
    unused = unused_overrides(connector.kind, own.values, has_policy=policy.applies)
    if resource.spec.java is not None:
        findings.warnings += java_warnings(resource.spec.java, places)
    tasks, given = _tasks(
        connector, parsed, resource, own, unused, worker, places, framework, secrets_dir, findings, splits=splits
    )
    findings.raise_for(resource.reading, own.problems, redactor)
    references = providers.references(resource.spec.config, worker.raw)
    tasks = tuple(t.model_copy(update={"config_providers": references}) for t in tasks)
    return Plan(
        resource.connect_name,
        kind,
        tasks,
        given,
        framework,
        once,
        standard_input,
        tuple(redactor.problem(resource.reading.named(w)) for w in findings.warnings),
        {place: ref.spec() for place, ref in places.items()},
        fingerprint(resource, places),
        redactor,
        literals,
    )


def _find(
    resource: resources.Connector, plugins: Plugins, findings: Findings
) -> tuple[PluginRef[Connector] | None, bool]:
    """Return the connector's plugin, and whether its version matches the requested one."""
    name = resource.spec.class_name
    if name == PLACEHOLDER:
        return None, True
    called = resource.reading.names.get("spec.class", "spec.class")
    names = ("spec.class", "spec.version")
    version = requested_version(resource.spec.version)
    ref = findings.attempt(
        lambda: plugins.at(CONNECTOR).find(Connector, name, property_name=called, version=version)  # type: ignore[type-abstract]
    )
    return ref, ref is None or check_version(ref, resource.spec.version, names, findings)


def _validate(alias: str, connector: Connector | None, parsed: Config | None, findings: Findings) -> None:
    """Let the connector validate its configuration, if both are available."""
    if connector is None or parsed is None:
        return
    method = returned.name(connector, "validate", alias)
    found = findings.attempt_plugin(
        "spec.config", method, lambda: returned.problems(connector.validate(parsed), method)
    )
    findings.problems += found or ()
    method = returned.name(connector, "warnings", alias)
    warnings = findings.attempt_plugin(
        "spec.config", method, lambda: returned.problems(connector.warnings(parsed), method)
    )
    findings.warnings += warnings or ()


def _check_kind(
    kind: str,
    alias: str,
    connector: Connector | None,
    parsed: Config | None,
    framework: CommonConfig | None,
    config: Mapping[str, str],
    worker: WorkerConfig,
    connect_name: str,
    policy: PolicyUse,
    findings: Findings,
) -> bool:
    # If `framework` does not parse, the rest is checked for the requested guarantee.
    once = kind == "source" and exactly_once(config.get("delivery.guarantee"), worker)
    if isinstance(framework, SourceConfig):
        check_delivery(framework, worker, connector, parsed, alias, findings)
    if kind == "source":
        check_boundary(config, connector, parsed, alias, findings, exactly_once=once)
    check_topic_rules(kind, config, worker, findings, policy)
    check_clients(kind, config, worker, connect_name, exactly_once=once, findings=findings, has_policy=policy.applies)
    if not (framework is None or framework.tasks_max_enforce):
        findings.warn("tasks.max.enforce", "has no effect: spec.tasksMax is always enforced")
    return once


def _tasks(
    connector: Connector,
    parsed: Config | None,
    resource: resources.Connector,
    own: Resolved,
    unused: Sequence[str],
    worker: WorkerConfig,
    places: Mapping[str, PluginRef[Plugin]],
    framework: CommonConfig,
    secrets_dir: Path | None,
    findings: Findings,
    *,
    splits: bool,
) -> tuple[tuple[TaskSpec, ...], tuple[tuple[str, ...], ...]]:
    """Return the tasks, and the names of the properties that the plugin has set for each of them."""
    alias, cls = places["connector"].alias, type(connector)
    if resource.spec.state is resources.State.STOPPED:
        return (), ()
    mine = own_properties(own.values, type(framework), cls)
    assert parsed is not None
    tasks: Sequence[Mapping[str, str]] | None = [mine]
    if splits:
        tasks = findings.attempt_plugin(
            "spec.config",
            returned.name(connector, "task_configs", alias),
            lambda: split(connector, parsed, mine, resource.connect_name, resource.spec.tasks_max),
        )
    if not tasks:
        if tasks is not None:
            findings.warn("", f"{alias} has nothing to do: it requests no task")
        return (), ()
    frameworks = framework_properties(own.values, type(framework), cls)
    kept = {n: t for n, t in resource.spec.config.items() if n in frameworks and n not in unused}
    tasks = [{n: t for n, t in task.items() if n not in unused} for task in tasks]
    specs = findings.attempt(
        lambda: task_specs(resource, connector.kind, places, own, kept, tasks, worker.raw, secrets_dir)
    )
    return specs or (), tuple(tuple(task) for task in tasks)
