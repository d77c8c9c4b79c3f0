"""Source connector for a generator function: its streams, their cursors, and their distribution among tasks."""

import json
import logging
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias, cast

from penstock._named_parameters import NamedParameters
from penstock.config import Config
from penstock.context import PluginContext
from penstock.errors import ConfigError, ConnectError, Problem
from penstock.offsets import Cursor, Offset, Offsets, OffsetUpdates, SourcePartition
from penstock.record import Record
from penstock.source import Limits, PollingSource, SourceConnector

__all__ = ["ONLY_STREAM", "TASK_STREAMS", "FunctionReader", "FunctionSource", "Streams"]

Streams: TypeAlias = Callable[[Any], Iterable[str]]
"""Function that returns the names of the streams for a parsed `Config`."""

log = logging.getLogger(__name__)

ONLY_STREAM: Final = "default"
"""Stream name of a source without `streams`."""

TASK_STREAMS: Final = "task.streams"
"""Property with the streams of a task, as a JSON list."""

_ALL: Final = ".all"
"""Suffix of the property with the sorted streams of all tasks, which only the first task has."""

_LOOK: Final = 60.0
"""Seconds between two checks for new and removed streams."""

_PORTION: Final = 100
"""Records per portion, if the function yields them one by one."""

_PATIENCE: Final = 1.0
"""Seconds until an incomplete portion is delivered, so that a read of a slow stream can end between portions."""


