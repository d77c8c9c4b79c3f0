"""Checks of the values that a plugin returns. Errors name the class, the method and the expected type.

Each check runs once per call or portion, not per record. Messages contain types and counts, never data of a record.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from numbers import Integral
from typing import Any, Final, TypeVar, cast

import msgspec

from penstock._named_parameters import NamedParameters
from penstock._unread import UnreadTimestamps
from penstock.batch import RecordBatch
from penstock.errors import ConnectError, Problem
from penstock.offsets import OffsetUpdates, SourcePartition
from penstock.record import Header, Record
from penstock.schema import Schema
from penstock.sink import TopicPartition
from penstock.source import InputPartition, TransactionEnd, record_batches

__all__ = [
    "ReturnedWrong",
    "batch",
    "check_plain",
    "instance",
    "iterable",
    "message",
    "name",
    "offsets",
    "parts",
    "portion",
    "portions",
    "positions",
    "problems",
    "read",
    "records",
    "reported",
    "schemas",
    "task_properties",
    "written",
    "wrong",
]

T = TypeVar("T")
_NONE: Final = type(None)
_TELL: Final = "Tell the plugin's author"
_COLUMNS: Final[tuple[tuple[str, tuple[type, ...], str], ...]] = (
    ("topic", (str, _NONE), "a string or None"),
    ("partition", (Integral, _NONE), "an integer, or None to let Kafka's partitioner choose"),
    (
        "held_timestamp",
        (Integral, _NONE, UnreadTimestamps),
        "milliseconds since 1970 as an integer (use Instant.of for a datetime), or None",
    ),
    ("key_schema", (Schema, _NONE), "a Schema or None"),
    ("value_schema", (Schema, _NONE), "a Schema or None"),
)


class ReturnedWrong(ConnectError):
    """A plugin returned a value that violates the contract of its method."""


def wrong(method: str, given: object, expected: str, where: str = "") -> ReturnedWrong:
    """Return the error for an invalid value that a method returned."""
    return ReturnedWrong(f"{method} returned {_kind(given)}{where}; expected {expected}. {_TELL}")


def name(of: object, method: str, alias: str | None = None) -> str:
    """Return `Class.method` or `Alias.method` for messages; for a plugin created from a function, the function's name."""
    parameters = getattr(of, "parameters", None)
    return parameters.name if isinstance(parameters, NamedParameters) else f"{alias or type(of).__qualname__}.{method}"


def instance(found: T, kinds: tuple[type, ...], method: str) -> T:
    """Check that an object is an instance of one of these classes, and return it.

    Raises:
        ReturnedWrong: the object has another type.
    """
    if not isinstance(found, kinds):
        raise wrong(method, found, " or ".join(f"a {kind.__name__}" for kind in kinds))
    return found


def iterable(found: Any, method: str, expected: str) -> Iterator[Any]:
    """Return an iterator over the value that a method returned.

    Raises:
        ReturnedWrong: the value is not iterable, or is a string, bytes or a mapping.
    """
    if isinstance(found, (str, bytes, Mapping)) or not isinstance(found, Iterable):
        raise wrong(method, found, expected)
    return iter(found)


def reported(record: object, error: object) -> tuple[Record, Exception]:
    """Check the arguments that a writer passed to `report`, and return them.

    Raises:
        TypeError: they are not a record and an exception.
    """
    if isinstance(record, Record) and isinstance(error, Exception):
        return record, error
    given = " and ".join(f"the class {a.__qualname__}" if isinstance(a, type) else _kind(a) for a in (record, error))
    raise TypeError(
        'report takes a Record and an exception that states the reason, such as report(record, DataError("...")); '
        f"it was called with {given}"
    )


