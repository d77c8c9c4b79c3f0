"""Whether Kafka Connect and Penstock agree about a case, and where they part."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.words import words

from .. import codec
from .answers import Answer, Raised, answers

__all__ = ["Difference", "difference", "plugins"]

Json = Any


@dataclass(frozen=True)
class Difference:
    """A case about which the two do not agree.

    Attributes:
        case: as it was asked.
        expected: Kafka Connect's answer.
        made: Penstock's, of the record (or message) that differs.
        way: how the engine went (`answers`).
        record: which record.
        place: where the answers part, by names of attributes only, such as `record.value.schema.optional`; for errors
            what either side raised.
    """

    case: Mapping[str, Any]
    expected: Json
    made: Json
    way: str
    record: int
    place: str

    @property
    def signature(self) -> tuple[frozenset[str], str]:
        """Cases of one defect have this in common, mostly: the plugins and the place."""
        return plugins(self.case), self.place

    def shown(self) -> str:
        """For people: the case as the folder of cases has it, and what was made instead."""
        whole = json.dumps({**self.case, "expected": self.expected})
        return (
            f"Kafka Connect and Penstock differ in {self.place} ({', '.join(sorted(plugins(self.case)))}; "
            f"record {self.record + 1}, {self.way}):\n{whole}\nPenstock's answer:\n{json.dumps(self.made)}"
        )


def plugins(case: Mapping[str, Any]) -> frozenset[str]:
    """The simple names of the plugins of a case, and of the direction of a converter."""
    if "source" in case:
        return frozenset({f"{case['source']} {'writes' if 'data' in case['input'] else 'reads'}"})
    types = (text for name, text in case["config"].items() if name.endswith(".type") and "." in (text or ""))
    return frozenset(t.strip().rpartition(".")[2].partition("$")[0] for t in types)


def difference(case: Mapping[str, Any], expected: Json) -> Difference | None:
    """The first difference, or None."""
    for way, made in answers(case):
        for record, (mine, theirs) in enumerate(_paired(made, expected)):
            place = _place(mine, theirs)
            if place is not None:
                return Difference(
                    case, expected, mine.shown() if isinstance(mine, Raised) else mine, way, record, place
                )
    return None


def _paired(made: Sequence[Answer], expected: Json) -> Iterator[tuple[Answer, Json]]:
    if "results" not in expected:  # an error of the configuration, or a converter
        yield made[0], expected
    elif isinstance(made[0], Raised) and made[0].phase == "config":
        yield made[0], expected["results"][0]
    else:
        yield from zip(made, expected["results"], strict=True)


def _place(mine: Answer, theirs: Json) -> str | None:
    error = theirs.get("error")
    if isinstance(mine, Raised):
        if error is None:
            return f"{type(mine.error).__name__} at {mine.phase} instead of a result"
        if mine.is_like(error):
            return None
        return f"{type(mine.error).__name__} at {mine.phase} instead of {error['class']} at {error['phase']}"
    if error is not None:
        return f"a result instead of {error['class']} at {error['phase']}"
    return _parting(mine, codec.normal({n: part for n, part in theirs.items() if n not in ("json", "text")}))


def _parting(mine: Json, theirs: Json) -> str | None:
    """The attributes on the way to the first part that differs."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        if mine.keys() != theirs.keys():
            tags = sorted(k for k in mine.keys() ^ theirs.keys() if k.startswith("$") or k in _ATTRIBUTES)
            return "/".join(tags) or "names"
        parted = ((k, _parting(mine[k], theirs[k])) for k in mine)
    elif isinstance(mine, list) and isinstance(theirs, list):
        if len(mine) != len(theirs):
            return "length"
        parted = (("", _parting(m, t)) for m, t in zip(mine, theirs, strict=True))
    else:
        return None if _same(mine, theirs) else "value"
    for name, below in parted:
        if below is not None:
            return f"{name}.{below}" if name in _ATTRIBUTES or name.startswith("$") else below
    return None


_ATTRIBUTES = frozenset(
    words("""
    record topic partition key value headers timestamp schema type optional name version doc parameters default items
    keys values fields data bytes
    """)
)


def _same(mine: Json, theirs: Json) -> bool:
    """1, 1.0 and true are three things, and so are 0.0 and -0.0."""
    return type(mine) is type(theirs) and repr(mine) == repr(theirs)
