"""Records of Java tasks arrive as Kafka Connect's own JsonConverter and SimpleHeaderConverter write them."""

import json
from typing import Final

import pytest

from ..checking import assert_exactly_once
from ..reading import Read, create, read_all
from ..running import until
from .probe_plugin import Probe, ProbeLab, probe, probe_lab

__all__ = ["Probe", "probe", "probe_lab"]

SETS: Final = ("logical", "containers", "mixed", "schemaless", "numbers", "surrogates", "absent", "headers", "builders")
WRITTEN: Final = {
    "logical": [
        '{"decimal":"/2Qs9cObprwi6W9fxew=","negative":"DA==","date":19000,"time":3723004,"timestamp":-1,"bytes":"AP8=",'
        '"buffer":"AQI=","float32":0.1,"float64":1.0E300,"int8":-128,"int16":32767,"absent":null,"fallback":7}'
    ],
    "containers": [
        '{"inner":{"x":"Dw=="},"list":[{"x":"Dw=="},null],"nested":[[1,null],[]],"byNumber":[[2,"b"],[1,"a"]],'
        '"byText":{"k":{"x":"Dw=="}}}',
        '{"inner":null,"list":[],"nested":[],"byNumber":[],"byText":null}',
    ],
    "schemaless": [
        '{"int":1,"short":2,"byte":3,"long":4,"float":0.1,"double":0.1,"bool":true,"text":"t","none":null,'
        '"list":[1,"two",[]],"bytes":"AQI="}',
        *("1", "2", "3", "0.1", "0.1", '"t"', "false", "[1]", '"Bw=="', '[[5,"five"]]'),
    ],
    "numbers": [
        *("0.1", "1.0E10", "1.0E-5", "3.4028235E38", "-0.0", "1.6777216E7", '"NaN"'),
        *("0.1", "1.0E7", "1.0E21", "1.0E-5", "4.9E-324", '"Infinity"'),
        *("-9223372036854775808", "9223372036854775807"),
    ],
    "surrogates": ['"a\\uD83D\\uDE00b"', '"nul\\u0000\u2028\\"\\\\/<é"', '"a\\uD83D"', '"\\uDE00b"'],
}


def json_converters(*, schemas: bool) -> dict[str, str]:
    each = {"value.converter": "JsonConverter", "key.converter": "JsonConverter"}
    return {**each, **{f"{name}.schemas.enable": str(schemas).lower() for name in each}}


def shown(topic: str, read: Read) -> list[str]:
    headers = [f"{name}={_hex(value)}" for name, value in read.headers]
    return [topic, _hex(read.key), _hex(read.value), *headers]


def _hex(content: bytes | None) -> str:
    return "null" if content is None else content.hex()


@pytest.mark.slow
@pytest.mark.parametrize("schemas", [False, True])
@pytest.mark.parametrize("data", SETS)
def test_records_arrive_as_kafka_connect_writes_them(probe_lab: ProbeLab, topic: str, data: str, schemas: bool) -> None:
    expected = probe_lab.expected(data, topic, schemas=schemas)
    if data in WRITTEN and not schemas:
        assert [bytes.fromhex(line[2]).decode() for line in expected] == WRITTEN[data]
    topics = sorted({line[0] for line in expected})
    for each in topics:
        create(probe_lab.servers, each)
    run = probe_lab.run(topic, {"data": data, **json_converters(schemas=schemas)}, restart={"policy": "Never"})
    for each in topics:
        with probe_lab.reader(each) as reader:
            reader.count(sum(line[0] == each for line in expected), seconds=30)
            found = [shown(each, r) for r in reader.to_end()]
            assert found == [line for line in expected if line[0] == each]
    run.stop()


@pytest.mark.slow
def test_bytes_of_a_buffer_are_those_between_its_position_and_its_limit(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"data": "slice", **json_converters(schemas=False)})
    with probe_lab.reader(topic) as reader:
        assert reader.count(1)[0].value == b'"AQI="'
    run.stop()


