"""Java converters and header converters: each record by itself, with the headers that they read and write."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from penstock import ConfigError, Header, PluginContext, Record, RecordBatch, TopicPartition
from penstock.schema import INT32, STRING, struct
from penstock_plugins.converters.simple_header import SimpleHeaderConverter
from penstock_runtime.java_plugins.classes import class_of
from penstock_runtime.java_plugins.hosts import close_host
from penstock_runtime.kafka.consumers import Consumed
from penstock_runtime.pipeline.converters import Converters, convert_consumed, convert_outgoing
from penstock_runtime.pipeline.error_tolerance import ErrorPolicy, RetryWithToleranceOperator, Stage
from penstock_runtime.plugins.plugin_ref import make

from ..reading import Reader, create, produce, read_all
from ..running import manifest, until
from .probe_plugin import CONVERTER, JSON, Probe, ProbeLab, probe, probe_lab, sink_lab
from .test_java_data import SETS, shown
from .test_java_errant_records import queue

__all__ = ["Probe", "probe", "probe_lab", "sink_lab"]

TOLERANT = ErrorPolicy(tolerate=True)
RETRYING = ErrorPolicy(tolerate=True, retry_timeout=60, retry_delay_max=0.01)


@pytest.fixture(autouse=True)
def ended_jvm() -> Iterator[None]:
    yield
    close_host()


def configured(probe: Probe, place: str, class_name: str = CONVERTER, **properties: str) -> Any:
    kind = "headerconverter" if place == "header.converter" else "converter"
    cls = class_of(f"java:{kind}:{probe.folder / 'probe'}#{class_name}")
    plugin: Any = make(cls, PluginContext("c", place, "1.0.0"))
    config = plugin.Config.parse(properties, f"{place}.")
    if kind == "converter":
        plugin.configure(config, is_key=place == "key.converter")
    else:
        plugin.configure(config)
    return plugin


def converters(probe: Probe, **properties: str) -> Converters:
    key, value = (configured(probe, f"{side}.converter", **properties) for side in ("key", "value"))
    return Converters(key, value, SimpleHeaderConverter(), (CONVERTER, CONVERTER, "SimpleHeaderConverter"))


def operator(policy: ErrorPolicy = TOLERANT) -> RetryWithToleranceOperator:
    return RetryWithToleranceOperator(policy, sleep=lambda seconds: None)


def test_converters_and_header_converters_are_closed(probe: Probe, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    for place in ("key.converter", "value.converter", "header.converter"):
        configured(probe, place, journal=str(journal)).close()
    assert journal.read_text().splitlines() == ["close key", "close value", "close header"]


def batch(*texts: str | None) -> RecordBatch:
    return RecordBatch.of([Record(topic="t", key=t, key_schema=STRING, value=t, value_schema=STRING) for t in texts])


def consumed(*data: bytes | None, headers: Sequence[Sequence[tuple[str, bytes | None]]] | None = None) -> Consumed:
    rows = [[*each] for each in headers] if headers is not None else None
    return Consumed(TopicPartition("t", 0), [*range(len(data))], [*data], None, rows, [None] * len(data))


def test_keys_and_values_are_converted_by_their_topic(probe: Probe) -> None:
    given = batch("a", None, "b").replace(topic=["t", "t", "u"])
    made = convert_outgoing(converters(probe), given, operator())
    assert made.key == [b"key:t:a", None, b"key:u:b"]
    assert made.value == [b"value:t:a", None, b"value:u:b"]


def test_a_record_that_cannot_be_converted_is_the_only_one_that_fails(probe: Probe) -> None:
    asked = operator()
    made = convert_outgoing(converters(probe), batch("a", "bad", "b"), asked)
    assert made.value == [b"value:t:a", b"value:t:b"]
    assert [(f.position, f.stage, f.plugin, str(f.error)) for f in asked.failures] == [
        (1, Stage.KEY_CONVERTER, CONVERTER, "this value is bad")
    ]
    assert "at dev.penstock.probe.ProbeConverter" in asked.failures[0].trace()


def test_a_record_is_retried_separately(probe: Probe) -> None:
    asked = operator(RETRYING)
    made = convert_outgoing(converters(probe), batch("a", "slow", "b"), asked)
    assert made.value == [b"value:t:a", b"value:t:slow", b"value:t:b"]
    assert asked.retries == 4  # two of the key, and two of the value


def test_headers_that_a_converter_writes_are_in_kafka_and_reach_it_when_it_reads(probe: Probe) -> None:
    of = converters(probe, headers="true")
    given = RecordBatch.of(
        [
            Record(topic="t", value=5, value_schema=INT32, headers=(Header("own", "x", STRING),)),
            Record(topic="t", value="five", value_schema=STRING),
        ]
    )
    made = convert_outgoing(of, given, operator())
    assert made.value == [b"value:t:5", b"value:t:five"]
    assert [list(map(tuple, each)) for each in made.headers or ()] == [
        [("own", b"x"), ("schema", b"int32")],
        [("schema", b"string")],
    ]
    read = convert_consumed(of, consumed(*made.value, headers=made.headers), operator())
    assert [(r.value, r.value_schema) for r in read.records()] == [
        (5, INT32),
        ("five", STRING.as_optional()),
    ]


def test_headers_stay_with_a_record_that_is_tried_again(probe: Probe) -> None:
    of = converters(probe, headers="true")
    given = [Record(topic="t", value=value, value_schema=schema) for value, schema in (("slow 1", STRING), (7, INT32))]
    made = convert_outgoing(of, RecordBatch.of(given), operator(RETRYING))
    assert made.value == [b"value:t:slow 1", b"value:t:7"]
    assert [list(map(tuple, each)) for each in made.headers or ()] == [[("schema", b"string")], [("schema", b"int32")]]
    reading = converters(probe, headers="true")
    slow = [b"slow:1", b"2"]
    read = convert_consumed(reading, consumed(*slow, headers=[[("schema", b"int32")]] * 2), operator(RETRYING))
    assert read.value == [1, 2]


def test_a_message_that_cannot_be_read_is_the_only_one_that_fails(probe: Probe) -> None:
    asked = operator()
    read = convert_consumed(converters(probe), consumed(b"x:1", b"bad", None, b"x:3"), asked)
    assert read.value == ["1", None, "3"]
    assert list(read.positions) == [0, 2, 3]
    assert [(f.position, f.stage) for f in asked.failures] == [(1, Stage.VALUE_CONVERTER)]
    asked = operator(RETRYING)
    read = convert_consumed(converters(probe), consumed(b"1", b"slow", b"3"), asked)
    assert read.value == ["1", "slow", "3"]
    assert asked.retries == 2


def test_a_value_that_does_not_fit_its_schema_fails_its_record(probe: Probe) -> None:
    schema = struct({"n": INT32})
    given: list[Any] = [{"n": n} for n in range(7)]
    given[3] = {"n": "no number"}
    records = [Record(topic="t", value=value, value_schema=schema) for value in given]
    asked = operator()
    made = convert_outgoing(converters(probe), RecordBatch.of(records), asked)
    assert made.value == [f"value:t:Struct{{n={n}}}".encode() for n in range(7) if n != 3]
    assert [f.position for f in asked.failures] == [3]


def test_a_header_converter_of_java_converts_each_header(probe: Probe) -> None:
    header = configured(probe, "header.converter")
    assert header.from_connect("t", "h", STRING, "a") == b"header:t/h:a"
    assert header.to_connect("t", "h", b"x:a") == Header("h", "a", STRING.as_optional())
    with pytest.raises(Exception, match="this value is bad"):
        header.to_connect("t", "h", b"bad")


def test_properties_that_are_wrong_are_reported_under_their_names(probe: Probe) -> None:
    with pytest.raises(ConfigError) as raised:
        configured(probe, "value.converter", headers="maybe")
    (problem,) = raised.value.problems
    assert problem.property == "value.converter.headers"
    assert "Invalid value maybe for configuration value.converter.headers" in problem.message


def test_a_java_sink_reads_by_a_java_converter_and_buries_what_it_cannot_read(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, [b"x:1", b"bad", b"x:3"])
    config = {**queue(topic), "value.converter": "ProbeConverter", "key.converter": CONVERTER}
    run = sink_lab.run(topic, config)
    with Reader(sink_lab.servers, f"{topic}-dlq") as reader:
        (letter,) = reader.count(1)
    until(lambda: sink_lab.out == ["1", "3"], what=run.last_words)
    run.stop()
    assert letter.value == b"bad"
    headers = dict(letter.headers)
    assert headers["__connect.errors.stage"] == b"VALUE_CONVERTER"
    assert headers["__connect.errors.class.name"] == CONVERTER.encode()
    assert headers["__connect.errors.exception.class.name"] == b"org.apache.kafka.connect.errors.DataException"


JAVA_JSON: Final = {"value.converter": JSON, "key.converter": JSON, "header.converter": JSON}


@pytest.mark.slow
@pytest.mark.parametrize("schemas", [False, True])
@pytest.mark.parametrize("data", [s for s in SETS if s != "headers"])
def test_records_are_those_that_kafkas_own_json_converter_writes(
    probe_lab: ProbeLab, topic: str, data: str, schemas: bool
) -> None:
    expected = probe_lab.expected(data, topic, schemas=schemas)
    topics = sorted({line[0] for line in expected})
    for each in topics:
        create(probe_lab.servers, each)
    enable = {f"{side}.converter.schemas.enable": str(schemas).lower() for side in ("key", "value")}
    run = probe_lab.run(topic, {"data": data, **JAVA_JSON, **enable}, restart={"policy": "Never"})
    for each in topics:
        with probe_lab.reader(each) as reader:
            reader.count(sum(line[0] == each for line in expected), seconds=30)
            assert [shown(each, r) for r in reader.to_end()] == [line for line in expected if line[0] == each]
    run.stop()


@pytest.mark.slow
def test_bad_records_of_a_source_are_dead_letters_and_others_arrive(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    lines = [f"{'bad' if n % 500 == 0 else 'good'} {n}" for n in range(3_000)]
    file = probe_lab.folder / "lines"
    file.write_text("".join(f"{line}\n" for line in lines))
    config = {"file": str(file), "topic": topic, "value.converter": CONVERTER, **queue(topic)}
    plugins = ("--plugin-path", str(probe_lab.probe.folder))
    source = manifest(probe_lab.name, "FileStreamSource", config)
    run = probe_lab.processes.run([source], probe_lab.servers, *plugins)
    with probe_lab.reader(topic) as reader:
        reader.count(2_994)
        run.stop()
        assert [r.value for r in reader.to_end()] == [
            f"value:{topic}:{line}".encode() for line in lines if not line.startswith("bad")
        ]
    assert len(read_all(probe_lab.servers, f"{topic}-dlq")) == 6
