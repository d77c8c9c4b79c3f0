"""Every case of the conformance set whose plugins Penstock has, one test per case with the case's id.

`CONFORMANCE_CASES` names another folder of cases in the same format. A plugin that is added to Penstock is added to
`PLUGINS` here, and its cases run.
"""

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from penstock import ConfigError, ConnectError, Converter, DataError, HeaderConverter, SchemaBuilderError
from penstock_plugins.header_converter import SimpleHeaderConverter
from penstock_plugins.java_regex import compile_java
from penstock_plugins.json_converter import JsonConverter
from penstock_plugins.predicates import TopicNameMatches
from penstock_plugins.regex_router import RegexRouter
from penstock_plugins.text_converters import ByteArrayConverter, StringConverter

from . import chains, codec

FOLDER: Final = Path(os.environ.get("CONFORMANCE_CASES") or Path(__file__).parent / "cases")

PLUGINS: Final = frozenset(
    {"HoistField", "InsertField", "RegexRouter", "Filter", "TopicNameMatches", "RecordIsTombstone"}
)  # fmt: skip
CONVERTERS: Final[dict[str, type[Converter] | type[HeaderConverter]]] = {
    c.__name__: c for c in (JsonConverter, StringConverter, ByteArrayConverter, SimpleHeaderConverter)
}
ERRORS: Final[dict[str, tuple[type[Exception], ...]]] = {
    "ConfigException": (ConfigError,),
    "VersionedPluginLoadingException": (ConfigError,),
    "InvalidVersionSpecificationException": (ConfigError,),
    "SerializationException": (ConfigError, DataError),
    "DataException": (DataError,),
    "SchemaBuilderException": (SchemaBuilderError,),
    "ConnectException": (ConnectError,),
    "IllegalArgumentException": (ValueError,),
    "NullPointerException": (TypeError, AttributeError),
    "ClassCastException": (TypeError,),
    "IndexOutOfBoundsException": (IndexError,),
}
"""Kafka Connect's error classes and what stands for them here."""

DIFFERENT: Final[dict[str, str]] = {}
"""Cases that Penstock answers otherwise on purpose, and why."""

Case = dict[str, Any]


def _cases(*areas: str) -> Iterator[Case]:
    for path in sorted(FOLDER.glob("*.json")):
        yield from (c for c in json.loads(path.read_text()) if c["area"] in areas)


def _named(cases: Iterator[Case]) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in cases]


def _is_built(case: Case) -> bool:
    types = {
        text.strip().rpartition(".")[2].partition("$")[0]
        for name, text in case["config"].items()
        if name.endswith(".type") and text and name.startswith(("transforms.", "predicates."))
    }
    return types <= PLUGINS


def _check_error(raised: object, expected: Case) -> None:
    assert isinstance(raised, ERRORS[expected["class"]]), f"{raised!r} instead of {expected}"
    if expected["class"] == "DataException":
        assert not isinstance(raised, SchemaBuilderError)


@pytest.fixture(autouse=True)
def _differences(request: pytest.FixtureRequest) -> None:
    case = request.node.callspec.params["case"]
    if case["id"] in DIFFERENT:
        request.node.add_marker(pytest.mark.xfail(reason=DIFFERENT[case["id"]], strict=True))


@pytest.mark.parametrize("case", _named(filter(_is_built, _cases("smt", "transform-config", "predicate"))))
def test_a_chain_does_what_kafka_connect_does(case: Case) -> None:
    expected = case["expected"]
    try:
        steps = chains.build(case["config"])
    except Exception as e:
        assert expected.get("error", {}).get("phase") == "config", f"{e!r} instead of {expected}"
        _check_error(e, expected["error"])
        return
    assert expected.get("error", {}).get("phase") != "config", "the configuration was accepted"
    sink = case.get("kind") == "sink"
    inputs = case["input"]
    several = "records" in inputs
    for node, one in zip(
        inputs["records"] if several else [inputs.get("record", inputs)],
        expected["results"] if several else [expected],
        strict=True,
    ):
        made = chains.run(steps, codec.record(node, sink=sink))
        if "error" in one:
            _check_error(made, one["error"])
        else:
            assert not isinstance(made, Exception), repr(made)
            wanted = one["record"]
            assert (None if made is None else codec.record_json(made)) == codec.normal(wanted)


