"""A connector's chain of transforms, tried on single records: found, checked, built and run as a task does it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from penstock import ConfigError, Connector, Plugin, Predicate, Problem, Record, RecordBatch, SinkConnector
from penstock_model.connect import plugin_chain as stages
from penstock_model.connect.connector_config import CommonConfig
from penstock_model.connect.plugin_chain import TransformPlace
from penstock_model.connect.redaction import Redactor
from penstock_model.connect.variables import misspelt_variables, resolve
from penstock_model.resources.connector import Connector as Resource
from penstock_model.resources.partial import PLACEHOLDER
from penstock_runtime.local.transform.record_diff import changed_parts
from penstock_runtime.pipeline.builder import build_steps
from penstock_runtime.pipeline.chain import Step, transform
from penstock_runtime.pipeline.record_errors import ErrorPolicy, Failure, RetryWithToleranceOperator
from penstock_runtime.plan.chain import Chain, check_transforms
from penstock_runtime.plan.problems import Findings
from penstock_runtime.plan.unknown_properties import typed_properties, unknown_properties
from penstock_runtime.plugins.discovery import Plugins

__all__ = ["Outcome", "Stage", "Trial", "Tried"]

_OF_CHAIN: Final = ("transforms", "predicates")
_POLICY: Final = ("errors.tolerance", "errors.deadletterqueue.topic.name")


class Outcome(StrEnum):
    """What a stage has made of a record."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    PASSED_BY = "passed by"
    """The predicate kept the transform from it."""
    DROPPED = "dropped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Stage:
    """One transform, as the configuration has it and as the engine runs it."""

    place: TransformPlace
    step: Step

    @property
    def type(self) -> str:
        """The class as it was written."""
        return (self.place.type or "").strip()


@dataclass(frozen=True, slots=True)
class Tried:
    """What happened to a record at one stage.

    Attributes:
        stage: where.
        held: what the predicate said, before `negate`; None without a predicate, or when it failed.
        outcome: in a word.
        before: the record as it came.
        after: what came of it; None when it was dropped or failed.
        failure: why it failed.
        in_predicate: it failed in the predicate, not in the transform.
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
    """A chain, ready to be tried.

    Attributes:
        connector: its name.
        sink: whether records are as a sink gets them, with an offset.
        topic: the topic of records that name none.
        stages: in order.
        tolerance: the connector's `errors.tolerance`.
        dead_letters: its dead letter queue, or an empty text.
        warnings: what the user should know.
        redactor: for whatever is shown.
    """

    connector: str
    sink: bool
    topic: str
    stages: tuple[Stage, ...]
    tolerance: str
    dead_letters: str
    warnings: tuple[Problem, ...]
    redactor: Redactor

    @classmethod
    def of(
        cls, resource: Resource, plugins: Plugins, secrets_dir: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> "Trial":  # fmt: skip
        """The chain of a connector. Variables outside of the chain need no value here.

        Raises:
            ConfigError: every problem of the chain, and of the text that it stands in.
        """
        config = resource.spec.config
        own = {n: t for n, t in config.items() if n in _OF_CHAIN or n.startswith(tuple(f"{of}." for of in _OF_CHAIN))}
        resolved = resolve(own, secrets_dir, environment)
        findings = Findings(warnings=[*misspelt_variables(own)])
        findings.attempt(lambda: CommonConfig.parse({n: t for n, t in resolved.values.items() if n in _OF_CHAIN}))
        chain = Chain()
        check_transforms(resolved.values, plugins, findings, chain)
        findings.warnings += unknown_properties(resolved.values, CommonConfig, None, chain.plugins)
        typed = typed_properties(CommonConfig, None, chain.plugins)
        findings.warnings += (r for r in resource.reading.warnings if r.property in own and r.property not in typed)
        sink = _is_sink(resource, plugins, findings)
        redactor = Redactor([*resolved.secrets, *chain.secrets])
        findings.raise_for(resource.reading, resolved.problems, redactor)
        steps = build_steps(resolved.values, {place: ref.spec() for place, ref in chain.plugins.items()})
        found = stages.transforms(resolved.values)
        policy = resolve({n: config[n] for n in _POLICY if n in config}, secrets_dir, environment).values
        return cls(
            resource.connect_name,
            sink,
            _topic(config, secrets_dir, environment, sink=sink),
            tuple(Stage(place, step) for place, step in zip(found, steps, strict=True)),
            policy.get(_POLICY[0], "none").strip().lower(),
            policy.get(_POLICY[1], "").strip(),
            tuple(redactor.problem(resource.reading.named(w)) for w in findings.warnings),
            redactor,
        )

    def on(self, record: Record) -> Iterator[Tried]:
        """What each stage makes of a record, until it is dropped or fails. Each is tried once, without retries."""
        current: Record | None = record
        for stage in self.stages:
            if current is None:
                return
            tried = _tried(stage, current)
            yield tried
            current = tried.after

    def close(self) -> None:
        """Let the plugins let go of what they hold."""
        plugins: Iterable[Plugin | None] = (p for s in self.stages for p in (s.step.transform, s.step.predicate))
        for plugin in {id(p): p for p in plugins if p is not None}.values():
            plugin.close()  # type: ignore[attr-defined]


def _tried(stage: Stage, record: Record) -> Tried:
    asked = None if stage.step.predicate is None else _Asked(stage.step.predicate)
    operator = RetryWithToleranceOperator(ErrorPolicy())
    batch = RecordBatch.of([record])
    if record.original is not None:
        batch = batch.replace(original_topic=record.original.topic, original_partition=record.original.partition)
    made = transform((replace(stage.step, predicate=asked),), batch, operator)
    held = None if asked is None else asked.answer
    if operator.failures:
        failed_there = asked is not None and asked.answer is None
        return Tried(stage, held, Outcome.FAILED, record, None, operator.failures[0], failed_there)
    if held is stage.step.negate and asked is not None:
        return Tried(stage, held, Outcome.PASSED_BY, record, record)
    if not made.length:
        return Tried(stage, held, Outcome.DROPPED, record, None)
    after = made.record(0)
    outcome = Outcome.CHANGED if changed_parts(record, after) else Outcome.UNCHANGED
    return Tried(stage, held, outcome, record, after)


class _Asked(Predicate):
    """Asks a predicate about one record, and remembers what it said last."""

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
    """Whether the connector is a sink. One that is not installed here does not keep its chain from being tried."""
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


def _topic(
    config: Mapping[str, str], secrets_dir: Path | None, environment: Mapping[str, str] | None, *, sink: bool
) -> str:
    """A topic that the connector reads or writes, where its configuration names one."""
    name = "topics" if sink else "topic"
    found = resolve({name: config.get(name, "")}, secrets_dir, environment)
    first = found.values[name].split(",")[0].strip()
    return first if first and not found.problems else "sample"
