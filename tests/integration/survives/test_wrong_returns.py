"""A plugin that returns what its contract does not allow fails its task, with a message for its author; nothing is lost."""

import pytest

from penstock_model.contracts.exit_codes import ExitCode

from ..lab import STRING, Lab
from ..running import manifest, new_name


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("source", "WrongSource.source returned None; expected a Source or a PollingSource"),
        ("latest_offsets", "Planned.latest_offsets returned None; expected a mapping of SourcePartition to an offset"),
        ("partitions", "Planned.partitions returned None; expected a list of InputPartition"),
        (
            "data",
            "Planned.partitions returned an InputPartition that cannot be sent to a worker because of the key 'since' of",
        ),
        ("read", "Reader.read returned a value of type dict as a record in the part of {'p': 'a'} up to {'n': 1}"),
        ("poll", "Polled.read returned a value of type list; expected a pair of records and the source offsets after"),
        (
            "poll time",
            "Polled.read returned a value of type str as the timestamp of a record after record 1 of the batch",
        ),
    ],
)
def test_the_error_of_a_source_is_reported_and_what_it_gave_before_is_there(lab: Lab, wrong: str, message: str) -> None:
    topic = lab.topic()
    name, task = lab.start(
        manifest(new_name(), "wrong_returns:WrongSource", {**STRING, "topic": topic, "wrong": wrong})
    )
    assert task.await_exit() == ExitCode.FAILED
    assert message in str(task.failure)
    assert "Tell the plugin's author" in str(task.failure)
    polled = wrong.startswith("poll")
    assert lab.values(topic) == (["r0", "r1"] if polled else [])
    assert lab.offsets(name)[-1:] == ([{"n": 2}] if polled else [])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("open", "Committing.open returned None; expected a mapping of TopicPartition to a Kafka offset"),
        ("commit", "Committing.commit returned None; expected a mapping of TopicPartition to a Kafka offset"),
        ("writer", "WrongSink.writer returned None; expected a Writer"),
    ],
)
def test_the_error_of_a_sink_is_reported_and_no_offset_is_committed(lab: Lab, wrong: str, message: str) -> None:
    topic = lab.topic()
    lab.produce(topic, "a")
    name, task = lab.start(manifest(new_name(), "wrong_returns:WrongSink", {**STRING, "topics": topic, "wrong": wrong}))
    assert task.await_exit() == ExitCode.FAILED
    assert message in str(task.failure)
    assert lab.committed(name, topic) is None
