"""Java transforms and predicates in chains: each record by itself, whatever becomes of the others of its batch."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock import ConfigError, Int8, PluginContext, Record, RecordBatch, Transform
from penstock.schema import INT32, STRING, struct
from penstock_runtime.java_plugins.classes import class_of
from penstock_runtime.java_plugins.hosts import close_host
from penstock_runtime.java_plugins.java_error import JvmEnded, PluginFailed
from penstock_runtime.java_plugins.java_object import JavaObject
from penstock_runtime.pipeline.chain import Step, transform
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, RetryWithToleranceOperator
from penstock_runtime.plugins.plugin_ref import make

from .probe_plugin import PREDICATE, TRANSFORM, Probe, probe

__all__ = ["Probe", "probe"]

TOLERANT = ErrorPolicy(tolerate=True)


@pytest.fixture(autouse=True)
def ended_jvm() -> Iterator[None]:
    yield
    close_host()


def configured(kind: str, probe: Probe, class_name: str, **properties: str) -> Any:
    cls = class_of(f"java:{kind}:{probe.folder / 'probe'}#{class_name}")
    plugin: Any = make(cls, PluginContext("c", "transforms.x", "1.0.0"))
    plugin.configure(plugin.Config.parse(properties, "transforms.x."))
    return plugin


def step(probe: Probe, does: str, predicate: Any = None, *, negate: bool = False, **more: str) -> Step:
    return Step("x", configured("transform", probe, TRANSFORM, does=does, **more), TRANSFORM, predicate, negate)


def predicate(probe: Probe, pattern: str) -> Any:
    return configured("predicate", probe, PREDICATE, pattern=pattern)


def texts(*values: str) -> RecordBatch:
    return RecordBatch.of([Record(topic="t", value=value, value_schema=STRING) for value in values])


def run(
    steps: Sequence[Step], batch: RecordBatch, policy: ErrorPolicy = TOLERANT, **more: Any
) -> tuple[RecordBatch, RetryWithToleranceOperator]:
    operator = RetryWithToleranceOperator(policy, **more)
    return transform(steps, batch, operator), operator


class Reverse(Transform):
    """One of Python."""

    def apply(self, record: Record) -> Record | None:
        return record.replace(value=record.value[::-1])


def test_java_and_python_transforms_take_turns(probe: Probe) -> None:
    python = Step("r", Reverse(), "Reverse")
    made, _ = run([step(probe, "upper"), python, step(probe, "topic", on="^C")], texts("abc", "cba"))
    assert [(r.topic, r.value) for r in made.records()] == [("t-moved", "CBA"), ("t", "ABC")]


def test_a_record_may_be_dropped_and_get_another_topic_partition_and_headers(probe: Probe) -> None:
    steps = [step(probe, "drop", on="b"), step(probe, "partition", on="c"), step(probe, "header", on="a|c")]
    made, operator = run(steps, texts("a", "b", "c", "d"))
    assert list(made.positions) == [0, 2, 3]
    assert [r.partition for r in made.records()] == [None, 1, None]
    headers = [{h.name: h.value for h in r.headers} for r in made.records()]
    assert headers == [{"seen": "source"}, {"seen": "source"}, {}]
    assert not operator.failures


def test_records_of_a_sink_keep_their_place_in_kafka(probe: Probe) -> None:
    batch = texts("a", "b", "c").replace(
        original_topic="t", original_partition=3, offset=[7, 8, 11], timestamp=5, timestamp_type="LogAppendTime"
    )
    made, _ = run([step(probe, "drop", on="b"), step(probe, "topic"), step(probe, "header")], batch)
    first, last = made.records()
    assert [r.original and (r.original.topic, r.original.partition, r.original.offset) for r in (first, last)] == [
        ("t", 3, 7),
        ("t", 3, 11),
    ]
    assert (last.topic, last.offset, last.timestamp, last.timestamp_type) == ("t-moved", 11, 5, "LogAppendTime")
    assert [h.value for h in last.headers] == ["sink"]


def test_a_record_that_fails_is_the_only_one(probe: Probe) -> None:
    made, operator = run([step(probe, "throw", on="bad"), step(probe, "upper")], texts("a", "bad 1", "b", "bad 3", "c"))
    assert made.value == ["A", "B", "C"]
    assert list(made.positions) == [0, 2, 4]
    assert [f.position for f in operator.failures] == [1, 3]
    failure = operator.failures[0]
    assert f"{type(failure.error).__module__}.{type(failure.error).__name__}" == (
        "org.apache.kafka.connect.errors.DataException"
    )
    assert str(failure.error) == "this record is bad"
    assert "at dev.penstock.probe.ProbeTransform.apply" in failure.trace()
    assert failure.plugin == TRANSFORM


def test_only_a_record_that_failed_is_tried_again(probe: Probe, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    policy = ErrorPolicy(tolerate=True, retry_timeout=60, retry_delay_max=0.01)
    retrying = step(probe, "retry", on="slow", journal=str(journal))
    made, operator = run([retrying], texts("a", "slow 1", "b", "slow 3"), policy, sleep=lambda seconds: None)
    assert made.value == ["a", "slow 1", "b", "slow 3"]
    assert operator.retries == 4
    tried = [line for line in journal.read_text().splitlines() if line.startswith("try")]
    assert sorted(tried) == ["try slow 1"] * 3 + ["try slow 3"] * 3


def test_without_retries_a_record_is_given_once(probe: Probe, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    _, operator = run([step(probe, "retry", journal=str(journal))], texts("a"))
    assert [f.position for f in operator.failures] == [0]
    assert journal.read_text().splitlines()[1:] == ["try a"]


@pytest.mark.parametrize(
    ("does", "words"),
    [("object", "java.lang.Thread"), ("misfit", "Mismatching schema"), ("nameless", "cannot read a schema")],
)
def test_a_result_that_connects_data_model_does_not_have_fails_its_record(probe: Probe, does: str, words: str) -> None:
    made, operator = run([step(probe, does, on="b")], texts("a", "b", "c"))
    assert made.value == ["a", "c"]
    assert [f.position for f in operator.failures] == [1]
    assert words in str(operator.failures[0].error)


@pytest.mark.parametrize("wrong", [{"n": "no number"}, {"n": object()}, {"n": 2**70}, {"n": 2**31}, {"n": Int8(300)}])
def test_a_value_that_does_not_fit_its_schema_fails_its_record(probe: Probe, wrong: object) -> None:
    schema = struct({"n": INT32})
    values: list[Any] = [{"n": n} for n in range(9)]
    values[4] = wrong
    batch = RecordBatch.of([Record(topic="t", value=value, value_schema=schema) for value in values])
    made, operator = run([step(probe, "nothing")], batch)
    assert made.value == [{"n": n} for n in range(9) if n != 4]
    assert [f.position for f in operator.failures] == [4]
    for values_of in (values[3:], values[:4]):
        rest = RecordBatch.of([Record(topic="t", value=value, value_schema=schema) for value in values_of])
        assert len(run([step(probe, "nothing", predicate(probe, "n=[0-9]"))], rest)[1].failures) == (wrong in values_of)


def test_a_predicate_of_java_guards_any_transform(probe: Probe) -> None:
    python = Step("r", Reverse(), "Reverse", predicate(probe, "^a"))
    java = step(probe, "upper", predicate(probe, "^a"), negate=True)
    made, operator = run([java, python], texts("abc", "xyz"))
    assert made.value == ["cba", "XYZ"]
    assert not operator.failures


def test_a_record_that_cannot_be_tested_fails(probe: Probe) -> None:
    made, operator = run([step(probe, "upper", predicate(probe, "a"))], texts("a", "poison", "b"))
    assert made.value == ["A", "b"]
    assert [(f.position, str(f.error)) for f in operator.failures] == [(1, "this record cannot be tested")]


@pytest.mark.parametrize("does", ["no class", "exit"])
def test_a_failure_that_is_not_of_the_record_is_never_tolerated(probe: Probe, does: str) -> None:
    expected = {"no class": (PluginFailed, "NoClassDefFoundError"), "exit": (JvmEnded, "System.exit")}[does]
    with pytest.raises(expected[0], match=f"cannot apply {TRANSFORM}: .*{expected[1]}"):
        run([step(probe, does, on="b")], texts("a", "b"))


def test_a_transform_that_does_not_return_ends_its_jvm(probe: Probe, monkeypatch: Any) -> None:
    monkeypatch.setattr(JavaObject, "longest", 1.0)
    with pytest.raises(JvmEnded, match=r"its apply\(\) has not returned within 1 s, so its JVM was killed"):
        run([step(probe, "block")], texts("a"))


def test_all_properties_that_are_wrong_are_reported_as_kafka_connect_names_them(probe: Probe) -> None:
    with pytest.raises(ConfigError) as raised:
        configured("transform", probe, TRANSFORM, most="10")
    assert [(p.property, p.message) for p in raised.value.problems] == [
        (
            "transforms.x.does",
            'Missing required configuration "transforms.x.does" which has no default value.',
        ),
        (
            "transforms.x.most",
            "Invalid value 10 for configuration most: Value must be no more than 9",
        ),
    ]
    with pytest.raises(ConfigError) as raised:
        configured("transform", probe, TRANSFORM, does="refuse")
    (problem,) = raised.value.problems
    assert problem.property == "transforms.x.type"
    assert (
        f"cannot configure {TRANSFORM}: ConfigException: Invalid value refuse for configuration does" in problem.message
    )


def test_a_transform_is_configured_with_its_type_and_closed(probe: Probe, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    plugin = configured("transform", probe, f"{TRANSFORM}$Value", does="upper", journal=str(journal))
    plugin.close()
    assert journal.read_text().splitlines() == [f"configure {TRANSFORM}$Value", "close"]
