"""Checks of properties that the source and the sinks share."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from penstock import Config, ConfigError, Problem
from penstock.rules import Rule

__all__ = ["at_once", "ignored", "refused", "time_zone"]


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise ValueError("There is no such time zone; write an IANA name, such as Europe/Berlin") from None
    return name


time_zone: Final = Rule(_known_zone, "the name of a time zone")


def ignored(config: Config, reasons: Mapping[str, str]) -> Iterable[Problem]:
    """Return a warning for each of these properties that is set.

    Args:
        config: has them as open properties.
        reasons: what happens instead.
    """
    for name, reason in reasons.items():
        if "" in config.open_properties(name):
            yield Problem(name, f"has no effect: {reason}")


def refused(config: Config, reasons: Mapping[str, str], as_always: Mapping[str, tuple[str, str]]) -> Iterable[Problem]:
    """Return a problem for each of these properties that is set, unless it says what holds anyway.

    Args:
        config: has them as open properties.
        reasons: why each is refused.
        as_always: what holds, and the reason.
    """
    for name, reason in reasons.items():
        if "" in config.open_properties(name):
            yield Problem(name, f"is not supported: {reason}. Take it out.")
    for name, (held, reason) in as_always.items():
        text = config.open_properties(name).get("", held)
        if text.strip().lower() != held:
            yield Problem(name, f"cannot be {text}: {reason}. Take it out.")


def at_once(
    cls: type[Config], given: Any, validate: Callable[[Any], Any], rules: Callable[[Any], Iterable[Problem]]
) -> Any:
    """Validate properties, and where one is wrong by itself, tell which rules for several are broken as well.

    Args:
        cls: the properties.
        given: by name.
        validate: each of them by itself, then the rules.
        rules: for a configuration in which each wrong property has its default. Those that speak of one do not count.

    Raises:
        ValidationError: some are wrong.
    """
    try:
        return validate(given)
    except ValidationError as e:
        errors = e.errors(include_url=False)
        wrong = {str(error["loc"][0]) for error in errors if error["loc"]}
        if any(info.is_required() and (info.alias or name) in wrong for name, info in cls.model_fields.items()):
            raise  # rules need it
        rest = cls.model_construct(**{name: value for name, value in given.items() if name not in wrong})
        more = [p for p in rules(rest) if not any(name in str(p) for name in wrong)]
        if not more:
            raise
        lines: list[Any] = [{k: v for k, v in error.items() if k != "msg"} for error in errors]
        lines.append({"type": "value_error", "loc": (), "input": None, "ctx": {"error": ConfigError(more)}})
        raise ValidationError.from_exception_data(e.title, cast("Any", lines)) from None
