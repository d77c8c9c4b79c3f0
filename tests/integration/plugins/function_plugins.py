"""A source, a transform and a sink that are functions."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from penstock import Config, PluginContext, Record, prop, sink, source, transform


class StreamsConfig(Config):
    topic: str = prop("topic", doc="The topic to write to.")
    streams: list[str] = prop("streams", doc="The streams.")
    count: int = prop("count", doc="How many records each has.")


@source(streams=lambda config: config.streams)
def streams(config: StreamsConfig, stream: str, cursor: int | None, limit: int) -> Iterator[tuple[Record, int]]:
    """Counts in each stream."""
    place = cursor or 0
    for number in range(place, min(config.count, place + limit)):
        yield Record(topic=config.topic, key=stream, value=str(number)), number + 1


@transform
def with_connector(record: Record, context: PluginContext) -> Record:
    """Writes the connector's name before each value."""
    return record.replace(value=f"{context.connector} {record.value}")


class LinesConfig(Config):
    folder: str = prop("folder", doc="The folder of the files.")


@sink
def lines(records: Sequence[Record], config: LinesConfig, context: PluginContext) -> None:
    """Appends values to a file of the task."""
    with (Path(config.folder) / f"{context.connector}-{context.task}").open("a") as file:
        file.writelines(f"{record.key} {record.value}\n" for record in records)


class ListedConfig(Config):
    topic: str = prop("topic", doc="The topic to write to.")
    list: str = prop("list", doc="The file that lists the streams.")


@source(streams=lambda config: Path(config.list).read_text().split())
def listed(config: ListedConfig, stream: str, cursor: int | None) -> Iterator[tuple[Record, int]]:
    """One record of each stream that a file lists."""
    if cursor is None:
        yield Record(topic=config.topic, value=stream), 1
