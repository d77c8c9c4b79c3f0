"""What a user asks of a connector that runs: pause, resume, stop, another configuration, more tasks."""

import time
from collections.abc import Callable

import pytest

from .place import Place, condition, task


def test_a_paused_connector_keeps_its_pods_and_continues_where_it_was(
    place: Place, measured: Callable[[str, float], None]
) -> None:
    source = place.datagen("orders", tasksMax=2, config={"partitions": 2, "rate": 100})
    source.reaches("Running")
    before = source.lives()
    place.kafka.records(source.topic, least=10)

    source.apply(state="Paused")
    begun = time.monotonic()
    source.reaches("Paused")
    measured("kubectl apply of state: Paused has returned to all tasks paused", time.monotonic() - begun)
    assert place.kafka.arriving(source.topic, seconds=2) == 0
    assert source.lives() == before
    status = source.status
    assert (status["state"], status["taskSummary"]) == ("Paused", "2/2")
    assert condition(source.get(), "Stalled")["status"] == "False"

    source.apply(state="Running")
    begun = time.monotonic()
    source.reaches("Running")
    measured("kubectl apply of state: Running has returned to all tasks running", time.monotonic() - begun)
    assert place.kafka.arriving(source.topic, seconds=1) > 0
    assert source.lives() == before
    source.apply(state="Paused")
    source.reaches("Paused")
    numbers = sorted(place.kafka.values(source.topic))
    half = {n: numbers.count(n) for n in set(numbers)}
    assert set(half.values()) <= {1, 2}, "a number stands once in each of the two partitions"
    assert numbers.count(0) == 2


def test_a_stopped_connector_has_no_pods_and_continues_where_it_was(place: Place) -> None:
    source = place.datagen("orders", config={"rate": 100})
    source.reaches("Running")
    place.kafka.records(source.topic, least=10)
    source.apply(state="Stopped")
    source.reaches("Stopped")
    assert source.pods() == {}
    status = source.status
    assert (status["state"], status["replicas"]) == ("Stopped", 0)
    count = len(place.kafka.values(source.topic))
    source.apply(state="Running")
    source.reaches("Running")
    numbers = place.kafka.values(source.topic, least=count + 10)
    assert numbers == list(range(len(numbers)))


@pytest.mark.slow
def test_paused_from_the_start_moves_nothing(place: Place) -> None:
    source = place.datagen("orders", state="Paused")
    source.reaches("Paused")
    assert len(source.pods()) == 1
    place.kafka.create(source.topic)
    assert place.kafka.arriving(source.topic, seconds=2) == 0


@pytest.mark.slow
def test_kubectl_scale_changes_the_number_of_tasks_both_ways(place: Place) -> None:
    source = place.datagen("orders", config={"partitions": 3, "rate": 60})
    source.reaches("Running")
    for tasks in (3, 1):
        source.kubectl("scale", "connector/orders", f"--replicas={tasks}")
        source.reaches("Running")
        status = source.status
        assert (status["taskSummary"], status["replicas"]) == (f"{tasks}/{tasks}", tasks)
        assert [t["id"] for t in status["tasks"]] == list(range(tasks))
        source.until_pods(lambda pods, tasks=tasks: len(pods) == tasks, f"{tasks} pods")  # type: ignore[misc]
    source.apply(state="Stopped", tasksMax=1)
    source.reaches("Stopped")
    numbers = place.kafka.values(source.topic)
    most = max(numbers)
    counts = [numbers.count(n) for n in range(most + 1)]
    assert max(counts) == 3, "each of three partitions has a number once"
    assert counts == sorted(counts, reverse=True), "no number is missing before the last ones of a partition"


PARTS = """
from penstock import Config, InputPartition, PartitionReader, Record, Source, SourceConnector, SourcePartition, prop

__version__ = "1.0"


class PartsConfig(Config):
    topic: str = prop("topic", doc="Where to.")
    words: list[str] = prop("words", [], doc="One for each task.")
    word: str = prop("word", "", doc="Of one task.")


class Parts(SourceConnector):
    Config = PartsConfig

    def task_configs(self, config, properties, max_tasks):
        rest = {k: v for k, v in properties.items() if k != "words"}
        return [{**rest, "word": word} for word in config.words]

    def source(self, config):
        return PartsSource(config)

    def reader(self, config):
        return PartsReader(config)


class PartsSource(Source):
    def __init__(self, config):
        self._partition = SourcePartition({"word": config.word})

    def start(self, offsets):
        pass

    def latest_offsets(self, start, limits):
        return {self._partition: {"done": 1}}

    def partitions(self, start, end):
        done = start.get(self._partition, {}).get("done")
        return [] if done else [InputPartition({}, {self._partition: {"done": 1}})]


class PartsReader(PartitionReader):
    def __init__(self, config):
        self._config = config

    def read(self, partition):
        yield [Record(topic=self._config.topic, value=self._config.word)]
"""


def test_a_changed_configuration_of_a_source_restarts_all_its_tasks_since_their_parts_may_move(
    place: Place, measured: Callable[[str, float], None]
) -> None:
    template = place.plugin("parts", PARTS)
    topic = f"{place.namespace}.words"
    source = place.connector(
        "words",
        "parts:Parts",
        {"topic": topic, "words": "a,b", "value.converter": "StringConverter"},
        tasksMax=2,
        template=template,
    )
    source.reaches("Running")
    assert sorted(r.value or b"" for r in place.kafka.records(topic, least=2)) == [b"a", b"b"]
    begun = time.monotonic()
    source.configure(words="a,c")
    source.reaches("Running")
    measured("a changed configuration to its tasks running again", time.monotonic() - begun)
    assert set(source.lives()) == {"words-0-2", "words-1-2"}
    assert sorted(r.value or b"" for r in place.kafka.records(topic, least=3)) == [b"a", b"b", b"c"]
    assert task(source.get(), 1)["restarts"] == 0
