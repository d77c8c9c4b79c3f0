"""Read the JSON of a request to alter offsets (KIP-875): `{"offsets": [{"partition": {...}, "offset": {...}}, ...]}`. Pure.

Every entry is checked before the plugin is called or anything is written, and all errors are reported together, with the
messages of Kafka Connect 4.3.1 where it has them (connect-semantics 6). The following are refused in addition, because each
is more likely a mistake than intended: an entry without `offset` (null removes a position), two entries for one partition,
a duplicate field, a number as a string for a sink, and a number that Kafka cannot store exactly.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

from penstock.errors import ConfigError, ConnectError, Problem
from penstock.offsets import Offset, SourcePartition
from penstock.sink import TopicPartition

__all__ = ["read_sink_offsets", "read_source_offsets"]

P = TypeVar("P", bound=Hashable)
O = TypeVar("O")  # noqa: E741 (an offset)
_NOTHING: Final = "Partitions / offsets need to be provided for an alter offsets request"
_ENTRY: Final = ("partition", "offset")
_NO_PARTITION: Final = "The partition for a sink connector offset cannot be null or missing"
_PARTITION_KEYS: Final = (
    "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'"
)
_TOPIC: Final = "Kafka topic names must be valid strings and may not be null"
_OFFSET_KEY: Final = "The offset for a sink connector should either be null or contain the key 'kafka_offset'"
_NUMBER: Final = (
    "Failed to parse the following Kafka {what} value in the provided offsets: '{value}'. {What} values for sink connectors "
    "need to be integers"
)
_LONG: Final = range(-(1 << 63), 1 << 63)
_MOST_NAMED: Final = 20
"""Maximum number of problems in one message; the rest are counted."""


def read_source_offsets(document: str) -> dict[SourcePartition, Offset | None]:
    """Return the new positions of a source, by source partition; None removes a position.

    Raises:
        ConfigError: the document is invalid; every problem of an entry names the entry (`offsets[3].offset`).
    """

    def partition(value: object) -> SourcePartition:
        if value is None:
            raise ConnectError("Partition objects cannot be null")
        return SourcePartition(_flat(value))

    def offset(value: object) -> Offset | None:
        if value is None:
            return None
        fields = _flat(value)
        SourcePartition(fields)  # refuses values that are not flat, in Kafka Connect's words
        return fields

    return _read(document, partition, offset)


def read_sink_offsets(document: str, connector: str) -> dict[TopicPartition, int | None]:
    """Return the new positions of a sink, by Kafka partition; None removes a position.

    Args:
        document: the JSON.
        connector: name in Kafka Connect, for messages.

    Raises:
        ConfigError: as `read_source_offsets`.
    """

    def partition(value: object) -> TopicPartition:
        if value is None:
            raise ConnectError(_NO_PARTITION)
        fields = _fields(value, ("kafka_topic", "kafka_partition"), _PARTITION_KEYS)
        topic, number = fields["kafka_topic"], fields["kafka_partition"]
        if not isinstance(topic, str) or not topic or not _is_text(topic):
            raise ConnectError(_TOPIC)
        if not _is_integer(number) or number < 0 or number >= 1 << 31:
            raise ConnectError(_NUMBER.format(what="partition", What="Partition", value=_shown(number)))
        return TopicPartition(topic, number)

    def offset(value: object) -> int | None:
        if value is None:
            return None
        number = _fields(value, ("kafka_offset",), _OFFSET_KEY)["kafka_offset"]
        if not _is_integer(number) or number not in _LONG:
            raise ConnectError(_NUMBER.format(what="offset", What="Offset", value=_shown(number)))
        if number < 0:
            raise ConnectError(f"Failed to modify offsets for sink connector {connector}: {number} is negative")
        return int(number)

    return _read(document, partition, offset)


def _read(document: str, partition: Callable[[object], P], offset: Callable[[object], O]) -> dict[P, O]:
    problems: list[Problem] = []

    def part(at: str, read: Callable[[object], Any], value: object) -> Any:
        try:
            return read(value)
        except ConnectError as e:
            problems.append(_problem(at, str(e)))
            return problems

    found: dict[P, O] = {}
    places: dict[P, str] = {}
    for number, entry in enumerate(_entries(document)):
        at = f"offsets[{number}]"
        if not isinstance(entry, Mapping):
            problems.append(Problem(at, f"must be an object with partition and offset, not {_kind(entry)}"))
            continue
        unknown = (name for name in entry if name not in _ENTRY)
        problems += (
            _problem(f"{at}.{n}", "is not a field of an entry, which has only partition and offset") for n in unknown
        )
        its_partition = part(f"{at}.partition", partition, entry.get("partition"))
        its_offset: Any = problems
        if "offset" in entry:
            its_offset = part(f"{at}.offset", offset, entry["offset"])
        else:
            problems.append(Problem(f"{at}.offset", "is missing; set a position, or null to remove the existing one"))
        if its_partition is problems:
            continue
        if (earlier := places.setdefault(its_partition, at)) != at:
            problems.append(Problem(f"{at}.partition", f"repeats that of {earlier}; list each partition once"))
        elif its_offset is not problems:
            found[its_partition] = its_offset
    _raise_if(problems)
    return found


def _raise_if(problems: Sequence[Problem]) -> None:
    """Raise ConfigError with the first of these problems and the number of the rest, if there are any."""
    left = len(problems) - _MOST_NAMED
    if problems:
        raise ConfigError([*problems[:_MOST_NAMED], *([Problem("", f"and {left} more problems")] if left > 0 else [])])


def _entries(document: str) -> list[object]:
    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not a JSON number")

    def fields(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):  # Kafka Connect takes the last
            ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
            raise ConfigError(_problem("offsets", f"the field {name} occurs twice in one object"))
        return found

    try:
        whole = json.loads(document, parse_constant=constant, object_pairs_hook=fields)
    except RecursionError:
        raise ConfigError(Problem("offsets", "cannot parse the JSON: it is nested too deeply")) from None
    except ValueError as e:
        raise ConfigError(Problem("offsets", f"cannot parse the JSON: {e}")) from None
    if not isinstance(whole, dict):
        text = f'must be {{"offsets": [{{"partition": {{...}}, "offset": {{...}}}}]}}, not {_kind(whole)}'
        raise ConfigError(Problem("offsets", text))
    unknown = sorted(whole.keys() - {"offsets"})
    _raise_if(
        [_problem(name, "is not a field of a request to alter offsets; the only field is offsets") for name in unknown]
    )
    entries = whole.get("offsets")
    if entries is None or entries == []:
        raise ConfigError(Problem("offsets", _NOTHING))
    if not isinstance(entries, list):
        raise ConfigError(Problem("offsets", f"must be a list of partitions and offsets, not {_kind(entries)}"))
    return entries


def _problem(at: str, message: str) -> Problem:
    """Return a problem; a lone surrogate, which UTF-8 cannot encode, is escaped."""
    return Problem(_printable(at), _printable(message))


def _printable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def _fields(value: object, names: tuple[str, ...], words: str) -> dict[str, Any]:
    """Return the fields of a part of a sink's entry, which must have exactly these names."""
    if not isinstance(value, dict) or not value.keys() >= set(names):
        raise ConnectError(words)
    if unknown := sorted(value.keys() - set(names)):
        raise ConnectError(f"{words}, and no others: {', '.join(unknown)}")
    return value


def _flat(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConnectError(f"must be an object, not {_kind(value)}")
    for name, field in value.items():
        if not all(_is_text(part) for part in (name, field) if isinstance(part, str)):
            raise ConnectError(f"field {name}: must not contain a lone surrogate")
        if isinstance(field, int) and field not in _LONG:
            raise ConnectError(f"field {name}: {_shown(field)} does not fit into 64 bits")
        if isinstance(field, float) and not math.isfinite(field):
            raise ConnectError(f"field {name}: the number does not fit into a 64-bit floating-point number")
    return value


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _kind(value: object) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return "a string" if isinstance(value, str) else "a number"


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
