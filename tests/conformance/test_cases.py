"""What becomes of records: transforms, predicates, converters, patterns and dates, case by case."""

import base64
from functools import partial
from typing import Any

import pytest

from penstock import Record
from penstock.values import Instant
from penstock_runtime.pipeline.context import TaskContext
from penstock_runtime.pipeline.converters import Converters
from penstock_runtime.sink.context import SinkContext

from . import codec
from .case_files import AREAS, Case, cases, every
from .connectors import Place, consumed, outcomes, outgoing, set_up
from .expecting import check_error, outcome, refused


def test_every_area_has_a_test() -> None:
    assert {case["area"] for case in every()} <= {*AREAS}


@pytest.mark.parametrize("case", cases("smt", "transform-config", "predicate"))
def test_a_chain_does_what_kafka_connect_does(case: Case) -> None:
    sink = case.get("kind") == "sink"
    steps = outcome(lambda: set_up(case["config"], sink=sink).steps)
    if refused(steps, case["expected"]):
        return
    assert not isinstance(steps, Exception)
    several = "records" in case["input"]
    nodes = case["input"]["records"] if several else [case["input"]["record"]]
    expected = case["expected"]["results"] if several else [case["expected"]]
    for node, wanted in zip(nodes, expected, strict=True):
        (made,) = outcomes(steps, [codec.record(node, sink=sink)])
        _check_record(made, wanted)
    together = outcomes(steps, [codec.record(node, sink=sink) for node in (*nodes, *nodes)])
    for made, wanted in zip(together, [*expected, *expected], strict=True):
        _check_record(made, wanted)


def _check_record(made: Record | Exception | None, expected: Case) -> None:
    if "error" in expected:
        check_error(made, expected["error"])
        return
    assert not isinstance(made, Exception), repr(made)
    assert (None if made is None else codec.record_json(made)) == codec.normal(expected["record"])


@pytest.mark.parametrize("case", cases("converter"))
def test_a_converter_does_what_kafka_connect_does(case: Case) -> None:
    expected = case["expected"]
    place = _place(case)
    converters = outcome(lambda: _converters(case, place))
    if refused(converters, expected):
        return
    assert isinstance(converters, Converters)
    made = outcome(lambda: _converted(converters, place, case["input"]))
    if "error" in expected:
        check_error(made, expected["error"])
        return
    assert not isinstance(made, Exception), repr(made)
    if "data" in expected:
        assert made == codec.normal(expected["data"])
    else:
        wanted = expected["bytes"]
        assert made == (None if wanted is None else base64.b64decode(wanted["$bytes"]))


def _place(case: Case) -> Place:
    given = case["input"]
    return "header" if "header" in given else "key" if given.get("isKey", False) else "value"


def _converters(case: Case, place: Place) -> Converters:
    properties = {f"{place}.converter.{name}": text for name, text in case["config"].items()}
    return set_up({f"{place}.converter": case["source"], **properties}).converters


def _converted(converters: Converters, place: Place, given: Case) -> Any:
    topic, header = given["topic"], given.get("header", "")
    if "data" in given:
        schema = codec.schema(given["data"]["schema"])
        value = codec.value(schema, given["data"]["value"])
        return outgoing(converters, place, topic, header, (schema, value))
    data = None if given["bytes"] is None else base64.b64decode(given["bytes"]["$bytes"])
    schema, value = consumed(converters, place, topic, header, data)
    return {"schema": codec.schema_json(schema), "value": codec.value_json(schema, value)}


@pytest.mark.parametrize("case", cases("datetime"))
def test_a_date_reads_and_writes_as_in_java(case: Case) -> None:
    given, expected = case["input"], case["expected"]
    side = "$Value" if case["source"] == "TimestampConverter" else ""
    setup = outcome(lambda: set_up(_transform(f"org.apache.kafka.connect.transforms.{case['source']}{side}", case)))
    if refused(setup, expected):
        return
    assert isinstance(setup, TaskContext)
    value: Any = Instant(given["millis"]) if "millis" in given else given.get("string", "v")
    record = Record(topic=given.get("topic", "t"), value=value, timestamp=given.get("timestamp"))
    (made,) = outcomes(setup.steps, [record])
    if "error" in expected:
        check_error(made, expected["error"])
        return
    assert isinstance(made, Record), repr(made)
    (kind,) = expected
    if kind == "topic":
        assert made.topic == expected["topic"]
    else:
        assert isinstance(made.value, str if kind == "string" else int)
        assert made.value == expected[kind]


def _transform(name: str, case: Case) -> dict[str, Any]:
    properties = {f"transforms.a.{name}": text for name, text in case["config"].items()}
    return {"transforms": "a", "transforms.a.type": name, **properties}


@pytest.mark.parametrize("case", [c for c in cases("regex") if c.values[0]["source"] != "TopicCreationGroup"])
def test_a_pattern_means_what_it_means_in_java(case: Case) -> None:
    expected = case["expected"]
    setup = outcome(lambda: _with_pattern(case))
    if refused(setup, expected):
        return
    assert isinstance(setup, TaskContext)
    for topic, wanted in zip(case["input"]["topics"], expected["results"], strict=True):
        made = outcome(partial(_of_topic, setup, case["source"], topic))
        if isinstance(wanted, dict):
            check_error(made, wanted["error"])
        else:
            assert made == wanted


def _with_pattern(case: Case) -> TaskContext:
    match case["source"]:
        case "topics.regex":
            return set_up(case["config"], sink=True)
        case "TopicNameMatches":
            guard = {"transforms": "a", "transforms.a.type": "Filter", "transforms.a.predicate": "p"}
            properties = {f"predicates.p.{name}": text for name, text in case["config"].items()}
            return set_up({**guard, "predicates": "p", "predicates.p.type": "TopicNameMatches", **properties})
        case name:
            return set_up(_transform(name, case))


def _of_topic(setup: TaskContext, source: str, topic: str) -> object:
    """What `RegexRouter` makes of a topic; whether the others match it."""
    if source == "topics.regex":
        assert isinstance(setup, SinkContext)
        assert setup.topic_matches is not None
        return setup.topic_matches(topic)
    (made,) = outcomes(setup.steps, [Record(topic=topic, value=None)])
    if isinstance(made, Exception):
        raise made
    if source == "TopicNameMatches":
        return made is None  # what matches is dropped
    assert made is not None
    return made.topic