def offsets(found: Any, method: str) -> OffsetUpdates:
    """Check source offsets by source partition, and return them.

    Raises:
        ReturnedWrong: they are not a mapping of source partitions to flat mappings.
    """
    expected = "a mapping of SourcePartition to an offset (a flat mapping of strings, numbers, booleans, None)"
    if not isinstance(found, Mapping):
        raise wrong(method, found, f"{expected}, or an empty mapping if there is no new data")
    for partition, offset in found.items():
        if not isinstance(partition, SourcePartition):
            raise wrong(method, partition, expected, " as a source partition")
        at = f" as the offset of source partition {dict(partition)}"
        if offset is None:
            continue
        if not isinstance(offset, Mapping):
            raise wrong(method, offset, expected, at)
        for field, value in offset.items():
            if not (isinstance(field, str) and (value is None or isinstance(value, (str, int, float)))):
                raise wrong(method, value, expected, f" in the field {field!r} of the offset of {dict(partition)}")
    return cast("OffsetUpdates", found)


def portion(found: Any, method: str) -> tuple[RecordBatch | Sequence[Record], OffsetUpdates, TransactionEnd | None]:
    """Check a portion of a polling source, and return its records, the offsets after them and the `TransactionEnd` or None.

    Raises:
        ReturnedWrong: the portion is not a pair, with or without a `TransactionEnd`, or the offsets are invalid.
    """
    if not (isinstance(found, tuple) and len(found) in (2, 3)):
        raise wrong(method, found, "a pair of records and the source offsets after them")
    end = found[2] if len(found) == 3 else None
    if not (end is None or isinstance(end, TransactionEnd)):
        raise wrong(method, end, "a TransactionEnd or None", " as the third element of a portion")
    return found[0], offsets(found[1], method), end


def parts(found: Any, method: str) -> list[InputPartition]:
    """Check the input partitions of a batch, and return them.

    Raises:
        ReturnedWrong: they are not a list of valid input partitions.
    """
    made = list(iterable(found, method, "a list of InputPartition"))
    for part in made:
        if not isinstance(part, InputPartition):
            raise wrong(method, part, "an InputPartition", " in its list")
        _sendable(part.data, method)
        offsets(part.offsets, f"{method} (InputPartition.offsets)")
    return made


def _sendable(data: Any, method: str) -> None:
    """Check the data of an input partition, whose reader may run in another process.

    Raises:
        ReturnedWrong: the data is not a mapping, or contains types that cannot be sent to another process.
    """
    expected = "a mapping of strings to plain data"
    if not isinstance(data, Mapping):
        raise wrong(method, data, expected, " as InputPartition.data")
    for field, value in data.items():
        if not isinstance(field, str):
            raise wrong(method, field, expected, " as a key of InputPartition.data")
        if (fault := _fault_of((field, value))) is not None:
            raise ReturnedWrong(
                f"{method} returned an InputPartition that cannot be sent to a worker because of the key {field!r} of its "
                f"data: {fault}. {_TELL}"
            ) from fault


def portions(found: Any, method: str, where: Callable[[], str]) -> Iterator[RecordBatch]:
    """Yield the portions of a reader as record batches, after checking them. Empty portions are omitted.

    Args:
        found: the value that `method` returned.
        method: the method, for messages.
        where: returns the source partitions and offsets of the records, for messages.

    Raises:
        ReturnedWrong: a portion contains anything but records, or a record whose topic, timestamp, ... has an invalid type.
    """
    expected = "an iterator of RecordBatch or lists of Record"

    def checked() -> Iterator[RecordBatch | Sequence[Record]]:
        for portion in iterable(found, method, expected):
            if not isinstance(portion, RecordBatch):
                if isinstance(portion, (str, bytes, Mapping)) or not isinstance(portion, Sequence):
                    raise wrong(method, portion, expected, f" in a portion{where()}")
                records(portion, method, "a Record", where)
            yield portion

    for made in record_batches(checked()):
        yield batch(made, method, where)


