"""A task that delivers nothing, though it meets no error, says so; and takes it back once a record is delivered."""

from pathlib import Path

import pytest

from ..reading import create, produce, read_all
from ..running import Processes, manifest, new_name, specs, until

JSON = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false", "errors.tolerance": "all"}


@pytest.mark.parametrize("has_queue", [False, True])
def test_a_sink_whose_records_all_fail_is_hindered_until_one_is_written(
    kafka: str, processes: Processes, tmp_path: Path, has_queue: bool
) -> None:
    topic, letters = new_name("t"), new_name("dlq")
    create(kafka, topic, 1)
    queue = {
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
    }
    config = {**JSON, **(queue if has_queue else {}), "topics": topic, "file": str(tmp_path / "out")}
    resource = manifest(new_name(), "FileStreamSink", config)
    task = processes.task(specs(resource, kafka)[0])
    produce(kafka, topic, [b"not json"] * 20)
    said = "no record is delivered: the last 20 failed and were skipped"
    until(lambda: said in (task.trouble or ""), what=task.last_words)
    assert task.trouble is not None
    assert "VALUE_CONVERTER" in task.trouble
    assert "not json" not in task.trouble
    assert ("20 of them to the dead letter queue" in task.trouble) is has_queue
    if has_queue:
        assert len(read_all(kafka, letters)) == 20
    produce(kafka, topic, [b'{"a":1}'])
    until(lambda: task.trouble is None, what=task.last_words)


def test_a_source_whose_file_does_not_exist_is_hindered_until_it_is_created(
    kafka: str, processes: Processes, tmp_path: Path
) -> None:
    topic, path = new_name("t"), tmp_path / "later.txt"
    create(kafka, topic, 1)
    resource = manifest(new_name(), "FileStreamSource", topic=topic, file=path, value_converter="StringConverter")
    task = processes.task(specs(resource, kafka)[0])
    until(lambda: task.trouble, what=task.last_words)
    assert task.trouble is not None
    assert f"cannot read file {path}: it does not exist" in task.trouble
    path.write_text("a\n")
    until(lambda: [r.value for r in read_all(kafka, topic)] == [b"a"], what=task.last_words)
    until(lambda: task.trouble is None, what=task.last_words)
