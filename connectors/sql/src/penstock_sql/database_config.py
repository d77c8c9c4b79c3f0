"""Database properties, with validation that reports all problems of a configuration together."""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import ValidationError, model_validator

from penstock import Config, ConfigError, Importance, Problem, prop
from penstock.rules import not_blank
from penstock_sql.address import url_problems

__all__ = ["DatabaseConfig"]


class DatabaseConfig(Config):
    """Properties of a connector that reads or writes a database.

    After an invalid value, rules over several properties, the URL and unsupported properties are still checked.

    Attributes:
        stand_ins: values used for required properties that are missing or invalid.
        choosing: properties that `refusals` depends on; the first valid one is passed to it.
    """

    choosing: ClassVar[tuple[str, ...]] = ()
    stand_ins: ClassVar[Mapping[str, str]] = {"connection.url": "jdbc:sqlite:none"}

    url: Annotated[str, not_blank] = prop(
        "connection.url",
        doc="The database: `jdbc:postgresql://HOST:PORT/DATABASE?sslmode=require`, with or without `jdbc:`, several hosts "
        "separated by commas, any parameter of libpq; `jdbc:mariadb://HOST:PORT/DATABASE?sslMode=verify-full`; or "
        "`jdbc:sqlite:FILE`.",
        importance=Importance.HIGH,
    )

    def refusals(self) -> Iterable[Problem]:
        """Return a problem for each unsupported open property."""
        return ()

    def broken_rules(self) -> Iterable[Problem]:
        """Return a problem for each broken rule over several properties."""
        return ()

    @classmethod
    def parse(cls, texts: Mapping[str, str], prefix: str = "") -> Self:
        try:
            return super().parse(texts, prefix)
        except ConfigError as e:
            found = list(e.problems)
        wrong = {problem.property.removeprefix(prefix) for problem in found}
        names = {info.alias or name for name, info in cls.model_fields.items()}
        # Without the other properties, no rule over several properties can be broken.
        kept = next((name for name in cls.choosing if texts.get(name) and name not in wrong), None)
        rest = {name: text for name, text in texts.items() if name not in names or name == kept}
        more = super().parse({**rest, **cls.stand_ins}, prefix).refusals()
        raise ConfigError([*found, *(each for each in more if each.property not in wrong)])

    @model_validator(mode="wrap")
    @classmethod
    def _validate_together(cls, given: Any, handler: Callable[[Any], Any]) -> Any:
        return _validated(cls, given, handler, lambda config: [*config.broken_rules(), *url_problems(config.url)])

    @model_validator(mode="after")
    def _rules(self) -> Self:
        problems = list(self.broken_rules())
        if problems:
            raise ConfigError([*problems, *url_problems(self.url)])
        return self


def _validated(
    cls: type[DatabaseConfig], given: Any, validate: Callable[[Any], Any], rules: Callable[[Any], Iterable[Problem]]
) -> Any:
    """Validate properties; if one is invalid, report broken rules over several properties, too.

    Args:
        cls: the class of the properties.
        given: the values by name.
        validate: validates each property, then the rules.
        rules: returns the broken rules of a configuration in which each invalid property has its default, or its value in
            `stand_ins`. Rules that mention an invalid property are dropped.

    Raises:
        ValidationError: some properties are invalid.
    """
    try:
        return validate(given)
    except ValidationError as e:
        errors = e.errors(include_url=False)
        wrong = {str(error["loc"][0]) for error in errors if error["loc"]}
        right = {name: value for name, value in given.items() if name not in wrong}
        rest = cls.model_construct(**{**cls.stand_ins, **right})
        more = [p for p in rules(rest) if not any(name in str(p) for name in wrong)]
        if not more:
            raise
        lines: list[Any] = [{k: v for k, v in error.items() if k != "msg"} for error in errors]
        lines.append({"type": "value_error", "loc": (), "input": None, "ctx": {"error": ConfigError(more)}})
        raise ValidationError.from_exception_data(e.title, cast("Any", lines)) from None
