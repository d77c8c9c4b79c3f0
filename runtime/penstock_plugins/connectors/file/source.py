"""FileStreamSource: reads the lines of a growing file, or of standard input, like Kafka Connect's connector of that name.

Differences from Kafka Connect, all intentional:

* Positions count bytes. Connect counts characters while it reads, and skips that many bytes after a restart, so it resumes
  at the wrong position in a file that is not ASCII.
* Rotation and truncation are detected, even if they happen while the task does not run.
* The offsets of standard input, which are always null, can be deleted.

The position is stored in the offsets topic as Kafka Connect stores it: `{"filename": ...}` -> `{"position": 35}`. A second
source partition in the same transaction, `{"filename": ..., "penstock": "fingerprint"}`, identifies the file
(docs/decisions/0014); Kafka Connect never reads it. A fingerprint is valid only with the position that it was written with.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final, TypeGuard

from pydantic import field_validator

from penstock import (
    Backlog,
    Config,
    ConnectError,
    Importance,
    InputPartition,
    Int,
    Limits,
    Offset,
    Offsets,
    PartitionReader,
    PollingSource,
    Problem,
    RecordBatch,
    RetriableError,
    Source,
    SourceConnector,
    SourcePartition,
    prop,
)
from penstock.schema import STRING
from penstock_plugins.connectors.file.fingerprint import Fingerprint, digest_before
from penstock_plugins.connectors.file.follow import Follower
from penstock_plugins.connectors.file.handles import borrow, open_again
from penstock_plugins.connectors.file.lines import split_lines
from penstock_plugins.connectors.file.stdin_source import StdinSource

__all__ = ["FileReader", "FileSource", "FileSourceConfig", "FileStreamSource"]

_MISSING: Final = 1.0
"""Seconds between checks for a file that does not exist, as in Kafka Connect."""


class FileSourceConfig(Config):
    file: str | None = prop(
        "file",
        None,
        doc="The file to read. It may be created later, grow, be rotated or truncated. Without it, standard input is read: "
        "that of `penstock run`, or an empty one in a pod.",
        importance=Importance.HIGH,
    )
    topic: str = prop("topic", doc="The topic to publish data to.", importance=Importance.HIGH)
    batch_size: Int = prop(
        "batch.size",
        2000,
        doc="Maximum number of lines that the source passes on together. Values below 1 count as 1, as in Kafka Connect.",
        importance=Importance.LOW,
    )

    @field_validator("topic")
    @classmethod
    def _not_empty(cls, text: str) -> str:
        if not text:
            raise ValueError("String must be non-empty")
        return text


class FileStreamSource(SourceConnector):
    """Reads lines from a file, or from standard input, and publishes them to a topic."""

    Config: ClassVar[type[Config]] = FileSourceConfig
    java_names: ClassVar[tuple[str, ...]] = ("org.apache.kafka.connect.file.FileStreamSourceConnector",)
    # Lines come from the page cache, so reading takes only CPU time: a thread would gain nothing.
    read_ahead: ClassVar[bool] = False

    def validate(self, config: FileSourceConfig) -> Iterable[Problem]:
        """Reject a directory. The file need not exist yet."""
        if config.file and Path(config.file).is_dir():
            yield Problem("file", f"{config.file} is a directory; property `file` must name a file.")

    def exactly_once(self, config: FileSourceConfig) -> bool:
        """Return whether a file is configured: standard input does not support exactly once."""
        return bool(config.file)

    def standard_input(self, config: FileSourceConfig) -> str | None:
        """Return the property `file`, if it is not set."""
        return None if config.file else "file"

    def source(self, config: FileSourceConfig) -> Source | PollingSource:
        """Return the driver half. For standard input there is no task half."""
        if not config.file:
            return StdinSource(config.topic, _portion(config), config.file)
        return FileSource(config.file)

    def reader(self, config: FileSourceConfig) -> "FileReader":
        return FileReader(config.topic, _portion(config))

    def alter_offsets(self, config: FileSourceConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Accept byte positions of the file, and any deletion. Errors have Kafka Connect's messages where it has one."""
        if not config.file and any(offset is not None for offset in offsets.values()):
            raise ConnectError(
                "Offsets cannot be modified if the 'file' configuration is unspecified. This is because stdin is used for "
                "input and offsets are not tracked."
            )
        for partition, offset in offsets.items():
            if offset is None:
                continue  # any offset may be deleted
            if "position" not in offset:
                raise ConnectError("Offset objects should either be null or contain the key 'position'")
            position = offset["position"]
            if not _is_integer(position):
                raise ConnectError("The value for the 'position' key in the offset is expected to be a Long value")
            if position < 0:
                raise ConnectError("The value for the 'position' key in the offset should be a non-negative value")
            if partition is None:
                raise ConnectError("Partition objects cannot be null")
            if "filename" not in partition:
                raise ConnectError("Partition objects should contain the key 'filename'")
            if partition["filename"] != config.file:
                raise ConnectError(
                    f"cannot set an offset of file {partition['filename']}: this connector reads {config.file}; correct "
                    "the partition, or the property `file` first"
                )
        return True