@pytest.mark.slow
def test_offsets_are_those_that_kafka_connect_writes(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"data": "offsets"})
    with probe_lab.reader(topic) as reader:
        reader.count(1)
    run.stop()
    key = f'["{probe_lab.name}",{{"p":"0"}}]'.encode()
    (offset,) = [r.value for r in read_all(probe_lab.servers, "connect-offsets") if r.key == key]
    assert offset == '{"float":0.1,"double":1.0E10,"int":5,"n":1,"none":null,"text":"é","bool":true}'.encode()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_hundred_thousand_records_of_one_poll_arrive_in_order(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"data": "list", "count": 200_000})
    with probe_lab.reader(topic) as reader:
        reader.count(200_000)
        run.stop()
        assert assert_exactly_once(reader.to_end(), 1) == {0: 200_000}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_twenty_thousand_schemas_arrive(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"data": "schemas", "count": 20_000, **json_converters(schemas=False)})
    with probe_lab.reader(topic) as reader:
        reader.count(20_000)
        run.stop()
        assert [json.loads(r.value or b"") for r in reader.to_end()] == [{f"f{i}": i} for i in range(20_000)]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_three_hundred_thousand_rows_of_fifty_columns_arrive_in_bounded_memory(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    # Such a list takes a gigabyte in the JVM: polls of 2,048 rows, as Debezium's, are the rule.
    config = {"data": "wide", "count": 2_048, "polls": 147, **json_converters(schemas=False)}
    run = probe_lab.run(topic, config, heap="256m")
    most = 0
    with probe_lab.reader(topic) as reader:

        def have_arrived() -> bool:
            nonlocal most
            most = max([most, *(t.memory_info().rss for t in run.tasks())])
            return len(reader.records) >= 147 * 2_048

        reader.until(have_arrived)
        assert json.loads(reader.records[-1].value or b"")["c49"] == f"v{2_047 % 100}"
    run.stop()
    assert most < 600 << 20


@pytest.mark.slow
def test_a_record_of_fifty_megabytes_arrives(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic, max_message_bytes=str(64 << 20))
    config = {"data": "large", "count": 50 << 20, "producer.override.max.request.size": 60 << 20}
    run = probe_lab.run(topic, config, heap="512m")
    with probe_lab.reader(topic) as reader:
        records = reader.count(3)
        assert [len(r.value or b"") for r in records] == [5, 50 << 20, 9]
    run.stop()


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", ["none", "all"])
def test_a_record_that_a_transform_refuses_fails_the_task_or_is_left_out(
    probe_lab: ProbeLab, topic: str, tolerance: str
) -> None:
    create(probe_lab.servers, topic)
    config = {
        "data": "poison",
        "count": 1_000,
        "transforms": "key",
        "transforms.key.type": "ValueToKey",
        "transforms.key.fields": "a",
        "errors.tolerance": tolerance,
        **json_converters(schemas=False),
    }
    if tolerance == "none":
        log = probe_lab.fails(topic, config)
        ended = next(line for line in reversed(log.splitlines()) if "has ended" in line)
        assert "at stage TRANSFORMATION (org.apache.kafka.connect.transforms.ValueToKey)" in ended
        assert "secret poison" not in log
        assert read_all(probe_lab.servers, topic) == []
        return
    run = probe_lab.run(topic, config)
    with probe_lab.reader(topic) as reader:
        reader.count(999)
        run.stop()
        found = [json.loads(r.value or b"")["a"] for r in reader.to_end()]
    assert found == [i for i in range(1_000) if i != 500]
    assert "secret poison" not in run.log_text()


@pytest.mark.slow
def test_records_without_offsets_arrive_once_where_commits_are_rare(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    boundary = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": 2_000}
    run = probe_lab.run(topic, {"data": "anywhere", "polls": 3, "journal": probe_lab.folder / "journal", **boundary})
    with probe_lab.reader(topic) as reader:
        reader.count(3)
        polls = probe_lab.journal.count("poll")
        until(lambda: probe_lab.journal.count("poll") > polls + 30, what="it was polled again")
        run.stop()
        assert [r.value for r in reader.to_end()] == [b"v"] * 3
    assert probe_lab.journal.count("start 0") == 1
