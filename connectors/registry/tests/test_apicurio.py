"""Apicurio's converter: its names, its properties, and its messages, with a real registry and its own converter in Java."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from connectors.registry.tests.servers import Proxy, Registry
from tests.integration.java.plugins import apicurio_converter

from penstock import ConfigError, Converter, DataError, Problem, RetriableError
from penstock.schema import INT32, INT64, OPTIONAL_STRING, STRING, struct
from penstock.testing import parsed
from penstock_model.connect.versions import VersionRange
from penstock_plugins.converters.json.converter import JsonConverter
from penstock_registry.apicurio.converter import ApicurioAvroConverter
from penstock_runtime.java_home import find_java
from penstock_runtime.java_plugins.catalog import find_class
from penstock_runtime.java_plugins.converters import JavaConverter
from penstock_runtime.plugins.discovery import PluginRef, Plugins

REGISTRY = "apicurio.registry."
STRATEGY = f"{REGISTRY}artifact-resolver-strategy"
AUTO = {f"{REGISTRY}auto-register": "true"}
ORDER = struct({"id": INT64, "name": OPTIONAL_STRING}, name="shop.Order")
WIDER = struct({"id": INT64, "name": OPTIONAL_STRING, "note": OPTIONAL_STRING}, name="shop.Order")
FORMATS = {
    "as Apicurio does by default": {},
    "headers with contents": {f"{REGISTRY}use-id": "contentId"},
    "eight bytes": {f"{REGISTRY}headers.enabled": "false"},
    "four bytes": {f"{REGISTRY}headers.enabled": "false", f"{REGISTRY}as-confluent": "true"},
    "four bytes of contents": {
        f"{REGISTRY}headers.enabled": "false",
        f"{REGISTRY}id-handler": "io.apicurio.registry.serde.Legacy4ByteIdHandler",
        f"{REGISTRY}use-id": "contentId",
    },
}
Raw = tuple[bytes, list[tuple[str, bytes | None]]]
Make = Callable[..., ApicurioAvroConverter]


@pytest.fixture
def apicurio(registry: Registry) -> Iterator[Make]:
    """Make a converter with Apicurio's properties, closed at the end."""
    made: list[ApicurioAvroConverter] = []

    def make(properties: dict[str, str] | None = None, *, is_key: bool = False) -> ApicurioAvroConverter:
        converter = ApicurioAvroConverter()
        made.append(converter)
        texts = {f"{REGISTRY}url": api(registry)} | (properties or {})
        converter.configure(parsed(ApicurioAvroConverter, texts), is_key=is_key)
        return converter

    yield make
    for converter in made:
        converter.close()


