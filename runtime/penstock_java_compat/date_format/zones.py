"""Time zones by their English names in Java 17, with the rules of the machine's time zone database."""

import re
from dataclasses import dataclass, field
from datetime import UTC as DATETIME_UTC
from datetime import datetime, timedelta, timezone, tzinfo
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock_java_compat.calendar import DAY
from penstock_java_compat.date_format.letters import folded
from penstock_java_compat.date_format.zone_names import ZONES

__all__ = ["UTC", "Zone", "named_zone", "rules_are_there"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=DATETIME_UTC)
_WALL_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 (a local time in any zone)
_MILLI: Final = timedelta(milliseconds=1)
_FIRST: Final = -2_208_988_800_000  # 1900: Java has no rules before
_LAST: Final = 253_370_764_800_000  # the year 9999, the last of `datetime`
_CYCLE: Final = 146_097 * DAY  # 400 years, after which weekdays and leap years repeat


@dataclass(frozen=True, eq=False)
class Zone:
    """Time zone. Offsets are in milliseconds, positive east of UTC; the second of a pair is the summer time part."""

    key: str
    names: tuple[str, str, str, str]
    """Long and short name, then both for summer."""
    saving: int = 0
    """Minutes that summer time adds today."""
    _folded: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_folded", tuple(map(folded, self.names)))

    def name(self, *, summer: bool, long: bool) -> str:
        """Return one of the zone's names."""
        return self.names[2 * summer + (not long)]

    def named_at(self, text: str, start: int) -> int:
        """Return the index (0 to 3) of the name at a position of folded text; -1 if there is none."""
        return next((i for i, name in enumerate(self._folded) if text.startswith(name, start)), -1)

    def offset_at(self, millis: int) -> tuple[int, int]:
        """Return the total offset at an instant, and the summer time part of it."""
        if millis < _FIRST:
            return self._before_rules()
        return self._split((_EPOCH + timedelta(milliseconds=_within(millis))).astimezone(_rules(self.key)))

    def offset_by_wall(self, millis: int) -> tuple[int, int]:
        """Return the offsets, as `offset_at`, for a local time; the later offset if the local time occurs twice or never."""
        if millis - self._before_rules()[0] < _FIRST:
            return self._before_rules()
        wall = (_WALL_EPOCH + timedelta(milliseconds=_within(millis))).replace(tzinfo=_rules(self.key))
        return min(self._split(wall), self._split(wall.replace(fold=1)))

    def _before_rules(self) -> tuple[int, int]:
        offset, summer = self._split(datetime(2037, 1, 1, tzinfo=_rules(self.key)))
        return offset - summer, 0

    def _split(self, moment: datetime) -> tuple[int, int]:
        offset, summer = moment.utcoffset(), moment.dst()
        if offset is None:
            return 0, 0
        whole, part = offset // _MILLI, (summer or timedelta()) // _MILLI
        if self.key == "Europe/Dublin" and whole >= 0 and moment.year > 1967:
            part = whole  # in the database, summer time is this zone's standard time, and winter time is negative
        return whole, part


UTC: Final = Zone("UTC", ("Coordinated Universal Time", "UTC", "Coordinated Universal Time", "UTC"))
"""Initial zone of formats."""


def _within(millis: int) -> int:
    return millis if millis < _LAST else _LAST - _CYCLE + (millis - _LAST) % _CYCLE


@cache
def _rules(key: str) -> tzinfo:
    if key[:3] in ("UTC", "GMT"):
        return timezone(timedelta(hours=int(key[3:] or "0")))
    return ZoneInfo(key)


def rules_are_there() -> bool:
    """Return whether this machine has a time zone database."""
    try:
        _rules("America/Los_Angeles")
    except ZoneInfoNotFoundError:
        return False
    return True


def named_zone(text: str, start: int, current: Zone) -> tuple[Zone, int] | None:
    """Return the zone whose name is at a position of the text, and the index of the name; None if there is none.

    Args:
        text: folded text.
        start: position of the name.
        current: zone whose names are tried first; the others follow in Java's order, and the first match wins.
    """
    for zone in (current, UTC):
        name = zone.named_at(text, start)
        if name >= 0:
            return zone, name
    zones, names = _all()
    found = names.match(text, start)
    if found is None or found.lastindex is None:
        return None
    row, name = divmod(found.lastindex - 1, 4)
    return zones[row], name


@cache
def _all() -> tuple[tuple[Zone, ...], re.Pattern[str]]:
    zones = []
    for line in ZONES.strip().splitlines():
        key, minutes, *names = line.split("|")
        zones.append(Zone(key, tuple(names), int(minutes)))  # type: ignore[arg-type]
    pattern = "|".join(f"({re.escape(folded(name))})" for zone in zones for name in zone.names)
    return tuple(zones), re.compile(pattern)
