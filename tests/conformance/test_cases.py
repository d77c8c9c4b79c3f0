"""Every case of the conformance set whose plugins Penstock has, one test per case with the case's id.

`CONFORMANCE_CASES` names another folder of cases in the same format. A plugin that is added to Penstock is added to
`PLUGINS` here, and its cases run.
"""

import base64
import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from penstock import ConfigError, ConnectError, Converter, DataError, HeaderConverter, Record, SchemaBuilderError
from penstock.java_regex import compile_java
from penstock_plugins.header_converter import SimpleHeaderConverter
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


def _router(config: dict[str, str]) -> Callable[[str], object]:
    plugin = RegexRouter()
    plugin.configure(RegexRouter.Config.parse(config))
    return lambda topic: plugin.apply(Record(topic=topic, value=None)).topic


def _predicate(config: dict[str, str]) -> Callable[[str], object]:
    plugin = TopicNameMatches()
    plugin.configure(TopicNameMatches.Config.parse(config))
    return lambda topic: plugin.test(Record(topic=topic, value=None))


MATCHERS: Final[dict[str, Callable[[dict[str, str]], Callable[[str], object]]]] = {
    "RegexRouter": _router,
    "TopicNameMatches": _predicate,
    "topics.regex": lambda config: compile_java(config["topics.regex"]).matches,
}

DIFFERENT: Final[dict[str, str]] = {
    "transform-config-chain-016": "penstock_runtime.discovery takes $Key and $Value after an alias as well",
}
"""Cases that Penstock answers otherwise on purpose, and why."""

Case = dict[str, Any]
T = TypeVar("T")


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


def _outcome(work: Callable[[], T]) -> T | Exception:
    try:
        return work()
    except Exception as e:  # noqa: BLE001 (an error is what many cases expect)
        return e


def _refused(made: object, expected: Case) -> bool:
    """Whether a configuration was refused as expected; fails where it was refused or accepted against the case."""
    error = expected.get("error")
    if error is None or error["phase"] == "apply":
        assert not isinstance(made, Exception), repr(made)
        return False
    assert isinstance(made, Exception), "the configuration was accepted"
    _check_error(made, error)
    return True


@pytest.mark.parametrize("case", _named(filter(_is_built, _cases("smt", "transform-config", "predicate"))))
def test_a_chain_does_what_kafka_connect_does(case: Case) -> None:
    expected, inputs = case["expected"], case["input"]
    steps = _outcome(lambda: chains.build(case["config"]))
    if _refused(steps, expected):
        return
    assert not isinstance(steps, Exception)
    several = "records" in inputs
    for node, one in zip(
        inputs["records"] if several else [inputs.get("record", inputs)],
        expected["results"] if several else [expected],
        strict=True,
    ):
        made = chains.run(steps, codec.record(node, sink=case.get("kind") == "sink"))
        if "error" in one:
            _check_error(made, one["error"])
        else:
            assert not isinstance(made, Exception), repr(made)
            assert (None if made is None else codec.record_json(made)) == codec.normal(one["record"])


@pytest.mark.parametrize("case", _named(c for c in _cases("converter") if c["source"] in CONVERTERS))
def test_a_converter_does_what_kafka_connect_does(case: Case) -> None:
    expected = case["expected"]
    plugin = _outcome(lambda: _configured(case))
    if _refused(plugin, expected):
        return
    assert not isinstance(plugin, Exception)
    made = _outcome(lambda: _converted(plugin, case["input"]))
    if "error" in expected:
        _check_error(made, expected["error"])
    elif "data" in expected:
        assert made == codec.normal(expected["data"])
    else:
        wanted = expected["bytes"]
        assert made == (None if wanted is None else base64.b64decode(wanted["$bytes"]))


def _configured(case: Case) -> Converter | HeaderConverter:
    plugin = CONVERTERS[case["source"]]()
    config = plugin.Config.parse({n: t for n, t in case["config"].items() if t is not None})
    if isinstance(plugin, HeaderConverter):
        plugin.configure(config)
    else:
        plugin.configure(config, is_key=case["input"].get("isKey", False))
    return plugin


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


@pytest.mark.parametrize("case", _named(c for c in _cases("regex") if c["source"] in MATCHERS))
def test_a_pattern_means_what_it_means_in_java(case: Case) -> None:
    expected = case["expected"]
    match = _outcome(lambda: MATCHERS[case["source"]](case["config"]))
    if _refused(match, expected):
        return
    assert not isinstance(match, Exception)
    for topic, wanted in zip(case["input"]["topics"], expected["results"], strict=True):
        made = _outcome(partial(match, topic))
        if isinstance(wanted, dict):
            _check_error(made, wanted["error"])
        else:
            assert made == wanted
