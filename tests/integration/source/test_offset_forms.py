"""One source partition under two byte forms, as a PATCH of Kafka Connect leaves it, in two partitions of the topic."""

import json
from pathlib import Path

from penstock import SourcePartition
from penstock_kafka.murmur2 import partition_of
from penstock_runtime.kafka import offsets_topic
from penstock_runtime.source.context import SourceContext

from ..lab import Lab
from ..reading import create
from ..running import manifest, new_name

PARTITIONS = 25
FORMS = 40


def twofold(name: str, number: int) -> list[bytes]:
    """Two forms of one source partition whose records lie apart."""
    for salt in range(1_000):
        fields = {"a": number, "b": f"x{salt}"}
        forms = [
            json.dumps([name, f], separators=(",", ":")).encode()
            for f in (fields, dict(reversed(list(fields.items()))))
        ]
        if len({partition_of(f, PARTITIONS) for f in forms}) == 2:
            return forms
    raise AssertionError("all of them lie together")


def test_the_newest_form_of_a_partition_holds_wherever_it_lies(lab: Lab, tmp_path: Path) -> None:
    name, topic = new_name("forms"), f"offsets-{new_name()}"
    create(lab.servers, topic, PARTITIONS, cleanup_policy="compact")
    expected = {}
    for number in range(FORMS):
        forms = twofold(name, number)
        if number % 2:
            forms.reverse()
        for i, key in enumerate(forms):
            lab.produce(
                topic,
                json.dumps({"i": i}),
                key=key,
                partition=partition_of(key, PARTITIONS),
                timestamp=1_700_000_000_000 + i,
            )
        expected[SourcePartition(json.loads(forms[0])[1])] = {"i": 1}
    spec = lab.spec(manifest(name, "scripted_sources:ScriptedSource", {"topic": "t"}))
    stored = offsets_topic.load(SourceContext.of(spec, slots_dir=tmp_path).settings, name, topic=topic)
    assert stored.offsets == expected


def test_the_form_that_lost_gets_its_tombstone_in_the_transaction_of_the_next_offset(lab: Lab) -> None:
    topic, name = lab.topic(), new_name("forms")
    own = f"offsets-{new_name()}"
    create(lab.servers, own, PARTITIONS, cleanup_policy="compact")
    older, newer = twofold(name, 1)
    for i, key in enumerate((older, newer)):
        lab.produce(
            own, f'{{"i":{i}}}', key=key, partition=partition_of(key, PARTITIONS), timestamp=1_700_000_000_000 + i
        )
    partition = json.dumps(json.loads(older)[1])
    _, task = lab.source(
        [["v0"], ["v1"], ["v2"], ["v3"]], topic, name=name, partition=partition, **{"offsets.storage.topic": own}
    )
    lab.journal.count("commit", 2)
    task.stop()
    assert lab.journal.of("start")[0]["offset"] == {"i": 1}
    assert lab.values(topic) == ["v2", "v3"]
    found = lab.offset_records(name, own)
    assert [r.value for r in found if r.key == newer] == [b'{"i":1}', b'{"i":2}', b'{"i":3}']
    assert [r.value for r in found if r.key == older] == [b'{"i":0}', None]
