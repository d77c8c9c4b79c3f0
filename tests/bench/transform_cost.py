"""What transforms cost in one process: microseconds of CPU a record, in batches of 5,000, without Kafka, Spark or a JVM.

Two figures: the transforms alone, and the whole way from a record's bytes to its line, converters and predicates included.
The batch is read anew for each time, so that nothing that an earlier one found is there. The least of all times is given:
what else the machine does can only add to it.
"""

import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from tests.bench.results import AtMost, Measure
from tests.bench.transform_cases import CASES, FORMS, Case, Form, headers, values

from penstock import Converter, HeaderConverter, Predicate, TopicPartition, Transform
from penstock_model.connect import plugin_chain
from penstock_plugins.connectors.file.sink import FileWriter
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.pipeline import chain
from penstock_runtime.pipeline.converters import Converters, convert_consumed
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, RetryWithToleranceOperator
from penstock_runtime.pipeline.gc_tuning import tune_gc
from penstock_runtime.plugins.discovery import Plugins

__all__ = ["Cost", "cost_of", "cost_rows", "transform_costs"]

_BATCH: Final = 5_000
_PER_TRANSFORM: Final = 0.5
_HEADERS: Final = "org.apache.kafka.connect.storage.SimpleHeaderConverter"


@dataclass(frozen=True)
class Cost:
    """Microseconds a record, the least of all times: of the transforms, and of the whole way."""

    case: str
    form: str
    transforms: float
    whole: float


def transform_costs(*, times: int = 30) -> list[Cost]:
    """Every case on every form of records; one without transforms on each form comes first."""
    tune_gc()  # as every process that handles records does
    nothing = [(Case("nothing", {}, form.content), form) for form in FORMS]
    every = [*nothing, *((case, form) for case in CASES for form in case.forms())]
    return [cost_of(case, form, times=times) for case, form in every]


def cost_of(case: Case, form: Form, *, times: int) -> Cost:
    """One case."""
    consumed, converters, steps = _consumed(form), _converters(form), _steps(case)
    lines = _Lines()
    alone: list[float] = []
    whole: list[float] = []
    gc.collect()
    for _ in range(times):
        begun = time.process_time()
        operator = RetryWithToleranceOperator(ErrorPolicy())
        batch = convert_consumed(converters, consumed, operator)
        before = time.process_time()
        batch = chain.transform(steps, batch, operator)
        after = time.process_time()
        lines.stage([batch], lambda record, error: None)
        whole.append((time.process_time() - begun) * 1e6 / _BATCH)
        alone.append((after - before) * 1e6 / _BATCH)
        if operator.failures or batch.length != _BATCH // case.every:
            raise RuntimeError(f"{case.name}, {form.name}: {batch.length} records, {operator.failures[:1]}")
    return Cost(case.name, form.name, min(alone), min(whole))


def cost_rows(costs: Sequence[Cost]) -> list[Measure]:
    """Goals: half a microsecond a transform."""
    lengths = {case.name: case.length for case in CASES}
    rows = []
    for cost in costs:
        goal = AtMost(_PER_TRANSFORM * lengths[cost.case]) if cost.case in lengths else None
        name = f"{cost.case}: {cost.form}"
        rows.append(Measure(name, f"us; whole {cost.whole:.2f}", [cost.transforms], [], goal))
    return rows


class _Lines(FileWriter):
    """A sink's writer that throws its lines away."""

    def __init__(self) -> None:
        super().__init__("/dev/null")
        self._stage = _Nowhere()  # type: ignore[assignment]


class _Nowhere:
    def add(self, data: bytes) -> None:
        """Take nothing."""


def _consumed(form: Form) -> Consumed:
    numbers = range(_BATCH)
    marks = [headers(n, form) for n in numbers]
    return Consumed(
        source=TopicPartition("bench-cost", 0),
        offset=list(numbers),
        value=cast("list[bytes | None]", values(0, _BATCH, form)),
        key=None,
        headers=None if marks[0] is None else cast("Any", marks),
        timestamp=[1_760_000_000_000 + n for n in numbers],
    )


def _converters(form: Form) -> Converters:
    made: list[Any] = []
    for name in plugin_chain.CONVERTERS:
        place = plugin_chain.converter(name, {"header.converter": _HEADERS, **form.converters}, {})
        kind: type[Any] = HeaderConverter if name == "header.converter" else Converter
        plugin = Plugins.installed().find(kind, str(place.type)).cls()
        parsed = plugin.Config.parse(place.properties, place.prefix)
        if isinstance(plugin, HeaderConverter):
            plugin.configure(parsed)
        else:
            plugin.configure(parsed, is_key=name == "key.converter")
        made.append(plugin)
    return Converters(made[0], made[1], made[2], ("key", "value", "header"))


def _steps(case: Case) -> list[chain.Step]:
    predicates: dict[str, Predicate] = {}
    for guard in plugin_chain.predicates(case.config):
        predicate = Plugins.installed().find(Predicate, str(guard.type)).cls()  # type: ignore[type-abstract]
        predicate.configure(predicate.Config.parse(guard.properties, guard.prefix))
        predicates[guard.name.removeprefix("predicates.")] = predicate
    steps = []
    for place in plugin_chain.transforms(case.config):
        ref = Plugins.installed().find(Transform, str(place.type))  # type: ignore[type-abstract]
        transform = ref.cls()
        if ref.variant is not None:
            transform.side = ref.variant.lower()
        transform.configure(transform.Config.parse(place.properties, place.prefix))
        asked = None if place.predicate is None else predicates[place.predicate]
        steps.append(chain.Step(place.name, transform, ref.alias, asked, place.negated))
    return steps