@pytest.mark.parametrize("case", _named(c for c in _cases("converter") if c["source"] in CONVERTERS))
def test_a_converter_does_what_kafka_connect_does(case: Case) -> None:
    expected, given = case["expected"], case["input"]
    plugin = CONVERTERS[case["source"]]()
    error = expected.get("error")
    try:
        config = plugin.Config.parse({n: t for n, t in case["config"].items() if t is not None})
        if isinstance(plugin, HeaderConverter):
            plugin.configure(config)
        else:
            plugin.configure(config, is_key=given.get("isKey", False))
    except Exception as e:
        assert error is not None, repr(e)
        assert error["phase"] == "config", repr(e)
        _check_error(e, error)
        return
    assert error is None or error["phase"] == "apply", "the configuration was accepted"
    try:
        made = _converted(plugin, given)
    except Exception as e:
        assert error is not None, repr(e)
        _check_error(e, error)
        return
    assert error is None, f"{made!r} instead of {error}"
    if "data" in expected:
        assert made == codec.normal(expected["data"])
    else:
        wanted = expected["bytes"]
        assert made == (None if wanted is None else base64.b64decode(wanted["$bytes"]))


def _converted(plugin: Converter | HeaderConverter, given: Case) -> Any:
    topic, header = given["topic"], given.get("header", "")
    if "data" in given:
        schema = codec.schema(given["data"]["schema"])
        value = codec.value(schema, given["data"]["value"])
        if isinstance(plugin, HeaderConverter):
            return plugin.from_connect(topic, header, schema, value)
        return plugin.from_connect(topic, schema, value)
    data = None if given["bytes"] is None else base64.b64decode(given["bytes"]["$bytes"])
    if isinstance(plugin, HeaderConverter):
        found = plugin.to_connect(topic, header, data)
        schema, value = found.schema, found.value
    else:
        schema, value = plugin.to_connect(topic, data)
    return {"schema": codec.schema_json(schema), "value": codec.value_json(schema, value)}


@pytest.mark.parametrize("case", _named(c for c in _cases("regex") if c["source"] in ("RegexRouter", "topics.regex")))
def test_a_topic_pattern_means_what_it_means_in_java(case: Case) -> None:
    _regex_case(case)


@pytest.mark.parametrize("case", _named(c for c in _cases("regex") if c["source"] == "TopicNameMatches"))
def test_a_predicate_pattern_means_what_it_means_in_java(case: Case) -> None:
    _regex_case(case)


def _regex_case(case: Case) -> None:
    config, expected = case["config"], case["expected"]
    try:
        match = _matcher(case["source"], config)
    except Exception as e:
        assert expected.get("error", {}).get("phase") in ("config", "task"), repr(e)
        _check_error(e, expected["error"] | {"class": "ConfigException"})
        return
    assert "error" not in expected, "the pattern was accepted"
    for topic, wanted in zip(case["input"]["topics"], expected["results"], strict=True):
        try:
            made = match(topic)
        except Exception as e:
            assert isinstance(wanted, dict), repr(e)
            _check_error(e, wanted["error"])
        else:
            assert made == wanted


def _matcher(source: str, config: dict[str, str]) -> Any:
    from penstock import Record

    if source == "RegexRouter":
        router = RegexRouter()
        router.configure(RegexRouter.Config.parse(config))
        return lambda topic: router.apply(Record(topic=topic, value=None)).topic
    if source == "TopicNameMatches":
        predicate = TopicNameMatches()
        predicate.configure(TopicNameMatches.Config.parse(config))
        return lambda topic: predicate.test(Record(topic=topic, value=None))
    try:
        return compile_java(config["topics.regex"]).matches
    except ValueError as e:
        raise ConfigError(str(e)) from e
