"""A chain of transforms from a case's properties, as the plan checks it and the task builds it."""

from collections.abc import Mapping

from penstock import ConfigError, Predicate, Problem, Record, RecordBatch, Transform, stages
from penstock.connector_config import CommonConfig
from penstock_runtime.discovery import PluginRef, Plugins
from penstock_runtime.engine.chain import Step, transform
from penstock_runtime.engine.tolerance import ErrorPolicy, Operator
from penstock_runtime.plan.chain import check_chain
from penstock_runtime.plan.findings import Findings

_WORKER = {"key.converter": "JsonConverter", "value.converter": "JsonConverter",
           "header.converter": "SimpleHeaderConverter"}  # fmt: skip


def build(config: Mapping[str, str | None]) -> tuple[Step, ...]:
    """The chain.

    Raises:
        ConfigError: every problem that the plan has with it.
    """
    texts = {name: text for name, text in config.items() if text is not None}
    findings = Findings()
    chain = check_chain(texts, _WORKER, Plugins.installed(), findings)
    problems = [*findings.problems, *_list_problems(texts)]
    if problems:
        raise ConfigError(problems)
    predicates = {p.name.removeprefix("predicates."): _predicate(chain.plugins[p.name], p)
                  for p in stages.predicates(texts)}  # fmt: skip
    steps = []
    for place in stages.transforms(texts):
        ref = chain.plugins[place.name]
        plugin = ref.cls()
        assert isinstance(plugin, Transform)
        if ref.variant is not None:
            plugin.side = ref.variant.lower()
        plugin.configure(plugin.Config.parse(place.properties, place.prefix))
        guard = None if place.predicate is None else predicates[place.predicate]
        steps.append(Step(place.name, plugin, ref.alias, guard, place.negated))
    return tuple(steps)


def _list_problems(texts: Mapping[str, str]) -> list[Problem]:
    try:
        CommonConfig.parse(texts)
    except ConfigError as e:
        return [p for p in e.problems if p.property in ("transforms", "predicates")]
    return []


def _predicate(ref: PluginRef[object], place: stages.Place) -> Predicate:  # type: ignore[type-var]
    plugin = ref.cls()
    assert isinstance(plugin, Predicate)
    plugin.configure(plugin.Config.parse(place.properties, place.prefix))
    return plugin


def run(steps: tuple[Step, ...], record: Record) -> Record | Exception | None:
    """What the engine makes of one record: the next record, None when it was dropped, or what was raised."""
    operator = Operator(ErrorPolicy())
    batch = transform(steps, RecordBatch.of([record]), operator)
    if operator.failures:
        return operator.failures[0].error
    return next(batch.records(), None)
