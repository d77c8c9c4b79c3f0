"""Checks of properties that the source and the sinks share."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final, Self, cast
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from penstock import Config, ConfigError, Problem
from penstock.rules import Rule

__all__ = ["Refusing", "at_once", "ignored", "refused", "time_zone"]


class Refusing(Config):
    """Properties that tell which open ones are refused, also where another one cannot be read.

    Attributes:
        stand_ins: values in place of required properties.
        choosing: properties of which `refusals` needs one.
    """

    choosing: ClassVar[tuple[str, ...]] = ()
    stand_ins: ClassVar[Mapping[str, str]] = {"connection.url": "jdbc:sqlite:none"}

    def refusals(self) -> Iterable[Problem]:
        """Return what `validate` tells of open properties."""
        return ()

    @classmethod
    def parse(cls, texts: Mapping[str, str], prefix: str = "") -> Self:
        try:
            return super().parse(texts, prefix)
        except ConfigError as e:
            found = list(e.problems)
        wrong = {problem.property.removeprefix(prefix) for problem in found}
        names = {info.alias or name for name, info in cls.model_fields.items()}
        # Without all other properties, no rule for several of them can be broken.
        kept = next((name for name in cls.choosing if texts.get(name) and name not in wrong), None)
        rest = {name: text for name, text in texts.items() if name not in names or name == kept}
        more = super().parse({**rest, **cls.stand_ins}, prefix).refusals()
        raise ConfigError([*found, *(each for each in more if each.property not in wrong)])


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
    """Validate properties, and where one is wrong, report broken rules over several properties as well.

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
