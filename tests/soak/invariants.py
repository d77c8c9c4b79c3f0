"""What holds whatever was done: functions over what was read from Kafka, from files, from logs. Pure.

Each gives a sentence for every breach, in few words, and nothing when all is well. Records are numbers: record n of stream
p is the n-th that the world wrote there, from 0.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

__all__ = [
    "Counters",
    "Sample",
    "Standstill",
    "at_least_once",
    "clients_are_closed",
    "committed_is_written",
    "counters_agree",
    "exactly_once",
    "first_wins",
    "groups_are_ours",
    "logs_are_clean",
    "no_gap",
    "no_lag",
    "nothing_left",
    "only_lost",
]

_MOST: Final = 5
"""Breaches of a kind that are told; the rest is counted."""
_MOST_CLIENTS: Final = 7
"""Of one process: a task has three or four, and one more for a moment where it asks something, or writes dead letters."""

Streams = Mapping[int, Sequence[int]]
"""Stream -> its records as they were found, in the order in which they lie there."""


# Records


def exactly_once(found: Streams, sent: Mapping[int, int]) -> list[str]:
    """Each record of each stream once, in order: 0 to `sent` - 1."""
    return _each(found, sent, once=True)


def at_least_once(found: Streams, sent: Mapping[int, int]) -> list[str]:
    """No record is missing, and those that came first stand in order."""
    return _each(found, sent, once=False)


def no_gap(found: Streams) -> list[str]:
    """What is there of each stream is its beginning, at least once: whatever came after the last one may be lost."""
    return at_least_once(found, {s: 1 + max(numbers, default=-1) for s, numbers in found.items()})


def only_lost(
    found: Streams, sent: Mapping[int, int], may_be: Callable[[int, int], bool], counted: int, *, once: bool = True
) -> list[str]:
    """In order, and each record once (at least once: those that came first), but for those that may be lost.

    As many of these are counted as are missing.
    """
    there = {p: set(numbers) for p, numbers in found.items()}
    lost = {p: [n for n in range(count) if n not in there.get(p, ())] for p, count in sent.items()}
    wrong = [
        f"stream {p}: {len(never)} lost that fit ({_spans(never)})"
        for p, numbers in sorted(lost.items())
        if (never := [n for n in numbers if not may_be(p, n)])
    ]
    for p, numbers in sorted(found.items()):
        if (list(numbers) if once else first_wins(numbers)) != sorted(there[p]):
            wrong.append(f"stream {p}: {len(numbers) - len(there[p])} again, or out of order")
    missing = sum(map(len, lost.values()))
    if missing != counted:
        wrong.append(f"{missing} records are missing, {counted} are counted as failures")
    return _few(wrong)


def first_wins(numbers: Iterable[int]) -> list[int]:
    """Without what comes again."""
    return list(dict.fromkeys(numbers))


def _each(found: Streams, sent: Mapping[int, int], *, once: bool) -> list[str]:
    wrong = [f"stream {p}: {len(found[p])} records, and nobody wrote it" for p in sorted(found) if p not in sent]
    for stream, count in sorted(sent.items()):
        numbers = list(found.get(stream, ()))
        seen = numbers if once else first_wins(numbers)
        if seen != list(range(count)):
            wrong.append(_told(stream, numbers, seen, count))
    return _few(wrong)


def _told(stream: int, numbers: Sequence[int], seen: Sequence[int], count: int) -> str:
    known = set(numbers)
    lost = [n for n in range(count) if n not in known]
    strange = sorted(n for n in known if n >= count or n < 0)
    place = next((i for i, n in enumerate(seen) if n != i), len(seen))
    around = list(seen[max(0, place - 3) : place + 4])
    parts = [
        f"{len(lost)} lost ({_spans(lost)})" if lost else "",
        f"{len(numbers) - len(known)} again" if len(numbers) > len(known) else "",
        f"{len(strange)} that were never written ({_spans(strange)})" if strange else "",
        "" if list(seen) == sorted(seen) else "out of order",
    ]
    told = ", ".join(p for p in parts if p)
    return f"stream {stream}: of {count} records {told}; row {place} is wrong: {around}"


def _spans(numbers: Sequence[int]) -> str:
    """`3 to 7, 9`: which they are, the first few spans of them."""
    if not numbers:
        return ""
    spans, begin = [], numbers[0]
    for a, b in pairwise([*numbers, numbers[-1] + 2]):
        if b != a + 1:
            spans.append(f"{begin}" if begin == a else f"{begin} to {a}")
            begin = b
    return ", ".join(spans[:_MOST]) + (f" and {len(spans) - _MOST} spans more" if len(spans) > _MOST else "")


# Sinks


def committed_is_written(committed: Mapping[int, int], written: Mapping[int, Collection[int]]) -> list[str]:
    """Every record before a committed offset lies outside. `written` is read after `committed`."""
    wrong = []
    for partition, offset in sorted(committed.items()):
        there = written.get(partition, ())
        lost = [n for n in range(offset) if n not in there]
        if lost:
            wrong.append(f"partition {partition}: offset {offset} is committed, {_spans(lost)} not written")
    return _few(wrong)


def no_lag(committed: Mapping[int, int], ends: Mapping[int, int]) -> list[str]:
    """Once all has settled, the group stands at the end of each partition."""
    return _few(
        [
            f"partition {p}: the group stands at {committed.get(p)}, the end is {end}"
            for p, end in sorted(ends.items())
            if end and committed.get(p) != end
        ]
    )


# Tasks


@dataclass(frozen=True, slots=True)
class Sample:
    """A look at a world.

    Attributes:
        at: seconds of the machine.
        moved: what had been delivered by then.
        work: there is something to do.
        hindered: something that the plan does to the world is still going on.
    """

    at: float
    moved: int
    work: bool
    hindered: bool


class Standstill:
    """There is never work that nobody hinders, and no progress, for longer than the bound, in seconds of the machine."""

    def __init__(self, bound: float) -> None:
        self._bound = bound
        self._since: Sample | None = None

    def take(self, now: Sample) -> list[str]:
        """The next look."""
        since = self._since
        if since is None or now.hindered or not now.work or now.moved != since.moved:
            self._since = now
        elif now.at - since.at > self._bound:
            return [f"nothing moved for {now.at - since.at:.0f} s: {now.moved} are delivered, and there is work"]
        return []


@dataclass(frozen=True, slots=True)
class Counters:
    """What a task says that it did."""

    read: int
    written: int
    failures: int
    dropped: int


def counters_agree(task: str, counters: Counters) -> list[str]:
    """What was read was dropped, failed or written."""
    c = counters
    if c.written + c.failures == c.read - c.dropped:
        return []
    return [f"task {task}: {c.written} written + {c.failures} failed is not {c.read} read - {c.dropped} dropped"]


def nothing_left(processes: Sequence[str], files: Sequence[str]) -> list[str]:
    """When everything has ended, no process and no temporary file of it is there."""
    return [*_few([f"process left: {p}" for p in processes]), *_few([f"file left: {f}" for f in files])]


def clients_are_closed(clients: Mapping[str, int]) -> list[str]:
    """A process has few Kafka clients, however often those before had to be made anew. `clients`: process -> how many."""
    return _few([f"{n} Kafka clients: {process}" for process, n in clients.items() if n > _MOST_CLIENTS])


def groups_are_ours(found: Mapping[str, int], expected: Collection[str]) -> list[str]:
    """When everything has ended, there are no groups but those of sinks, and they have no members."""
    return [
        *_few([f"group left: {name}" for name in sorted(found) if name not in expected]),
        *_few([f"group {name} has {n} members" for name, n in sorted(found.items()) if n]),
    ]


# Logs

_PRINTED: Final = ("output.stdout", "output.stderr", "stderr")
_TRACE: Final = "Traceback (most recent call last)"
_FOREIGN: Final = re.compile(
    r"\bcimpl\.KafkaException|\bKafkaException: KafkaError\{|\bKafkaError\{code=|py4j\.protocol\."
)


def logs_are_clean(
    lines: Iterable[str], secrets: Collection[str], *, accepted: Sequence[str] = (), others_write: bool = False
) -> list[str]:
    """Every line is an object, none holds a secret, a trace of Python outside a failure, or another library's exception.

    `accepted` are texts of entries that are known to be wrong, each with an issue of its own. `others_write`: Java's own
    words stand there too, as in a pod.
    """
    wrong = []
    for line, entry in _entries(lines):
        text = f"{entry.get('message', '')}"
        if any(s in line for s in secrets):
            wrong.append(f"a secret is in the log: {line[:300]}")
        elif any(a in line for a in accepted) or (not entry and others_write):
            continue
        elif not entry:
            wrong.append(f"no line of the log, but: {line[:300]}")
        elif _TRACE in text or _FOREIGN.search(text):
            wrong.append(f"another library's exception is in the log: {text[-900:]}")
        elif _TRACE in f"{entry.get('trace', '')}" and entry.get("logger") != "penstock_runtime.task":
            wrong.append(f"an exception that nobody caught is in the log: {line[:900]}")
    return _few(_first_of_a_kind(wrong))


def _entries(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each entry with its text; what was printed line by line is one. An empty one is no entry, but some other text."""
    printed: list[str] = []
    last: dict[str, Any] = {}
    for line in lines:
        if not line.strip():
            continue
        try:
            entry = dict(json.loads(line))
        except (TypeError, ValueError):
            entry = {}
        if entry.get("logger") in _PRINTED:
            printed.append(f"{entry.get('message', '')}")
            last = entry
            continue
        if printed:
            text = "\n".join(printed)
            yield text, {**last, "message": text}
            printed = []
        yield line, entry
    if printed:
        text = "\n".join(printed)
        yield text, {**last, "message": text}


def _first_of_a_kind(texts: Iterable[str]) -> list[str]:
    """Those that differ in more than their numbers."""
    return list({re.sub(r"[0-9a-f]*[0-9][0-9a-f]*", "0", t)[:200]: t for t in texts}.values())


def _few(wrong: list[str]) -> list[str]:
    return wrong if len(wrong) <= _MOST else [*wrong[:_MOST], f"and {len(wrong) - _MOST} more like it"]