@pytest.fixture(scope="module")
def java() -> Iterator[Callable[..., Any]]:
    """Apicurio's converter in Java: returns the answer to a request."""
    source = Path(__file__).parent / "java" / "ApicurioSide.java"
    process = subprocess.Popen(
        [str(find_java().executable), "-Xmx256m", "-cp", f"{apicurio_converter()}/*", str(source)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    into, out = process.stdin, process.stdout

    def ask(**request: Any) -> Any:
        into.write(json.dumps(request) + "\n")
        into.flush()
        answer = json.loads(out.readline())
        assert "error" not in answer, answer
        return answer

    yield ask
    into.close()
    process.wait()
    out.close()


def api(registry: Registry, version: int = 2) -> str:
    return registry.own_url.replace("/v2", f"/v{version}")


def written(converter: ApicurioAvroConverter, topic: str, schema: Any, value: Any) -> Raw:
    """The data and the headers in Kafka."""
    message = converter.from_connect(topic, schema, value)
    assert message is not None
    assert converter.from_connect_batch(topic, schema, [value]) == [message]
    if not converter.writes_headers:
        return message, []
    data, headers = converter.split_headers(message)
    return data, list(headers)


def read(converter: ApicurioAvroConverter, topic: str, raw: Raw) -> Any:
    data, headers = raw
    return converter.to_connect(topic, converter.join_headers(data, headers) if converter.reads_headers else data)


@pytest.mark.parametrize(
    ("properties", "is_key"),
    [
        pytest.param(given, is_key, id=f"{name}, {side}", marks=() if not (given or is_key) else pytest.mark.slow)
        for name, given in FORMATS.items()
        for side, is_key in (("value", False), ("key", True))
    ],
)
def test_messages_are_exchanged_with_apicurios_converter_in_java(
    registry: Registry, apicurio: Make, java: Callable[..., Any], topic: str, properties: dict[str, str], is_key: bool
) -> None:
    envelopes = JsonConverter()
    envelopes.configure(JsonConverter.Config.parse({}), is_key=False)
    config = {f"{REGISTRY}url": api(registry)} | AUTO | properties
    ours = apicurio(config, is_key=is_key)
    for schema, value in ((ORDER, {"id": 1, "name": "ä"}), (STRING, "text")):
        name = f"{topic}{schema.type.name}"
        envelope = json.loads(envelopes.from_connect("t", schema, value) or b"")
        theirs = java(config=config, topic=name, key=is_key, envelope=envelope)
        raw = bytes.fromhex(theirs["data"]), [(n, bytes.fromhex(h)) for n, h in theirs["headers"]]
        assert written(ours, name, schema, value) == raw, "the bytes, the ids and the headers are those of Java"
        assert read(apicurio(config, is_key=is_key), name, raw)[1] == value
        if schema is STRING:
            continue  # Apicurio's converter cannot read what is not a record
        data, headers = written(apicurio(config, is_key=is_key), f"{name}2", schema, value)
        hexed = [(n, (h or b"").hex()) for n, h in headers]
        again = java(config=config, topic=f"{name}2", key=is_key, data=data.hex(), headers=hexed)
        assert again["envelope"]["payload"] == value


def test_one_batch_may_have_every_format(apicurio: Make, topic: str) -> None:
    rows = [
        written(apicurio(AUTO), topic, ORDER, {"id": 1, "name": "a"}),
        written(apicurio(AUTO | {f"{REGISTRY}use-id": "contentId"}), topic, WIDER, {"id": 2, "name": "b", "note": "n"}),
        written(apicurio(AUTO | {f"{REGISTRY}headers.enabled": "false"}), topic, ORDER, {"id": 3, "name": "c"}),
    ]
    assert [[name for name, _ in headers] for _, headers in rows] == [
        ["apicurio.value.globalId", "apicurio.value.encoding"],
        ["apicurio.value.contentId", "apicurio.value.encoding"],
        [],
    ]
    reader = apicurio()
    messages = [reader.join_headers(data, headers) for data, headers in rows]
    schemas, values = reader.to_connect_batch(topic, messages)
    assert isinstance(schemas, list)
    assert [schema and len(schema.fields) for schema in schemas] == [2, 3, 2]
    assert [value["id"] for value in values] == [1, 2, 3]


@pytest.mark.parametrize(
    ("strategy", "group", "artifact"),
    [
        ("io.apicurio.registry.serde.strategy.TopicIdStrategy", "default", "{0}-value"),
        ("io.apicurio.registry.serde.strategy.SimpleTopicIdStrategy", "default", "{0}"),
        ("io.apicurio.registry.serde.avro.strategy.RecordIdStrategy", "{0}", "Order"),
        ("io.apicurio.registry.serde.avro.strategy.TopicRecordIdStrategy", "{0}", "{0}-Order"),
        ("QualifiedRecordIdStrategy", "default", "{0}.Order"),
    ],
)
def test_artifacts_are_named_by_the_strategy(
    registry: Registry, apicurio: Make, topic: str, strategy: str, group: str, artifact: str
) -> None:
    schema = struct({"id": INT64}, name=f"{topic}.Order")
    written(apicurio(AUTO | {STRATEGY: strategy}), topic, schema, {"id": 1})
    assert registry.artifact(group.format(topic), artifact.format(topic))["type"] == "AVRO"


def test_group_and_artifact_may_be_given(registry: Registry, apicurio: Make, topic: str) -> None:
    names = {f"{REGISTRY}artifact.group-id": "my group", f"{REGISTRY}artifact.artifact-id": f"{topic}/x"}
    written(apicurio(AUTO | names), topic, ORDER, {"id": 1, "name": None})
    assert registry.artifact("my group", f"{topic}/x")["groupId"] == "my group"


def test_without_automatic_registration_the_schema_must_be_there(apicurio: Make, topic: str) -> None:
    with pytest.raises(DataError, match=r"apicurio\.registry\.auto-register=false: the schema must be registered"):
        apicurio().from_connect(topic, ORDER, {"id": 1, "name": "a"})
    raw = written(apicurio(AUTO), topic, ORDER, {"id": 1, "name": "a"})
    assert written(apicurio(), topic, ORDER, {"id": 1, "name": "a"}) == raw


def test_records_are_written_with_the_latest_schema_if_asked(apicurio: Make, topic: str) -> None:
    number = written(apicurio(AUTO), topic, WIDER, {"id": 1, "name": "a", "note": "n"})[1][0]
    latest = apicurio({f"{REGISTRY}find-latest": "true"})
    raw = written(latest, topic, struct({"id": INT64, "more": INT32}, name="Other"), {"id": 2, "more": 3})
    assert raw[1][0] == number
    assert read(latest, topic, raw)[1] == {"id": 2, "name": None, "note": None}


def test_an_incompatible_schema_fails_its_records_in_words(apicurio: Make, topic: str) -> None:
    converter = apicurio(AUTO)
    written(converter, topic, ORDER, {"id": 1, "name": "a"})
    with pytest.raises(DataError, match=rf"artifacts/{topic}-value: the registry rejects it as incompatible .*price"):
        converter.from_connect(topic, struct({"id": INT64, "price": INT64}, name="shop.Order"), {"id": 1, "price": 2})


def test_schemas_that_refer_to_others_are_read(registry: Registry, apicurio: Make, topic: str) -> None:
    registry.register(
        f"{topic}-color", {"type": "enum", "name": "Color", "namespace": "shop", "symbols": ["RED", "BLUE"]}
    )
    of_color = [{"name": "shop.Color", "subject": f"{topic}-color", "version": 1}]
    part = {"type": "record", "name": "shop.Part", "fields": [{"name": "color", "type": "shop.Color"}]}
    number = registry.register(f"{topic}-value", part, references=of_color)
    header: list[tuple[str, bytes | None]] = [("apicurio.value.contentId", number.to_bytes(8, "big"))]
    assert read(apicurio(), topic, (b"\x02", header))[1] == {"color": "BLUE"}


def test_wrong_messages_fail_in_words(apicurio: Make, topic: str) -> None:
    for raw, words in (
        ((b"\x07abcdefghi", []), "unknown magic byte 0x07, not 0x00, and no header"),
        ((b"\0\0", []), "2 bytes"),
        ((b"x", [("apicurio.value.globalId", b"\0")]), "has 1 bytes, not 8"),
        ((b"x", [("apicurio.value.globalId", bytes(8)), ("apicurio.value.encoding", b"JSON")]), "not binary Avro"),
        ((b"x", [("apicurio.value.globalId", b"\0\0\0\0\1\0\0\0")]), "global id 16777216: it does not exist"),
        ((b"x", [("apicurio.value.contentId", b"\0\0\0\0\1\0\0\0")]), "content id 16777216: it does not exist"),
    ):
        with pytest.raises(DataError, match=words):
            read(apicurio(), topic, raw)  # type: ignore[arg-type]


def test_an_outage_fails_no_record(topic: str) -> None:
    converter = ApicurioAvroConverter()
    url = "http://127.0.0.1:1/apis/registry/v2"
    converter.configure(parsed(ApicurioAvroConverter, {f"{REGISTRY}url": url} | AUTO), is_key=False)
    with pytest.raises(RetriableError, match=f"the registry at {url} is unavailable: ConnectError") as failed:
        converter.from_connect(topic, ORDER, {"id": 1, "name": "a"})
    assert failed.value.outage
    converter.close()


def test_the_defaults_are_those_of_the_version_of_the_api(registry: Registry, apicurio: Make, topic: str) -> None:
    newer = apicurio(AUTO | {f"{REGISTRY}url": api(registry, 3)})
    assert not newer.writes_headers
    data, _ = written(newer, topic, ORDER, {"id": 1, "name": "a"})
    assert (data[:1], data[5:]) == (b"\0", b"\x02\x02\x02a")
    assert registry.schema(int.from_bytes(data[1:5], "big"))["name"] == "Order", "an id of contents, as Confluent's"


@pytest.mark.parametrize("name", ["ApicurioAvroConverter", "io.apicurio.registry.utils.converter.AvroConverter"])
def test_apicurios_name_finds_the_converter(name: str) -> None:
    refs = [ref for ref in Plugins.installed().every() if isinstance(ref, PluginRef)]
    assert [ref.cls for ref in refs if name in (ref.alias, *ref.cls.java_names)] == [ApicurioAvroConverter]


@pytest.mark.slow  # it starts a JVM
def test_the_converter_in_java_runs_if_its_version_is_requested() -> None:
    name = "io.apicurio.registry.utils.converter.AvroConverter"
    java = find_class([str(apicurio_converter())], name)
    assert {each.version for each in java} == {"undefined"}
    plugins = Plugins(Plugins.installed().entries, java=java)
    assert plugins.find(Converter, name).cls is ApicurioAvroConverter  # type: ignore[type-abstract]
    found = plugins.find(Converter, name, version=VersionRange.requested("undefined"))  # type: ignore[type-abstract]
    assert issubclass(found.cls, JavaConverter)
    assert found.cls.class_name == name


def test_all_that_cannot_be_used_is_refused_at_once() -> None:
    texts = {
        f"{REGISTRY}url": "http://registry:8080/apis/ccompat/v7",
        f"{REGISTRY}artifact.version": "3",
        f"{REGISTRY}avro.encoding": "JSON",
        f"{REGISTRY}headers.value.globalId.name": "mine",
        f"{REGISTRY}auto-register.if-exists": "FAIL",
        STRATEGY: "com.example.Mine",
        f"{REGISTRY}id-handler": "com.example.Mine",
        "apicurio.auth.username": "ann",
    }
    with pytest.raises(ConfigError) as failed:
        ApicurioAvroConverter.Config.parse(texts, "value.converter.")
    problems: tuple[Problem, ...] = tuple(failed.value.problems)
    assert {problem.property.removeprefix("value.converter.") for problem in problems} >= {*texts} - {
        "apicurio.auth.username"
    }
    message = " ".join(problem.message for problem in problems)
    for remedy in ("use io.confluent.connect.avro.AvroConverter", "set find-latest", "strategies in Java"):
        assert remedy in message


def test_an_incompatible_schema_fails_its_records_with_version_3_of_the_registry_too(
    apicurio: Make, proxy: Proxy, topic: str
) -> None:
    """Version 3.3.3 answers with status 400, where version 2.6 has 409."""
    text = "Incompatible artifact: o [AVRO], num of incompatible diffs: {1}, list of diff types: [price at /fields/1]"
    answer = {
        "message": text,
        "error_code": 400,
        "detail": f"RuleViolationException: {text}",
        "name": "RuleViolationException",
    }
    proxy.answer = (400, "application/json", json.dumps(answer))
    with pytest.raises(DataError, match=r"rejects it as incompatible with the earlier versions: .*price at /fields/1"):
        apicurio(AUTO | {f"{REGISTRY}url": proxy.url}).from_connect(topic, ORDER, {"id": 1, "name": "a"})


def test_what_apicurio_does_by_default_may_be_written_out() -> None:
    texts = {
        f"{REGISTRY}url": "http://registry:8080",
        f"{REGISTRY}auto-register.if-exists": "RETURN_OR_UPDATE",
        f"{REGISTRY}avro.encoding": "BINARY",
        f"{REGISTRY}id-handler": "io.apicurio.registry.serde.DefaultIdHandler",
        f"{REGISTRY}headers.handler": "io.apicurio.registry.serde.headers.DefaultHeadersHandler",
    }
    config = parsed(ApicurioAvroConverter, texts)
    assert config.api == "http://registry:8080/apis/registry/v2"
    assert (config.wire_format(is_key=False).size, config.wire_format(is_key=True).headers) == (8, True)
