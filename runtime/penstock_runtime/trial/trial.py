"""Trial run of a connector's transforms on single records. They are found, checked, built and run as in a task."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from penstock import (
    ConfigError,
    Connector,
    PluginContext,
    Predicate,
    Problem,
    Record,
    RecordBatch,
    SinkConnector,
)
from penstock_model.connect import plugin_chain as stages
from penstock_model.connect.connector_config import CommonConfig
from penstock_model.connect.plugin_chain import TransformPlace
from penstock_model.connect.redaction import Redactor
from penstock_model.connect.variables import Resolved, misspelt_variables, resolve
from penstock_model.resources.connector import Connector as Resource
from penstock_model.resources.partial import PLACEHOLDER
from penstock_model.validation.unknown_properties import Known, typed_properties, unknown_properties
from penstock_runtime.pipeline.builder import build_steps
from penstock_runtime.pipeline.chain import Step, transform
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, Failure, RetryWithToleranceOperator
from penstock_runtime.plan.chain_check import Chain, check_transforms
from penstock_runtime.plan.problems import Findings
from penstock_runtime.plugins.config_providers import ConfigProviders
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.plugins.open_plugins import OpenPlugins
from penstock_runtime.process.plugin_exit import as_failure
from penstock_runtime.trial.record_diff import changed_parts

__all__ = ["Outcome", "Stage", "StageResult", "Trial"]

_LookUp: TypeAlias = Callable[[Mapping[str, str]], Resolved]
_OF_CHAIN: Final = ("transforms", "predicates")
_POLICY: Final = ("errors.tolerance", "errors.deadletterqueue.topic.name")


class Outcome(StrEnum):
    """Outcome of a stage for a record."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    PASSED_BY = "passed by"
    """The predicate excluded the record from the transform."""
    DROPPED = "dropped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Stage:
    """Transform of the chain: its configuration, and the step that runs it."""

    place: TransformPlace
    step: Step

    @property
    def type(self) -> str:
        """Return the class as the configuration names it."""
        return (self.place.type or "").strip()


@dataclass(frozen=True, slots=True)
class StageResult:
    """Result of one stage for one record.

    Attributes:
        stage: the stage.
        held: result of the predicate, before `negate`; None without a predicate, or if it failed.
        outcome: what the stage did.
        before: the record before the stage.
        after: the record after it; None if it was dropped or failed.
        failure: why it failed.
        in_predicate: the predicate failed, not the transform.
    """

    stage: Stage
    held: bool | None
    outcome: Outcome
    before: Record
    after: Record | None
    failure: Failure | None = None
    in_predicate: bool = False


@dataclass(frozen=True)
class Trial:
    """Chain of a connector, ready to run.

    Attributes:
        connector: the Connect name.
        sink: whether records have an offset, as those of a sink do.
        topic: topic of records that do not name one.
        stages: the stages, in order.
        tolerance: the connector's `errors.tolerance`.
        dead_letters: its dead letter queue; empty if there is none.
        warnings: warnings for the user.
        redactor: redactor of everything that is printed.
        opened: the plugins, until `close`.
    """

    connector: str
    sink: bool
    topic: str
    stages: tuple[Stage, ...]
    tolerance: str
    dead_letters: str
    warnings: tuple[Problem, ...]
    redactor: Redactor
    opened: OpenPlugins

    @classmethod
    def of(
        cls,
        resource: Resource,
        plugins: Plugins,
        secrets_dir: Path | None = None,
        environment: Mapping[str, str] | None = None,
        worker: Mapping[str, str] = MappingProxyType({}),
    ) -> "Trial":
        """Return the chain of a connector. Variables in other properties need no value.

        Args:
            resource: the connector.
            plugins: the installed plugins.
            secrets_dir: folder in which `${secret:..}` is looked up.
            environment: variables for `${env:..}`; None: those of the process.
            worker: the worker configuration as written, which names config providers.

        Raises:
            ConfigError: the chain or the manifest is invalid; it contains all problems.
            ConnectError: a config provider fails, or does not respond.
        """
        with ConfigProviders(worker, secrets_dir, environment) as providers:
            look_up = partial(resolve, secrets_dir=secrets_dir, environment=environment, providers=providers.table)
            return cls._of(resource, plugins, look_up)

    @classmethod
    def _of(cls, resource: Resource, plugins: Plugins, look_up: _LookUp) -> "Trial":
        config = resource.spec.config
        own = {n: t for n, t in config.items() if n in _OF_CHAIN or n.startswith(tuple(f"{of}." for of in _OF_CHAIN))}
        resolved = look_up(own)
        findings = Findings(warnings=[*misspelt_variables(own)])
        findings.attempt(lambda: CommonConfig.parse({n: t for n, t in resolved.values.items() if n in _OF_CHAIN}))
        chain = Chain(resource.connect_name)
        check_transforms(resolved.values, plugins, findings, chain)
        framework = Known.of(CommonConfig)
        findings.warnings += (u.problem for u in unknown_properties(resolved.values, framework, None, chain.known))
        typed = typed_properties(framework, None, chain.known)
        findings.warnings += (r for r in resource.reading.warnings if r.property in own and r.property not in typed)
        sink = _is_sink(resource, plugins, findings)
        redactor = Redactor([*resolved.secrets, *chain.secrets], own, own)
        findings.raise_for(resource.reading, resolved.problems, redactor)
        context = partial(PluginContext, resource.connect_name)
        opened, references = OpenPlugins(), {place: ref.spec() for place, ref in chain.plugins.items()}
        try:
            steps = build_steps(resolved.values, references, context, opened)
        except BaseException:
            opened.close()
            raise
        found = stages.transforms(resolved.values)
        policy = look_up({n: config[n] for n in _POLICY if n in config}).values
        return cls(
            resource.connect_name,
            sink,
            _topic(config, look_up, sink=sink),
            tuple(Stage(place, step) for place, step in zip(found, steps, strict=True)),
            policy.get(_POLICY[0], "none").strip().lower(),
            policy.get(_POLICY[1], "").strip(),
            tuple(redactor.problem(resource.reading.named(w)) for w in findings.warnings),
            redactor,
            opened,
        )

    def on(self, record: Record) -> Iterator[StageResult]:
        """Yield the result of each stage for a record, until it is dropped or fails. There are no retries.

        Raises:
            PluginExit: a plugin called `sys.exit`, which would fail a task.
        """
        current: Record | None = record
        for stage in self.stages:
            if current is None:
                return
            try:
                result = _run_stage(stage, current)
            except SystemExit as e:
                raise as_failure(e) from e
            yield result
            current = result.after

    def close(self) -> None:
        """Close the plugins."""
        self.opened.close()


