"""SparkDataSource: runs a streaming data source written for PySpark (`DataSourceStreamReader`) unchanged.

Its offsets become Kafka Connect offsets of one source partition: a flat offset unchanged, a nested one as JSON in the field
`json`. The partitions of a small batch are read in order, as one input partition, because they share that one offset; those
of a backlog are read in parallel (`rounds`).
"""

import importlib
import inspect
import json
import logging
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

from penstock import (
    Config,
    ConfigError,
    ConnectError,
    Importance,
    InputPartition,
    Limits,
    Offset,
    Offsets,
    OffsetUpdates,
    PartitionReader,
    Problem,
    RecordBatch,
    Source,
    SourceConnector,
    SourcePartition,
    prop,
)
from penstock.rules import not_blank
from penstock.spark import from_spark
from penstock_plugins.connectors.spark.cuts import Cut, cut, pickled
from penstock_plugins.connectors.spark.ddl import parse_ddl
from penstock_plugins.connectors.spark.rounds import PART, Round, RoundProgress, is_backlog, number_of, progress
from penstock_plugins.connectors.spark.rows import portions

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.types import StructType

__all__ = ["SparkDataSource", "SparkSource", "SparkSourceConfig", "SparkSourceReader"]

log = logging.getLogger(__name__)
_PORTION: Final = 2000


class SparkSourceConfig(Config):
    open_prefixes: ClassVar[tuple[str, ...]] = ("option.",)

    data_source: Annotated[str, not_blank] = prop(
        "data.source",
        doc="The data source: `module:Class` of a subclass of pyspark.sql.datasource.DataSource.",
        importance=Importance.HIGH,
    )
    topic: Annotated[str, not_blank] = prop("topic", doc="The topic to publish data to.", importance=Importance.HIGH)
    data_schema: str | None = prop(
        "data.schema", None, doc="The schema to read with, in Spark's DDL. Default: the schema of the data source."
    )

    @property
    def options(self) -> dict[str, str]:
        """Return the properties `option.<name>`, by name."""
        return self.open_properties("option.")


