"""Checks of properties that the source and the sinks share."""

from collections.abc import Iterable, Mapping
from typing import Final
from zoneinfo import ZoneInfo

from penstock import Config, Problem
from penstock.rules import Rule

__all__ = ["ignored", "refused", "time_zone"]


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise ValueError("Unknown time zone; use an IANA name, such as Europe/Berlin") from None
    return name


time_zone: Final = Rule(_known_zone, "the name of a time zone")


def ignored(config: Config, reasons: Mapping[str, str]) -> Iterable[Problem]:
    """Return a warning for each of these properties that is set.

    Args:
        config: the configuration, in which they are open properties.
        reasons: what happens instead, by property.
    """
    for name, reason in reasons.items():
        if "" in config.open_properties(name):
            yield Problem(name, f"has no effect: {reason}")


def refused(config: Config, reasons: Mapping[str, str], as_always: Mapping[str, tuple[str, str]]) -> Iterable[Problem]:
    """Return a problem for each of these properties that is set, unless it is set to the only supported value.

    Args:
        config: the configuration, in which they are open properties.
        reasons: why each is refused.
        as_always: the only supported value of a property, and the reason.
    """
    for name, reason in reasons.items():
        if "" in config.open_properties(name):
            yield Problem(name, f"is not supported: {reason}; remove the property")
    for name, (held, reason) in as_always.items():
        text = config.open_properties(name).get("", held)
        if text.strip().lower() != held:
            yield Problem(name, f"cannot be {text}: {reason}; remove the property")