def _run_stage(stage: Stage, record: Record) -> StageResult:
    recorder = None if stage.step.predicate is None else _RecordingPredicate(stage.step.predicate)
    operator = RetryWithToleranceOperator(ErrorPolicy())
    batch = RecordBatch.of([record])
    if record.original is not None:
        batch = batch.replace(original_topic=record.original.topic, original_partition=record.original.partition)
    transformed = transform((replace(stage.step, predicate=recorder),), batch, operator)
    held = None if recorder is None else recorder.answer
    if operator.failures:
        failed_there = recorder is not None and recorder.answer is None
        return StageResult(stage, held, Outcome.FAILED, record, None, operator.failures[0], failed_there)
    if held is stage.step.negate and recorder is not None:
        return StageResult(stage, held, Outcome.PASSED_BY, record, record)
    if not transformed.length:
        return StageResult(stage, held, Outcome.DROPPED, record, None)
    after = transformed.record(0)
    outcome = Outcome.CHANGED if changed_parts(record, after) else Outcome.UNCHANGED
    return StageResult(stage, held, outcome, record, after)


class _RecordingPredicate(Predicate):
    """Predicate that delegates to another one, and keeps its last result."""

    def __init__(self, predicate: Predicate) -> None:
        self._predicate = predicate
        self.answer: bool | None = None

    def test(self, record: Record) -> bool:
        self.answer = None
        self.answer = bool(self._predicate.test(record))
        return self.answer

    def test_batch(self, batch: RecordBatch) -> bool | list[bool]:
        found = self._predicate.test_batch(batch)
        self.answer = found if isinstance(found, bool) else bool(found[0])
        return found


def _is_sink(resource: Resource, plugins: Plugins, findings: Findings) -> bool:
    """Return whether the connector is a sink. If its plugin is not installed, the properties decide."""
    name = resource.spec.class_name
    guess = any(n in resource.spec.config for n in ("topics", "topics.regex"))
    if name == PLACEHOLDER:
        return guess
    try:
        return issubclass(plugins.find(Connector, name).cls, SinkConnector)  # type: ignore[type-abstract]
    except ConfigError as e:
        kind = "sink" if guess else "source"
        findings.warn("spec.class", f"{e} The transforms are tried as those of a {kind}.")
        return guess


def _topic(config: Mapping[str, str], look_up: _LookUp, *, sink: bool) -> str:
    """Return the first topic that the configuration names, or `sample`."""
    name = "topics" if sink else "topic"
    found = look_up({name: config.get(name, "")})
    first = found.values[name].split(",")[0].strip()
    return first if first and not found.problems else "sample"
