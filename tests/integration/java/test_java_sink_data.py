"""Records that reach Java sinks are those that Kafka Connect would have given them."""

from typing import Any, Final

import pytest
from confluent_kafka import Producer

from ..reading import create
from ..running import until
from .probe_plugin import Probe, ProbeLab, probe, probe_lab, sink_lab
from .test_java_data import json_converters

__all__ = ["Probe", "probe", "probe_lab", "sink_lab"]

SETS: Final = ("logical", "containers", "mixed", "numbers", "surrogates", "absent", "builders")


@pytest.mark.slow
@pytest.mark.parametrize("data", SETS)
def test_values_with_schemas_come_back_as_kafka_connect_wrote_them(sink_lab: ProbeLab, topic: str, data: str) -> None:
    written = [line[2] for line in sink_lab.expected(data, topic, schemas=True) if not line[2].startswith("error")]
    create(sink_lab.servers, topic)
    producer = Producer({"bootstrap.servers": sink_lab.servers})
    for value in written:
        producer.produce(topic, None if value == "null" else bytes.fromhex(value))
    assert producer.flush(30) == 0
    run = sink_lab.run(topic, {"form": "json", **json_converters(schemas=True)}, restart={"policy": "Never"})
    until(lambda: len(sink_lab.out) >= len(written), what=run.last_words)
    run.stop()
    # Kafka Connect's converter reads it as a decimal number, which has no negative zero.
    assert [shown(line) for line in sink_lab.out] == [shown(value).replace("-0.0", "0.0") for value in written]


def shown(value: str) -> str:
    return value if value == "null" else bytes.fromhex(value).decode()


@pytest.mark.slow
def test_values_without_schemas_have_the_types_of_kafka_connects_converter(sink_lab: ProbeLab, topic: str) -> None:
    texts = ['{"a":1,"b":[1.5,null,true,{"c":"x"}],"d":{}}', "1", "1.5", '"t"', "[1,2]", "true", "null"]
    create(sink_lab.servers, topic)
    producer = Producer({"bootstrap.servers": sink_lab.servers})
    for text in texts:
        producer.produce(topic, text.encode())
    assert producer.flush(30) == 0
    run = sink_lab.run(topic, {"form": "json", "schemas": "false", **json_converters(schemas=False)})
    until(lambda: len(sink_lab.out) >= len(texts), what=run.last_words)
    run.stop()
    assert [shown(line) for line in sink_lab.out] == texts


@pytest.mark.slow
def test_a_record_keeps_where_it_was_read_when_transforms_change_its_topic(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic, partitions=2, message_timestamp_type="LogAppendTime")
    other = f"{topic}-created"
    create(sink_lab.servers, other)
    producer = Producer({"bootstrap.servers": sink_lab.servers})
    headers: Any = [("text", b"a"), ("number", b"5"), ("none", None)]
    producer.produce(topic, b"v", b"k", partition=1, headers=headers, timestamp=7)
    producer.produce(other, b"w", timestamp=1_234)
    assert producer.flush(30) == 0
    transforms = {
        "transforms": "route",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": ".*",
        "transforms.route.replacement": "table",
    }
    run = sink_lab.run(topic, {"form": "full", "topics": f"{topic},{other}", **transforms})
    until(lambda: len(sink_lab.out) == 2, what=run.last_words)
    run.stop()
    rows = {line.split("|")[3]: line.split("|") for line in sink_lab.out}
    stamped, plain = rows[topic], rows[other]
    assert int(stamped.pop(6)) > 1_000_000_000_000
    string = "string:String:"
    tags = f"text={string}a number=int8:Byte:5 none=-:null:null"
    assert stamped == ["table", "1", "0", topic, "1", "0", "LogAppendTime", f"{string}k", f"{string}v", tags, topic]
    assert plain == [
        "table",
        "0",
        "0",
        other,
        "0",
        "0",
        "1234",
        "CreateTime",
        "string:null:null",
        f"{string}w",
        "",
        other,
    ]
