"""Maven's order of versions and its ranges, which Kafka Connect's plugin versions use (KIP-891). Pure.

`1.0` requests exactly 1.0 (and 1.0.0, which is equal), `[1.2,2.0)` a range, `[1.0],[2.0]` one of two, `latest` any version.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import total_ordering
from typing import Final

from penstock_model.connect.version_order import compare

__all__ = ["Restriction", "Version", "VersionRange", "choose_version"]


_LONGEST: Final = 256
"""Maximum length of a range, as in `spec.version`: without a limit, numbers would take unlimited time."""


@total_ordering
@dataclass(frozen=True, eq=False)
class Version:
    """Version, ordered as in Maven: 1 = 1.0 = 1.0-ga, alpha < beta < rc < snapshot < release < sp."""

    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and compare(self.text, other.text) == 0

    def __lt__(self, other: "Version") -> bool:
        return compare(self.text, other.text) < 0

    __hash__ = None  # type: ignore[assignment]  # equal versions may have different strings

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Restriction:
    """Interval of versions. None means no bound."""

    lower: Version | None
    lower_inclusive: bool
    upper: Version | None
    upper_inclusive: bool

    def __contains__(self, version: Version) -> bool:
        if self.lower is not None and (version < self.lower or (version == self.lower and not self.lower_inclusive)):
            return False
        return self.upper is None or version < self.upper or (version == self.upper and self.upper_inclusive)

    def __str__(self) -> str:
        begin, end = "[" if self.lower_inclusive else "(", "]" if self.upper_inclusive else ")"
        return f"{begin}{self.lower or ''},{self.upper or ''}{end}"


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Versions that a `*.plugin.version` requests."""

    restrictions: tuple[Restriction, ...]

    def __contains__(self, version: object) -> bool:
        return any(Version(str(version)) in r for r in self.restrictions)

    def __str__(self) -> str:
        return ",".join(map(str, self.restrictions))

    @classmethod
    def requested(cls, text: str | None) -> "VersionRange | None":
        """Return the range of a property; None for any version (not set, or exactly `latest`).

        Raises:
            ValueError: the text is not a range; the message is Maven's, except for texts that are too long.
        """
        if text is None or text == "latest":
            return None
        if len(text) > _LONGEST:
            raise ValueError(f"a version range has at most {_LONGEST} characters, but this has {len(text)}")
        text = text.strip()
        return _ranges(text) or _ranges(f"[{text}]")


def choose_version(available: Sequence[str], wanted: VersionRange | None, *, packaged: str | None = None) -> str | None:
    """Return the version of a plugin to run, or None if the range contains none of them.

    Args:
        available: installed versions.
        wanted: range that a configuration requests.
        packaged: for a plugin of a connector, the version that is packaged with the connector. If the range contains it,
            it takes precedence over newer versions, because it was tested with the connector.
    """
    if packaged is not None and packaged in available and (wanted is None or packaged in wanted):
        return packaged
    fitting = [v for v in available if wanted is None or v in wanted]
    return max(reversed(fitting), key=Version) if fitting else None  # the last one of equal versions


def _ranges(spec: str) -> VersionRange | None:
    """Parse ranges; return None for a bare version (VersionRange.createFromVersionSpec)."""
    restrictions: list[Restriction] = []
    rest = spec
    while rest.startswith(("[", "(")):
        end = re.search(r"[\])]", rest)
        if end is None:
            raise ValueError(f"Unbounded range: {spec}")
        restriction = _restriction(rest[: end.end()])
        before = restrictions[-1].upper if restrictions else None
        if before is not None and (restriction.lower is None or restriction.lower < before):
            raise ValueError(f"Ranges overlap: {spec}")
        restrictions.append(restriction)
        rest = rest[end.end() :].strip()
        if rest.startswith(","):
            rest = rest[1:].strip()
    if rest and restrictions:
        raise ValueError(f"Only fully-qualified sets allowed in multiple set scenario: {spec}")
    return VersionRange(tuple(restrictions)) if restrictions else None


def _restriction(spec: str) -> Restriction:
    lower_inclusive, upper_inclusive = spec[0] == "[", spec[-1] == "]"
    lower_text, comma, upper_text = spec[1:-1].strip().partition(",")
    if not comma:
        if not (lower_inclusive and upper_inclusive):
            raise ValueError(f"Single version must be surrounded by []: {spec}")
        exact = Version(lower_text)
        return Restriction(exact, lower_inclusive=True, upper=exact, upper_inclusive=True)
    lower = Version(lower_text.strip()) if lower_text.strip() else None
    upper = Version(upper_text.strip()) if upper_text.strip() else None
    closed = lower_inclusive and upper_inclusive
    if lower is not None and upper is not None and (upper < lower or (upper == lower and not closed)):
        raise ValueError(f"Range defies version ordering: {spec}")
    return Restriction(lower, lower_inclusive, upper, upper_inclusive)