class FunctionSource(SourceConnector):
    """Base class of the connectors that `penstock.source` creates."""

    function: ClassVar[Callable[..., Any]]
    parameters: ClassVar[NamedParameters]
    streams: ClassVar[Streams | None] = None
    repeats: ClassVar[bool] = True

    def exactly_once(self, config: Any) -> bool:
        """Return the setting of the decorator."""
        return self.repeats

    def validate(self, config: Any) -> Iterable[Problem]:
        """Check that the streams can be listed and are strings, and that the user does not set the streams of a task.

        Raises:
            ConfigError: the streams are not a list of distinct strings.
        """
        if config.open_properties(TASK_STREAMS):
            return [
                Problem(
                    TASK_STREAMS, f"cannot set {TASK_STREAMS}: Penstock uses it to assign streams to tasks; remove it."
                )
            ]
        if not self._names(config):
            self._warn_of_nothing()
        return []

    def task_configs(self, config: Any, properties: Mapping[str, str], max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Distribute the streams round-robin among as many tasks as there are streams, at most `max_tasks`."""
        if self.streams is None:
            return [properties]
        names = self._names(config)
        count = max(1, min(max_tasks, len(names)))
        own = [{**properties, TASK_STREAMS: json.dumps(names[task::count])} for task in range(count)]
        own[0][f"{TASK_STREAMS}{_ALL}"] = json.dumps(sorted(names))
        return own

    def source(self, config: Any) -> "FunctionReader":
        """Return the reader for all streams of this task."""
        given = config.open_properties(TASK_STREAMS)
        names = json.loads(given[""]) if "" in given else self._names(config)
        if not names:
            self._warn_of_nothing()
        planned = given.get(_ALL)
        watch = None if planned is None else _StreamWatch(planned, lambda: self._names(config), self.context)
        return FunctionReader(
            type(self).function, self.parameters, config, self.context, names, watch, repeats=self.repeats
        )

    def alter_offsets(self, config: Any, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        """Accept any valid cursor for any stream, including streams that no longer exist."""
        for partition, offset in offsets.items():
            if set(partition) != {"stream"} or not isinstance(partition["stream"], str):
                raise ConnectError(
                    f"cannot change the offset of partition {json.dumps(dict(partition))}: a partition must be "
                    '{"stream": "<name>"}.'
                )
            if offset is not None and (not offset or offset.get("cursor", "") is None):
                raise ConnectError(
                    f"cannot set the offset of stream {partition['stream']} to {json.dumps(dict(offset))}: an offset must "
                    'be {"cursor": <string or number>}, or a map like those that the source writes.'
                )
        return True

    def _warn_of_nothing(self) -> None:
        log.warning(
            "%s has nothing to read: its function `streams` returned no stream for this configuration. It is called again "
            "every minute.",
            self.parameters.name,
        )

    def _names(self, config: Any) -> list[str]:
        streams = type(self).streams
        if streams is None:
            return [ONLY_STREAM]
        given = streams(config)
        if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
            raise ConfigError(f"The streams of {self.parameters.name} must be a list of strings, not {given!r}.")
        names = list(given)
        if not all(isinstance(name, str) for name in names):
            raise ConfigError(f"The streams of {self.parameters.name} must be a list of strings, not {names!r}.")
        if len(set(names)) < len(names):
            raise ConfigError(f"The streams of {self.parameters.name} must differ from each other: {names!r}.")
        return names


class _StreamWatch:
    """Periodic check for new and removed streams, which requests new tasks when the streams differ from the plan."""

    def __init__(self, planned: str, names: Callable[[], Iterable[str]], context: PluginContext) -> None:
        self._planned = planned
        self._requested = ""
        self._names = names
        self._context = context
        self._due = time.monotonic() + _LOOK

    def look(self) -> None:
        if time.monotonic() < self._due:
            return
        try:
            present = json.dumps(sorted(self._names()))
        except Exception as e:  # noqa: BLE001 (the known streams are still read)
            log.warning("Cannot list the streams; known streams are still read: %s: %s", type(e).__name__, e)
        else:
            if present not in (self._planned, self._requested):
                self._requested = present
                found, before = set(json.loads(present)), set(json.loads(self._planned))
                new, gone = (", ".join(sorted(names)) or "none" for names in (found - before, before - found))
                log.info("Streams have changed since the tasks were planned. New: %s. Gone: %s", new, gone)
            if present != self._planned:
                self._context.request_task_reconfiguration(f"{present}, and not {self._planned}")
        self._due = time.monotonic() + _LOOK


class FunctionReader(PollingSource):
    """Driver half of the source, which calls the function for each stream in turn.

    Attributes:
        portion: the number of records per portion, if the function yields them one by one. The test suite sets it to 1,
            so that a read may end after any pair.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        parameters: NamedParameters,
        config: Config,
        context: PluginContext,
        names: Sequence[str],
        watch: _StreamWatch | None = None,
        *,
        repeats: bool = True,
    ) -> None:
        self.portion = _PORTION
        self._watch = watch
        self._repeats = repeats
        self._function = function
        self.parameters = parameters
        self._fixed = {"config": config, "context": context}
        self._names = names
        self._turn = 0
        self._has_warned = False

    def start(self, offsets: Offsets) -> None:
        pass

    def read(self, start: Offsets, limits: Limits) -> Iterator[tuple[Sequence[Record], OffsetUpdates]]:
        if self._watch is not None:
            self._watch.look()
        # Each stream has its share, so that a stream with a backlog does not delay the others.
        share = max(1, limits.records // max(1, len(self._names)))
        # The next read continues after the last stream read, even if this read ends or fails before all streams had a turn.
        for _ in self._names:
            name = self._names[self._turn]
            self._turn = (self._turn + 1) % len(self._names)
            partition = SourcePartition({"stream": name})
            for records, cursor in self._portions(name, _cursor(start.get(partition)), share):
                yield records, {partition: _offset(cursor)}

    def _portions(self, stream: str, cursor: Cursor | None, limit: int) -> Iterator[tuple[list[Record], Cursor]]:
        """Yield at most about `limit` records of a stream, in portions, each with the cursor after it."""
        call = self.parameters.given(cursor=cursor, stream=stream, limit=limit, **self._fixed)
        portion: list[Record] = []
        handed_on = cursor
        last: Cursor | None = None  # of the last pair with records
        taken, began = 0, time.monotonic()
        pairs = self._pairs(self._function(**call))
        try:
            for records, after in pairs:
                if records:
                    if after == last:
                        self._refuse_shared(after)
                    last = after
                portion += records
                taken, cursor = taken + len(records), after
                if len(portion) >= self.portion or taken >= limit or time.monotonic() - began > _PATIENCE:
                    yield portion, cursor
                    portion, handed_on, began = [], cursor, time.monotonic()
                if taken >= limit:
                    return
        except Exception as e:
            place = "from the beginning" if cursor is None else f"after cursor {cursor!r}"
            e.add_note(f"while reading stream {stream!r} {place}")
            raise
        finally:
            pairs.close()  # run its `finally` immediately, in this thread
        if cursor is not None and (portion or cursor != handed_on):  # pages without records advance the cursor, too
            yield portion, cursor

    def _refuse_shared(self, cursor: Cursor) -> None:
        """Reject two pairs with records and the same cursor: a read may end between them, and continue after the cursor.

        Raises:
            ConnectError: the source delivers exactly once. For other sources, which may read the records of a cursor again,
                a warning is logged instead.
        """
        message = (
            f"{self.parameters.name} yielded records with the cursor {_shown(cursor)}, and then more records with the same "
            "cursor. A cursor covers all records up to it: if reading ends between the two pairs, it continues after the "
            "cursor, and the records of the second pair are lost. Put records that share a cursor into one pair (yield "
            "[record, ...], cursor), or give each record a separate cursor."
        )
        if self._repeats:
            raise ConnectError(message)
        if not self._has_warned:
            log.warning("%s If your function reads the records of a cursor again, ignore this warning.", message)
            self._has_warned = True

    def _pairs(self, given: Any) -> Generator[tuple[Sequence[Record], Cursor]]:
        """Yield the pairs of the function as lists of records with the cursor after them, after checking them.

        Raises:
            TypeError: the function returned or yielded something else.
        """
        name = self.parameters.name
        if not isinstance(given, Iterable) or isinstance(given, (str, Mapping)):
            raise TypeError(f"{name} must yield pairs of a record and a cursor; it returned {_shown(given)}.")
        try:
            for pair in given:
                if not isinstance(pair, tuple) or len(pair) != 2:
                    raise TypeError(f"{name} must yield pairs of a record and a cursor; it yielded {_shown(pair)}.")
                records = [pair[0]] if isinstance(pair[0], Record) else pair[0]
                if not isinstance(records, (list, tuple)) or not all(isinstance(r, Record) for r in records):
                    raise TypeError(f"{name} must yield a Record or a list of them; it yielded {_shown(pair[0])}.")
                if not _is_cursor(pair[1]):
                    raise TypeError(
                        f"{name} must yield a cursor that is a string, a number or a flat map of those; "
                        f"it yielded {_shown(pair[1])}."
                    )
                yield records, pair[1]
        finally:
            if isinstance(given, Generator):
                given.close()


def _is_cursor(cursor: object) -> bool:
    if isinstance(cursor, Mapping):
        # A map with `cursor` as its only field could not be distinguished from a plain cursor when it is read back.
        flat = all(isinstance(n, str) and (v is None or _is_plain(v)) for n, v in cursor.items())
        return flat and bool(cursor) and set(cursor) != {"cursor"}
    return _is_plain(cursor)


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


def _shown(value: object) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 200 else text[:200] + '...'}"


def _cursor(offset: Offset | None) -> Cursor | None:
    if offset is None:
        return None
    return cast("Cursor", offset["cursor"]) if set(offset) == {"cursor"} else dict(offset)


def _offset(cursor: Cursor) -> Offset:
    return dict(cursor) if isinstance(cursor, Mapping) else {"cursor": cursor}
