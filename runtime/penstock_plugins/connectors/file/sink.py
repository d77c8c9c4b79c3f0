"""FileStreamSink: writes one line for each record to a file, like Kafka Connect's connector of that name.

A line is the Java text of the value. Lines are appended whole or not at all if the file system allows it, and are on
disk before their offsets are committed. With a backlog, several processes prepare lines and one appends them in order.
Without a file the lines go to standard output (`stdout_sink.py`).
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from penstock import (
    Config,
    ConnectError,
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
from penstock_plugins.connectors.file.append import CurrentFile, LineFile, make_durable
from penstock_plugins.connectors.file.record_lines import lines_of
from penstock_plugins.connectors.file.staging import StagingWriter, append_staged, discard_staged
from penstock_plugins.connectors.file.stdout_sink import StdoutSink, StdoutWriter

__all__ = ["FileSink", "FileSinkConfig", "FileStreamSink", "FileWriter"]


class FileSinkConfig(Config):
    file: str | None = prop(
        "file",
        None,
        doc="The file to append lines to. It is created if it is missing; its directory must exist. Without it, lines go to "
        "standard output, which is the task's log.",
        importance=Importance.HIGH,
    )


class FileStreamSink(SinkConnector):
    """Writes records from Kafka to a file, or to standard output, one line for each record."""

    Config: ClassVar[type[Config]] = FileSinkConfig
    java_names: ClassVar[tuple[str, ...]] = ("org.apache.kafka.connect.file.FileStreamSinkConnector",)
    single_writer: ClassVar[bool] = True
    staged: ClassVar[bool] = True

    def validate(self, config: FileSinkConfig) -> Iterable[Problem]:
        """Reject only values that are wrong on any machine: the task may run on a machine with other folders."""
        if not config.file:
            return
        if config.file.endswith("/") or Path(config.file).is_dir():
            yield Problem("file", f"{config.file} is a directory; property `file` must name a file.")
        elif "\0" in config.file:
            yield Problem("file", "A file name cannot contain the character NUL; remove it from property `file`.")

    def sink(self, config: FileSinkConfig) -> Sink:
        return FileSink(config.file) if config.file else StdoutSink()

    def writer(self, config: FileSinkConfig) -> Writer:
        return FileWriter(config.file) if config.file else StdoutWriter()

    def alter_offsets(self, config: FileSinkConfig, offsets: Mapping[Any, Any]) -> bool:
        """Accept all: the sink stores no offsets."""
        return True


class FileSink(Sink):
    """Driver half: appends staged lines, and makes lines durable before their offsets are committed."""

    def __init__(self, path: str) -> None:
        self._file = CurrentFile(path)
        self._path = path
        self._appended: set[str] = set()
        self._written: set[tuple[int, int]] = set()

    def start(self) -> None:
        """Fail immediately if the file cannot be written."""
        LineFile(self._path).close()

    def open(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Discard the lines that a failed batch has staged."""
        discard_staged(self._path)
        return {}

    def commit(self, messages: Sequence[Any], offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Append staged lines, then make all written files durable: more than one if the file was rotated."""
        names = [message["staged"] for message in messages if "staged" in message]
        if len(set(names)) < len(names):
            raise ConnectError(
                f"cannot append to file {self._path}: two parts of a batch name the same temporary file: {', '.join(names)}"
            )
        for message in messages:
            name = message.get("staged")
            if name is None:
                self._written.add((message["device"], message["inode"]))
            elif name not in self._appended:  # `commit` may be called again after an error
                file = self._file.get()
                append_staged(file.append, name, message["bytes"])
                self._appended.add(name)
                self._written.add((file.device, file.inode))
        for device, inode in self._written:
            make_durable(self._path, device, inode)
        if not names:  # the backlog is over
            discard_staged(self._path, only_free=True)
        self._appended.clear()
        self._written.clear()
        return offsets

    def stop(self) -> None:
        self._file.close()
        discard_staged(self._path)


class FileWriter(StagingWriter):
    """Task half: appends lines, or stages them."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._path = path
        self._file = CurrentFile(path)

    def write(self, batches: Sequence[RecordBatch], report: Reporter) -> Any:
        """Append the lines of all records, or of none."""
        data = lines_of(batches)
        if not data:
            return None
        file = self._file.get()
        file.append(data)
        return {"path": self._path, "bytes": len(data), "device": file.device, "inode": file.inode}

    def close(self) -> None:
        self._file.close()
        super().close()