def records(found: Sequence[Record], method: str, expected: str, where: Callable[[], str] = str) -> None:
    """Check that all elements are records.

    Raises:
        ReturnedWrong: an element is not a record.
    """
    for kind in set(map(type, found)):
        if not issubclass(kind, Record):
            raise wrong(method, kind, expected, f" as a record{where()}")


def batch(found: Any, method: str, where: Callable[[], str] = str, before: RecordBatch | None = None) -> RecordBatch:
    """Check the types and lengths of the columns of a batch, and return it.

    Args:
        found: the batch.
        method: the method, for messages.
        where: returns the location of the records, for messages.
        before: a batch that has been checked; columns that both share are not checked again.

    Raises:
        ReturnedWrong: the value is not a batch, or a column is invalid.
    """
    if not isinstance(found, RecordBatch):
        raise wrong(method, found, "a RecordBatch")
    for column, kinds, expected in _COLUMNS:
        cells = getattr(found, column)
        if before is not None and cells is getattr(before, column):
            continue
        for kind in set(map(type, cells)) if isinstance(cells, list) else (type(cells),):
            if not issubclass(kind, kinds):
                raise wrong(method, kind, expected, f" as the {_shown(column)} of a record{where()}")
    headers = found.held_headers
    if isinstance(headers, list) and (before is None or headers is not before.held_headers):
        for kind in set(map(type, headers)):
            if not issubclass(kind, (tuple, list)):
                raise wrong(method, kind, "a tuple of Header objects", f" as the headers of a record{where()}")
        for kind in set(map(type, chain.from_iterable(headers))):
            if not issubclass(kind, Header):
                raise wrong(method, kind, "a Header", f" as a header of a record{where()}")
    return _of_one_length(found, method, where)


def _of_one_length(found: RecordBatch, method: str, where: Callable[[], str]) -> RecordBatch:
    columns = ("topic", "partition", "held_timestamp", "key", "key_schema", "value_schema", "held_headers")
    lists = {column: getattr(found, column) for column in columns}
    if found.fields is None:
        lists["value"] = found.value
    for column, cells in lists.items():
        if isinstance(cells, (list, UnreadTimestamps)) and len(cells) != found.length:
            raise ReturnedWrong(
                f"{method} returned a batch of {found.length} records whose column {column.removeprefix('held_')} has "
                f"length {len(cells)}{where()}. {_TELL}"
            )
    return found


def _shown(column: str) -> str:
    return column.removeprefix("held_").replace("_", " ")


def positions(found: Any, method: str) -> Mapping[TopicPartition, int]:
    """Check the Kafka offsets by topic partition that a sink returned, and return them.

    Raises:
        ReturnedWrong: they are not a mapping of topic partitions to offsets.
    """
    expected = "a Kafka offset (a non-negative integer)"
    if not isinstance(found, Mapping):
        raise wrong(method, found, f"a mapping of TopicPartition to {expected}, or an empty mapping")
    for partition, offset in found.items():
        if not (isinstance(partition, tuple) and len(partition) == 2):
            raise wrong(method, partition, "a TopicPartition", " as a topic partition")
        at = f"{partition[0]}-{partition[1]}"
        if not isinstance(offset, Integral):
            raise wrong(method, offset, expected, f" as the offset of {at}")
        if offset < 0:
            raise ReturnedWrong(f"{method} returned the offset {offset} of {at}; expected {expected}. {_TELL}")
    return cast("Mapping[TopicPartition, int]", found)


def message(found: Any, method: str, where: Callable[[], str] = str) -> Any:
    """Check the message of a writer for `Sink.commit`, which may run in another process, and return it.

    Args:
        found: the message.
        method: the method that returned it.
        where: returns the location of the records that the message is about, for errors.

    Raises:
        ReturnedWrong: the message contains types that cannot be sent to another process.
    """
    if (fault := _fault_of(found)) is not None:
        raise ReturnedWrong(
            f"{method} returned a message for `Sink.commit` that a worker cannot send{where()}: {fault}. {_TELL}"
        ) from fault
    return found


