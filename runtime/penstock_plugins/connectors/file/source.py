"""FileStreamSource: the lines of a growing file, or of standard input, as Kafka Connect's connector of that name reads them.

Differences from it, all on purpose: positions count bytes (Connect's count characters while it reads and are skipped as
bytes after a restart, so that files with other than ASCII text resume at wrong places); rotation and truncation are seen,
also while nobody looks; offsets of standard input, which say nothing, may be forgotten.

The position stands in the offsets topic as Kafka Connect has it, `{"filename": ...}` -> `{"position": 35}`. Beside it, in
the same transaction, a source partition of our own, `{"filename": ..., "penstock": "fingerprint"}`, says which file that
is (docs/decisions/0014). Kafka Connect asks for its own partition alone. It counts only together with the very position
that it was written with.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, TypeGuard

from pydantic import field_validator

from penstock import (
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


class FileSourceConfig(Config):
    file: str | None = prop(
        "file",
        None,
        doc="The file to read. It may be created later, grow, be rotated or truncated. Without it standard input is read, "
        "which `penstock run` passes on, and which is empty in a pod.",
        importance=Importance.HIGH,
    )
    topic: str = prop("topic", doc="The topic to publish data to.", importance=Importance.HIGH)
    batch_size: Int = prop(
        "batch.size",
        2000,
        doc="The most lines that stand in one portion between the stages of a task. Below 1 it is 1, as in Kafka Connect.",
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
    # Lines come from the page cache: reading is work for the CPU, and a thread would only share it.
    read_ahead: ClassVar[bool] = False

    def validate(self, config: FileSourceConfig) -> Iterable[Problem]:
        """Refuse a directory; a file that is not there yet is fine."""
        if config.file and Path(config.file).is_dir():
            yield Problem("file", f"{config.file} is a directory; property `file` must name a file.")

    def exactly_once(self, config: FileSourceConfig) -> bool:
        """Of a file only."""
        return bool(config.file)

    def standard_input(self, config: FileSourceConfig) -> str | None:
        """`file`, where it names none."""
        return None if config.file else "file"

    def source(self, config: FileSourceConfig) -> Source | PollingSource:
        """The driver half; of standard input it is the whole."""
        if not config.file:
            return StdinSource(config.topic, _portion(config), config.file)
        return FileSource(config.file)

    def reader(self, config: FileSourceConfig) -> "FileReader":
        return FileReader(config.topic, _portion(config))

    def alter_offsets(self, config: FileSourceConfig, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Accept byte positions of any file, and the forgetting of all, with Kafka Connect's messages."""
        if not config.file and any(offset is not None for offset in offsets.values()):
            raise ConnectError(
                "Offsets cannot be modified if the 'file' configuration is unspecified. This is because stdin is used for "
                "input and offsets are not tracked."
            )
        for partition, offset in offsets.items():
            if offset is None:
                continue  # whatever is there may be cleared away
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
        return True


class FileSource(Source):
    """The driver half: follows the file and finds whole lines.

    Args:
        path: the file as configured, which is also its name in the offsets.
        clock: seconds, monotonic.
    """

    def __init__(self, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._partition = SourcePartition({"filename": path})
        self._fingerprint_partition = SourcePartition({"filename": path, "penstock": "fingerprint"})
        self._follower = Follower(path, clock)
        self._fingerprints: deque[tuple[Offset, Fingerprint | None]] = deque(maxlen=3)
        """The last that were asked for: reading one takes longer than a look at the file."""

    def start(self, offsets: Offsets) -> None:
        """Open the file if it is there, or the one that is to be read on."""
        try:
            self._follower.look(self._fingerprint(offsets))
        except OSError as e:
            raise self._unreadable(e) from e

    def latest_offsets(self, start: Offsets, limits: Limits) -> Offsets:
        """Up to the last whole line of the file, or of the next one."""
        try:
            end = self._follower.plan(self._position(start), self._fingerprint(start), limits)
        except OSError as e:
            raise self._unreadable(e) from e
        if end is None:
            return {}
        offset = end.offset()
        self._fingerprints.appendleft((offset, end))
        return {self._fingerprint_partition: offset, self._partition: {"position": end.position}}

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """One part: the lines of a file have an order."""
        before, after = self._fingerprint(start), self._fingerprint(end)
        if after is None or after == before:
            return []
        handle = self._follower.content(after.file).handle
        path = handle.current_path()
        data = {
            "path": path or self._path,
            "device": handle.device,
            "inode": handle.inode,
            "start": self._position(start) if after.file == (before.file if before else 0) else 0,
            "end": after.position,
            "digest": after.digest,
        }
        return [
            InputPartition(
                data, {p: end[p] for p in (self._fingerprint_partition, self._partition)}, local=path is None
            )
        ]

    def commit(self, offsets: Offsets) -> None:
        """Close rotated files that nothing can go back to."""
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
                f"File {self._path}: its offset {position!r} is no position in a file. Alter the offset."
            )
        return position

    def _fingerprint(self, offsets: Offsets) -> Fingerprint | None:
        """The fingerprint of the position; None where somebody else wrote the position."""
        position, beside = self._position(offsets), offsets.get(self._fingerprint_partition)
        if beside is None or self._partition not in offsets:
            return None
        for offset, known in self._fingerprints:
            if offset is beside:
                mark = known
                break
        else:
            mark = Fingerprint.of(beside)
            self._fingerprints.appendleft((beside, mark))
        return mark if mark is not None and mark.position == position else None

    def _unreadable(self, error: OSError) -> RetriableError:
        return RetriableError(f"Cannot read file {self._path}: {error.strerror}.")


class FileReader(PartitionReader):
    """The task half: reads what the driver half has found."""

    def __init__(self, topic: str, portion: int) -> None:
        self._topic = topic
        self._portion = portion

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        """The lines, as texts."""
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
                raise RetriableError(f"it has {size} bytes and had {end} when the batch was planned")
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
                raise RetriableError(f"its content up to byte {end} is another one than when the batch was planned")
        except RetriableError as e:
            raise RetriableError(f"File {data['path']} was truncated while it was read: {e}.") from e
        except OSError as e:
            raise RetriableError(f"Cannot read file {data['path']}: {e.strerror}.") from e
        finally:
            os.close(fd)

    def _batch(self, lines: list[str]) -> RecordBatch:
        return RecordBatch(length=len(lines), topic=self._topic, value=lines, value_schema=STRING, owned=True)


def _portion(config: FileSourceConfig) -> int:
    return max(1, config.batch_size)


def _is_integer(number: object) -> TypeGuard[int]:
    return isinstance(number, int) and not isinstance(number, bool)