class FileSource(Source):
    """Driver half: follows the file and plans batches of whole lines.

    Args:
        path: path of the file as configured, which is also its name in the offsets.
        clock: monotonic clock, in seconds.
    """

    def __init__(self, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._partition = SourcePartition({"filename": path})
        self._fingerprint_partition = SourcePartition({"filename": path, "penstock": "fingerprint"})
        self._follower = Follower(path, clock)
        self._fingerprints: deque[tuple[Offset, Fingerprint | None]] = deque(maxlen=3)
        """Parsed fingerprints of the last offsets: parsing one takes longer than checking the file."""

    def start(self, offsets: Offsets) -> None:
        """Open the file of the committed position, or the file at the path if it exists."""
        try:
            self._follower.look(self._fingerprint(offsets))
        except OSError as e:
            raise self._unreadable(e) from e

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        """Return the end of the last whole line of the file, or of the next file.

        Raises:
            RetriableError: there is no file at the path yet.
        """
        try:
            end = self._follower.plan(self._position(start), self._fingerprint(start), limits)
        except OSError as e:
            raise self._unreadable(e) from e
        if end is None:
            if self._follower.is_missing:
                raise RetriableError(
                    f"cannot read file {self._path}: it does not exist; create it, or correct the property `file`",
                    retry_after=_MISSING,
                )
            return {}
        offset = end.offset()
        self._fingerprints.appendleft((offset, end))
        return {self._fingerprint_partition: offset, self._partition: {"position": end.position}}

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """Return one partition, because the lines of a file have an order."""
        start_mark, end_mark = self._fingerprint(start), self._fingerprint(end)
        if end_mark is None or end_mark == start_mark:
            return []
        handle = self._follower.content(end_mark.file).handle
        path = handle.current_path()
        data = {
            "path": path or self._path,
            "device": handle.device,
            "inode": handle.inode,
            "start": self._position(start) if end_mark.file == (start_mark.file if start_mark else 0) else 0,
            "end": end_mark.position,
            "digest": end_mark.digest,
        }
        return [
            InputPartition(
                data, {p: end[p] for p in (self._fingerprint_partition, self._partition)}, local=path is None
            )
        ]

    def backlog(self, offsets: Offsets) -> Backlog | None:
        """Return the unread bytes of the file and of the files after it."""
        left = self._follower.left(self._position(offsets), self._fingerprint(offsets))
        return None if left is None else Backlog(bytes=left)

    def commit(self, offsets: Offsets) -> None:
        """Close rotated files whose whole content is committed."""
        mark = self._fingerprint(offsets)
        if mark is not None:
            self._follower.committed(mark)

    def stop(self) -> None:
        self._follower.close()

    def _position(self, offsets: Offsets) -> int:
        position = offsets.get(self._partition, {}).get("position")
        if position is None:
            return 0
        if not _is_integer(position) or position < 0:
            raise ConnectError(
                f"cannot read file {self._path}: its offset {position!r} is not a position in a file; alter the offset"
            )
        return position

    def _fingerprint(self, offsets: Offsets) -> Fingerprint | None:
        """Return the fingerprint of the position; None if the position was not written together with one."""
        position, stored = self._position(offsets), offsets.get(self._fingerprint_partition)
        if stored is None or self._partition not in offsets:
            return None
        for offset, fingerprint in self._fingerprints:
            if offset is stored:
                mark = fingerprint
                break
        else:
            mark = Fingerprint.of(stored)
            self._fingerprints.appendleft((stored, mark))
        return mark if mark is not None and mark.position == position else None

    def _unreadable(self, error: OSError) -> RetriableError:
        return RetriableError(f"cannot read file {self._path}: {error.strerror}")


class FileReader(PartitionReader):
    """Task half: reads the lines that the driver half planned."""

    def __init__(self, topic: str, portion: int) -> None:
        self._topic = topic
        self._portion = portion

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """Yield the lines as strings."""
        data = partition.data
        start, end, device, inode = data["start"], data["end"], data["device"], data["inode"]
        if start == end:
            return
        fd = borrow(device, inode)
        if fd is None:
            fd = open_again(data["path"], device, inode)
        try:
            size = os.fstat(fd).st_size
            if size < end:
                raise RetriableError(f"it has {size} bytes but had {end} when the batch was planned")
            pending: list[str] = []
            for lines in split_lines(fd, start, end):
                pending = pending + lines if pending else lines
                full = len(pending) - len(pending) % self._portion
                for i in range(0, full, self._portion):
                    yield self._batch(pending[i : i + self._portion])
                pending = pending[full:]
            if pending:
                yield self._batch(pending)
            if digest_before(fd, end) != data["digest"]:
                raise RetriableError(f"its content up to byte {end} has changed since the batch was planned")
        except RetriableError as e:
            raise RetriableError(f"cannot read file {data['path']}: it was truncated while it was read: {e}") from e
        except OSError as e:
            raise RetriableError(f"cannot read file {data['path']}: {e.strerror}") from e
        finally:
            os.close(fd)

    def _batch(self, lines: list[str]) -> RecordBatch:
        return RecordBatch(length=len(lines), topic=self._topic, value=lines, value_schema=STRING, owned=True)


def _portion(config: FileSourceConfig) -> int:
    return max(1, config.batch_size)


def _is_integer(number: object) -> TypeGuard[int]:
    return isinstance(number, int) and not isinstance(number, bool)
