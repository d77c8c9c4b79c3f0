"""A source of each form and a sink that return what they may not, where a property says."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from penstock import (
    Config,
    InputPartition,
    Limits,
    Offsets,
    PartitionReader,
    PollingSource,
    Record,
    Sink,
    SinkConnector,
    Source,
    SourceConnector,
    SourcePartition,
    Writer,
    prop,
)

PARTITION = SourcePartition({"p": "a"})


class WrongConfig(Config):
    topic: str = prop("topic", "", doc="Where records go.")
    wrong: str = prop("wrong", doc="The call that returns something else.")


class WrongSource(SourceConnector):
    Config = WrongConfig

    def source(self, config: WrongConfig) -> Any:
        if config.wrong == "source":
            return None
        return Polled(config) if config.wrong.startswith("poll") else Planned(config)

    def reader(self, config: WrongConfig) -> PartitionReader:
        return Reader(config)


class Planned(Source):
    def __init__(self, config: WrongConfig) -> None:
        self._config = config

    def start(self, offsets: Offsets) -> None: ...

    def latest_offsets(self, start: Offsets, limits: Limits) -> Any:
        return None if self._config.wrong == "latest_offsets" else {PARTITION: {"n": 1}}

    def partitions(self, start: Offsets, end: Offsets) -> Any:
        data = {"since": datetime.now(UTC)} if self._config.wrong == "data" else {}
        return None if self._config.wrong == "partitions" else [InputPartition(data, dict(end))]


class Reader(PartitionReader):
    def __init__(self, config: WrongConfig) -> None:
        self._config = config

    def read(self, partition: InputPartition) -> Iterator[Any]:
        yield [{"value": 1}] if self._config.wrong == "read" else [Record(topic=self._config.topic, value="v")]


class Polled(PollingSource):
    def __init__(self, config: WrongConfig) -> None:
        self._config = config

    def start(self, offsets: Offsets) -> None: ...

    def read(self, start: Offsets, limits: Limits) -> Iterator[Any]:
        number = int(start.get(PARTITION, {}).get("n") or 0)
        good = Record(topic=self._config.topic, value=f"r{number}")
        if number == 2 and self._config.wrong == "poll none at once":
            yield None
        yield [good], {PARTITION: {"n": number + 1}}
        if number == 2:
            wrong = {"poll": [good], "poll none": None}
            yield wrong.get(self._config.wrong, ([good.replace(timestamp="now")], {PARTITION: {"n": 9}}))


class WrongSink(SinkConnector):
    Config = WrongConfig

    def sink(self, config: WrongConfig) -> Sink:
        return Committing(config)

    def writer(self, config: WrongConfig) -> Any:
        return None if config.wrong == "writer" else Writing()


class Committing(Sink):
    def __init__(self, config: WrongConfig) -> None:
        self._config = config

    def open(self, partitions: Sequence[Any]) -> Any:
        return None if self._config.wrong == "open" else {}

    def commit(self, messages: Sequence[Any], offsets: Any) -> Any:
        return None if self._config.wrong == "commit" else offsets


class Writing(Writer):
    def write(self, batches: Sequence[Any], report: Any) -> Any: ...
