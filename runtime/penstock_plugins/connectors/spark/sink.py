"""SparkSink: writes records with Spark's DataFrame writers (Parquet, ORC, JDBC, a table format on the class path)."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar
from urllib.parse import urlsplit

from penstock import Config, ConnectError, FrameSink, Importance, Problem, SinkConnector, SinkTaskContext, prop
from penstock.offsets import Offset, SourcePartition
from penstock.rules import not_blank
from penstock_plugins.connectors.spark.staging import StagingFolder, writes_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SparkSink", "SparkSinkConfig", "SparkWrite"]

_FILES = ("parquet", "orc", "json", "csv", "text", "avro", "xml")


class SparkSinkConfig(Config):
    open_prefixes: ClassVar[tuple[str, ...]] = ("spark.option.",)

    format: Annotated[str, not_blank] = prop(
        "format", "parquet", doc="The format, as `DataFrameWriter.format` takes it.", importance=Importance.HIGH
    )
    path: str | None = prop(
        "path",
        None,
        doc="The path to write to. Required for file formats; others use their options.",
        importance=Importance.HIGH,
    )
    partition_by: list[str] = prop("partition.by", [], doc="Fields whose values split the data into directories.")

    @property
    def options(self) -> dict[str, str]:
        """Return the properties `spark.option.<name>`, by name."""
        return self.open_properties("spark.option.")


class SparkSink(SinkConnector):
    """Appends each batch of records with a schema to a store, with Spark's writer for a format.

    At least once: a batch that failed halfway is written again. With file formats, readers see only complete files; the
    files of one batch appear one after the other. Other tasks, connectors and Spark jobs may append to the same folder
    (`staging.py`).
    """

    Config: ClassVar[type[Config]] = SparkSinkConfig

    def validate(self, config: SparkSinkConfig) -> Iterable[Problem]:
        """Check that file formats have a path."""
        if not config.path and config.format.lower() in _FILES:
            yield Problem("path", f"Format {config.format} writes files and needs a path.")

    def sink(self, config: SparkSinkConfig) -> "SparkWrite":
        return SparkWrite(config)

    def writes_anywhere(self, config: SparkSinkConfig) -> bool:
        """Return whether the path (`s3a://`) or the format writes to shared storage instead of a machine's disk."""
        options = {name.lower(): text for name, text in config.options.items()}
        path, url = config.path or options.get("path"), options.get("url", "")
        if path:
            return urlsplit(path).scheme not in ("", "file")
        if url.startswith("jdbc:"):
            return "//" in url or "@" in url  # others are in a file, or in a database within the JVM
        return config.format.lower() not in _FILES

    def alter_offsets(self, config: SparkSinkConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Accept all: the sink stores no offsets."""
        return True


class SparkWrite(FrameSink):
    """Driver half: passes each DataFrame to Spark's writer."""

    def __init__(self, config: SparkSinkConfig) -> None:
        self._config = config
        self._context: SinkTaskContext | None = None
        self._staging: StagingFolder | None = None
        self._direct = False

    def initialize(self, context: SinkTaskContext) -> None:
        """Keep the context, which names the staging folder."""
        self._context = context

    @property
    def ordered(self) -> bool:
        """Return whether batches must be written in order. Files need no order; a table may keep each key's last row."""
        return self._config.format.lower() not in _FILES

    def put_frame(self, frame: "DataFrame") -> None:
        """Append the frame."""
        config = self._config
        absent = [name for name in config.partition_by if name not in frame.columns]
        if absent:
            raise ConnectError(
                f"cannot partition by {', '.join(absent)}: the records have only the fields {', '.join(frame.columns)}; "
                "correct `partition.by`"
            )
        writer = frame.write.format(config.format).mode("append").options(**config.options)
        if config.partition_by:
            writer = writer.partitionBy(*config.partition_by)
        staging = self._staging_for(frame)
        if staging is None:
            writer.save(config.path)
        else:
            staging.write(writer.save)

    def stop(self) -> None:
        """Remove the staging folder."""
        if self._staging is not None:
            self._staging.remove()

    def _staging_for(self, frame: "DataFrame") -> StagingFolder | None:
        """Return the staging folder; None for a format without files, whose writer has its own commit."""
        if self._staging is None and not self._direct:
            config, session = self._config, frame.sparkSession
            path = config.path or config.options.get("path")
            if path and writes_files(session, config.format):
                assert self._context is not None, "`initialize` comes first"
                self._staging = StagingFolder(session, path, config.options, self._context)
            else:
                self._direct = True
        return self._staging