def _fault_of(data: Any) -> Exception | None:
    """Return the reason why data cannot be sent to another process, or None."""
    try:
        check_plain(data)
        msgspec.msgpack.encode(data)
    except (
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as e:  # another type, a lone surrogate, more than 64 bits
        return e
    return None


def check_plain(data: Any) -> None:
    """Check that data consists of types that can be sent to another process.

    Raises:
        TypeError: the data contains another type.
    """
    match data:
        case None | bool() | int() | float() | str() | bytes():
            pass
        case list() | tuple():
            for part in data:
                check_plain(part)
        case dict():
            for key, part in data.items():
                check_plain(key)
                check_plain(part)
        case _:
            raise TypeError(
                f"{type(data).__name__} cannot be sent to another process; use strings, numbers, bytes, lists and dicts"
            )


def written(found: Any, length: int, method: str) -> list[bytes | None]:
    """Check that a converter returned bytes or None for each value of a column, and return them as a list.

    Raises:
        ReturnedWrong: an element has another type, or the number of elements is wrong.
    """
    expected = "bytes or None for each value"
    made = found if isinstance(found, list) else list(iterable(found, method, expected))
    for kind in set(map(type, made)):
        if not issubclass(kind, (bytes, _NONE)):
            raise wrong(method, kind, expected)
    if len(made) != length:
        raise ReturnedWrong(f"{method} returned {len(made)} messages for {length} values. {_TELL}")
    return made


def read(found: Sequence[Any], method: str) -> None:
    """Check that a converter returned a pair of a schema and a value for each message.

    Raises:
        ReturnedWrong: an element is not such a pair.
    """
    expected = "a pair of a Schema or None, and a value"
    for kind in set(map(type, found)):
        if not issubclass(kind, tuple):
            raise wrong(method, kind, expected)
    for number in set(map(len, found)):
        if number != 2:
            raise ReturnedWrong(f"{method} returned {number} values; expected {expected}. {_TELL}")
    schemas([pair[0] for pair in found], len(found), method)


def schemas(found: Any, length: int, method: str) -> None:
    """Check that the value is one schema for all values, or a list with a schema for each value.

    Raises:
        ReturnedWrong: the value has another type, or the list another length.
    """
    for kind in set(map(type, found)) if isinstance(found, list) else (type(found),):
        if not issubclass(kind, (Schema, _NONE)):
            raise wrong(method, kind, "a Schema or None", " as a schema")
    if isinstance(found, list) and len(found) != length:
        raise ReturnedWrong(f"{method} returned {len(found)} schemas for {length} messages. {_TELL}")


def problems(found: Any, method: str) -> list[Problem]:
    """Check the problems that a connector returned, and return them as a list.

    Raises:
        ReturnedWrong: an element is not a `Problem`.
    """
    expected = "a list of Problem, or an empty list if there are none"
    made = list(iterable(found, method, expected))
    for problem in made:
        if not isinstance(problem, Problem):
            raise wrong(method, problem, expected, " in its list")
    return made


def task_properties(found: Any, method: str) -> list[Mapping[str, str]]:
    """Check the properties of each task, and return them as a list.

    Raises:
        ReturnedWrong: they are not a list of mappings of strings to strings.
    """
    expected = "a list with a mapping of strings to strings for each task"
    tasks = list(iterable(found, method, expected))
    for number, properties in enumerate(tasks):
        if not isinstance(properties, Mapping):
            raise wrong(method, properties, expected, f" for task {number}")
        for field, text in properties.items():
            if not (isinstance(field, str) and isinstance(text, str)):
                raise wrong(method, text, expected, f" for the property {field!r} of task {number}")
    return tasks


def _kind(given: Any) -> str:
    """Describe the type of a value. A class is described like its instances."""
    if given is None or given is _NONE:
        return "None"
    kind = given if isinstance(given, type) else type(given)
    return f"a value of type {kind.__qualname__}"
