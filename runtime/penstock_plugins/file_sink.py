"""FileStreamSink: one line for each record, as Kafka Connect's connector of that name writes them.

A line is the Java text of the value. Lines are appended whole or not at all where the file system allows it, and are on
disk before their offsets are committed. Standard output, which Connect takes without `file`, is not written to.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import field_validator

from penstock import (
    Config,
    Importance,
    Problem,
    RecordBatch,
    Reporter,
    Sink,
    SinkConnector,
    TopicPartition,
    Writer,
    prop,
)
from penstock_plugins.file_append import LineFile, make_durable
from penstock_plugins.java_text import texts

__all__ = ["FileSink", "FileSinkConfig", "FileStreamSink", "FileWriter"]


class FileSinkConfig(Config):
    """What FileStreamSink takes: Kafka Connect's names."""

    file: str = prop(
        "file",
        doc="The file to append lines to (Penstock does not write to standard output, as Kafka Connect does without this "
        "property). It is created when missing; its directory must exist.",
        importance=Importance.HIGH,
    )

    @field_validator("file")
    @classmethod
    def _not_empty(cls, text: str) -> str:
        if not text:
            raise ValueError("String must be non-empty")
        return text


class FileStreamSink(SinkConnector):
    """Writes records from Kafka to a file, a line each."""

    Config: ClassVar[type[Config]] = FileSinkConfig
    java_names: ClassVar[tuple[str, ...]] = ("org.apache.kafka.connect.file.FileStreamSinkConnector",)
    single_writer: ClassVar[bool] = True

    def validate(self, config: FileSinkConfig) -> Iterable[Problem]:
        """Refuse what is wrong wherever the task runs, which may be another machine, with other folders, than this."""
        if config.file.endswith("/") or Path(config.file).is_dir():
            yield Problem("file", f"{config.file} is a directory; property `file` must name a file.")
        elif "\0" in config.file:
            yield Problem("file", "The name of a file cannot hold the character NUL; property `file` must name a file.")

    def sink(self, config: FileSinkConfig) -> "FileSink":
        """The driver half."""
        return FileSink(config.file)

    def writer(self, config: FileSinkConfig) -> "FileWriter":
        """The task half."""
        return FileWriter(config.file)

    def alter_offsets(self, config: FileSinkConfig, offsets: Mapping[Any, Any]) -> bool:
        """Any: nothing about offsets is kept in the file."""
        return True


class FileSink(Sink):
    """The driver half: sees to it that lines are on disk before their offsets are committed."""

    def __init__(self, path: str) -> None:
        self._path = path

    def start(self) -> None:
        """Fail at once when the file cannot be written."""
        LineFile(self._path).close()

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Bring every file that was written to disk; more than one when it was rotated meanwhile."""
        for device, inode in {(m["device"], m["inode"]) for m in messages}:
            make_durable(self._path, device, inode)
        return offsets


class FileWriter(Writer):
    """The task half: appends."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: LineFile | None = None

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        """Append the lines of all records, or none of them."""
        lines = [line for batch in batches for line in _lines(batch)]
        if not lines:
            return None
        lines.append("")
        # Lone surrogates become "?", as Java's encoder makes them.
        data = "\n".join(lines).encode("utf-8", "replace")
        if self._file is not None and not self._file.is_current():
            self.close()
        if self._file is None:
            self._file = LineFile(self._path)
        self._file.append(data)
        return {"path": self._path, "bytes": len(data), "device": self._file.device, "inode": self._file.inode}

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _lines(batch: RecordBatch) -> list[str]:
    values = batch.value if batch.fields is None else batch.fields
    if values is None:
        return ["null"] * batch.length
    if not isinstance(batch.value_schema, list):
        return texts(batch.value_schema, values)
    return [texts(s, [v])[0] for s, v in zip(batch.value_schema, values, strict=True)]