class SparkDataSource(SourceConnector):
    """Reads from a streaming data source written for PySpark."""

    Config: ClassVar[type[Config]] = SparkSourceConfig

    def validate(self, config: SparkSourceConfig) -> Iterable[Problem]:
        """Check that the class can be loaded, and that it supports streaming."""
        try:
            _OpenedSource(config)
        except ConfigError as e:
            yield from e.problems

    def source(self, config: SparkSourceConfig) -> "SparkSource":
        return SparkSource(config)

    def reader(self, config: SparkSourceConfig) -> "SparkSourceReader":
        return SparkSourceReader(config)

    def reads_anywhere(self, config: SparkSourceConfig) -> bool:
        """Return whether executors can read partitions, as in Spark: `DataSourceStreamReader` yes, a simple reader no."""
        return not isinstance(_OpenedSource(config).reader, _SimpleReaderAdapter)

    def alter_offsets(self, config: SparkSourceConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Accept offsets of the data source and of its parts, and deletions. Only the reader can interpret an offset."""
        own = {"source": config.data_source}
        for partition, offset in offsets.items():
            if offset is None:
                continue
            if {**partition, PART: None} != {**own, PART: None}:
                raise ConnectError(
                    f"cannot set an offset of partition {dict(partition)}: this connector has only the partition "
                    f'{{"source": "{config.data_source}"}} and, during a backlog, those of parts in its list of offsets'
                )
            if PART in partition:
                Round.of(partition, offset)
                continue
            try:
                is_object = isinstance(_decode(offset), dict)
            except ValueError:
                is_object = False
            if not is_object:
                raise ConnectError("The value for the 'json' key in the offset is expected to be the JSON of an object")
        return False


class SparkSource(Source):
    """Driver half: gets offsets and partitions from the reader."""

    def __init__(self, config: SparkSourceConfig) -> None:
        self._config = config
        self._partition = SourcePartition({"source": config.data_source})
        self._reader: Any = None
        self._initial: dict[str, Any] = {}
        self._takes_rows = True
        self._committed: Offset | None = None
        self._planned: tuple[Round, Cut] | None = None

    def start(self, offsets: Offsets) -> None:
        """Create the reader. Without a committed offset, reading starts at its initial offset."""
        self._reader = _OpenedSource(self._config).reader
        self._committed = offsets.get(self._partition)
        if self._committed is None:
            self._initial = self._reader.initialOffset()

    def latest_offsets(self, start: Offsets, limits: Limits) -> OffsetUpdates:
        """Return the latest offset of the reader. It may exceed the limits, because not every reader supports limits."""
        at = self._progress(start)
        if at.round is not None and at.left:
            return at.round.read(self._partition, at.left if is_backlog(limits) else at.left[:1])
        if at.parts:
            return {**at.closed(), **({} if at.round is None else {self._partition: _encode(at.round.end)})}
        begin = self._offset(start)
        if inspect.signature(self._reader.latestOffset).parameters:
            latest = self._latest(begin, limits)
        else:  # the signature before Spark 4.2
            latest = self._reader.latestOffset()
        if latest == begin:
            return {}
        # A round begins at a committed offset: the initial offset may differ after a restart.
        if is_backlog(limits) and self._partition in start:
            found = self._cut(begin, latest)
            of = Round(begin, latest, len(found.parts), found.digest)
            self._planned = of, found
            if of.parts > 1:
                return of.read(self._partition, range(of.parts))
        return {self._partition: _encode(latest)}

    def _latest(self, begin: dict[str, Any], limits: Limits) -> dict[str, Any]:
        """Return the latest offset of a reader.

        A reader without its own limit gets the batch's, which it must respect by Spark's contract.
        """
        default = self._reader.getDefaultReadLimit()
        limit = _max_rows(default, limits) if self._takes_rows else default
        try:
            latest: dict[str, Any] = self._reader.latestOffset(begin, limit)
        except Exception as e:
            if limit is default:
                raise
            latest = self._reader.latestOffset(begin, default)
            self._takes_rows = False  # the limit was the cause, because this call succeeded
            log.info("%s does not support a row limit: %s", self._config.data_source, e)
        return latest

    def partitions(self, start: Offsets, end: OffsetUpdates) -> Sequence[InputPartition]:
        """Return one input partition for each part of a round; otherwise one with all partitions of the reader."""
        planned, self._planned = self._planned, None
        read = {p: o for p, o in end.items() if PART in p and o is not None}
        if read:
            of = Round.of(*next(iter(read.items())))
            parts = planned[1].parts if planned is not None and planned[0] == of else self._parts(of, start)
            return [InputPartition({"partitions": [*parts[number_of(p)]]}, {p: o}) for p, o in read.items()]
        if any(PART in p for p in end):  # a batch without records needs no Spark job
            return [InputPartition({"partitions": []}, end, local=True)]
        changed, begin = end.get(self._partition), self._offset(start)
        if changed is None or begin == _decode(changed):
            return []
        if planned is not None and (planned[0].start, planned[0].end) == (begin, _decode(changed)):
            one = [p for part in planned[1].parts for p in part]
        else:
            one = [pickled(p) for p in self._reader.partitions(begin, _decode(changed))]
        return [InputPartition({"partitions": one}, {self._partition: changed})]

    def commit(self, offsets: Offsets) -> None:
        """Pass the offset to the reader, once everything up to it is committed."""
        own = offsets.get(self._partition)
        if own is not None and own != self._committed:
            self._reader.commit(_decode(own))
            self._committed = own

    def stop(self) -> None:
        """Stop the reader."""
        if self._reader is not None:
            self._reader.stop()
            self._reader = None

    def _offset(self, offsets: Offsets) -> dict[str, Any]:
        offset = offsets.get(self._partition)
        return self._initial if offset is None else _decode(offset)

    def _progress(self, offsets: Offsets) -> RoundProgress:
        own = offsets.get(self._partition)
        return progress(self._partition, None if own is None else _decode(own), offsets)

    def _cut(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> Cut:
        """Cut the partitions that the reader returns for offsets decoded from JSON, as after a crash."""
        return cut(self._reader.partitions(*(json.loads(json.dumps(offset)) for offset in (start, end))))

    def _parts(self, of: Round, start: Offsets) -> Sequence[Sequence[bytes]]:
        """Return the parts of a round in progress, as the reader returns them again.

        Raises:
            ConnectError: the reader returns different parts.
        """
        found = self._cut(of.start, of.end)
        if (len(found.parts), found.digest) != (of.parts, of.digest):
            at = self._progress(start)
            raise ConnectError(
                f"cannot continue reading: {self._config.data_source} returns different partitions than before for the same "
                f"offsets, so it is unknown which rows are left. {of.parts - len(at.left)} of {of.parts} parts of the rows "
                f"from {dict(of.start)} to {dict(of.end)} are in Kafka, and the others are not. Nothing more was "
                "written. Make the data source return the same partitions as before and restart the connector; or remove "
                f'the offsets of the parts, {{"source": "{self._config.data_source}", "part": ..}}, to read all of these '
                "rows again, which writes those that are already in Kafka twice"
            )
        return found.parts


class SparkSourceReader(PartitionReader):
    """Task half: reads partitions with its own reader."""

    def __init__(self, config: SparkSourceConfig) -> None:
        self._opened = _OpenedSource(config)
        self._topic = config.topic
        self._schema = from_spark(self._opened.shape)

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """Yield the rows as structs."""
        for data in partition.data["partitions"]:
            rows = self._opened.reader.read(pickle.loads(data))  # noqa: S301 (made by the driver half)
            for values in portions(rows, self._opened.shape, _PORTION):
                yield RecordBatch(
                    length=len(values), topic=self._topic, value=values, value_schema=self._schema, owned=True
                )


class _OpenedSource:
    """Data source with its options, its schema and a stream reader.

    Raises:
        ConfigError: the class cannot be loaded, or does not support streaming.
    """

    def __init__(self, config: SparkSourceConfig) -> None:
        from pyspark.errors import PySparkNotImplementedError

        source = _load(config.data_source)(config.options)
        self.shape = _shape(config, source)
        try:
            self.reader: Any = source.streamReader(self.shape)
        except (PySparkNotImplementedError, NotImplementedError):
            try:
                self.reader = _SimpleReaderAdapter(source.simpleStreamReader(self.shape))
            except (PySparkNotImplementedError, NotImplementedError):
                raise ConfigError(
                    Problem(
                        "data.source",
                        f"{config.data_source} offers neither streamReader nor simpleStreamReader; use a data source "
                        "that supports streaming",
                    )
                ) from None


class _SimpleReaderAdapter:
    """`SimpleDataSourceStreamReader` with the methods of a `DataSourceStreamReader`: each batch is one partition.

    `read` determines the end of a batch, and `readBetweenOffsets` reads it, the first time as well, so a repeated batch has
    the same rows.
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.initialOffset = reader.initialOffset
        self.commit = reader.commit

    def latestOffset(self, start: dict[str, Any], limit: object) -> Any:  # noqa: N802
        return self._reader.read(start)[1]

    def getDefaultReadLimit(self) -> None:  # noqa: N802
        return None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        return [(start, end)]

    def read(self, partition: tuple[dict[str, Any], dict[str, Any]]) -> Any:
        return self._reader.readBetweenOffsets(*partition)

    def stop(self) -> None:
        pass


def _load(path: str) -> "type[DataSource]":
    from pyspark.sql.datasource import DataSource

    module, _, name = path.partition(":")
    try:
        cls = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as e:
        raise ConfigError(
            Problem("data.source", f"cannot load {path}: {e}; write `module:Class`, and install the module")
        ) from e
    if not (isinstance(cls, type) and issubclass(cls, DataSource)):
        raise ConfigError(Problem("data.source", f"{path} is not a subclass of pyspark.sql.datasource.DataSource."))
    return cls


def _shape(config: SparkSourceConfig, source: "DataSource") -> "StructType":
    from pyspark.errors import PySparkNotImplementedError

    try:
        schema = config.data_schema or source.schema()
    except (PySparkNotImplementedError, NotImplementedError):
        raise ConfigError(Problem("data.schema", f"{config.data_source} has no schema; set one.")) from None
    if not isinstance(schema, str):
        return schema
    try:
        return parse_ddl(schema)
    except ConnectError as e:
        raise ConfigError(Problem("data.schema", str(e))) from e


def _max_rows(default: object, limits: Limits) -> object:
    """Return the batch's row limit if the reader has no limit. Spark before 4.2 has no limits."""
    try:
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
    except ImportError:
        return default
    return ReadMaxRows(limits.records) if isinstance(default, ReadAllAvailable) else default


def _encode(offset: Mapping[str, Any]) -> Offset:
    flat = all(v is None or isinstance(v, (str, int, float, bool)) for v in offset.values())
    # An offset whose only field is `json` is encoded too, because it would be read as a nested one.
    if flat and set(offset) != {"json"}:
        return dict(offset)
    return {"json": json.dumps(offset, ensure_ascii=False, separators=(",", ":"))}


def _decode(offset: Offset) -> dict[str, Any]:
    text = offset.get("json")
    if set(offset) == {"json"} and isinstance(text, str):
        decoded: dict[str, Any] = json.loads(text)
        return decoded
    return dict(offset)
