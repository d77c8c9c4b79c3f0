"""Typed plugin configuration: Connect's flat properties as a pydantic model.

    class HoistFieldConfig(Config):
        field: str = prop("field", doc="Field name for the single field ...", importance=Importance.MEDIUM)

`parse` reads strings like Kafka Connect's ConfigDef (trimmed; `true`/`false` in any case; lists split at commas) and reports
all problems together, each with its full property name.
"""

import difflib
import re
import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticUndefined

from penstock.errors import ConfigError, Problem
from penstock.rules import Rule
from penstock_java_compat.property_text import items, trimmed

__all__ = ["Config", "Importance", "Int", "Password", "Property", "nearest", "prop"]


class Importance(StrEnum):
    """Importance of a property to most users (Kafka Connect: `ConfigDef.Importance`)."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Password(str):
    """String hidden from messages, logs and listings: `str(password)` is `[hidden]`; `reveal` returns the value."""

    __slots__ = ()

    def __str__(self) -> str:
        return "[hidden]"

    def __repr__(self) -> str:
        return "[hidden]"

    def __format__(self, spec: str) -> str:
        return "[hidden]"

    def reveal(self) -> str:
        """Return the value. Pass it only to the external system."""
        return "".join(self)


def _int32(number: int) -> int:
    if not -(2**31) <= number < 2**31:
        raise ValueError("Not a number of type INT")
    return number


# A validator, not `Field(ge=..., le=...)`, which would discard limits passed to `prop`.
Int = Annotated[int, AfterValidator(_int32)]
"""A 32-bit integer, Kafka Connect's INT."""


def prop(
    name: str,
    default: Any = PydanticUndefined,
    *,
    doc: str,
    importance: Importance = Importance.MEDIUM,
    valid: str = "",
    hidden: bool = False,
    **limits: Any,
) -> Any:
    """Define a property of a `Config`.

    Args:
        name: the full property name that users write, including dots.
        default: the value if the property is not set. A property without a default is required.
        doc: a description in sentences, shown by `penstock plugins` and in the documentation.
        importance: the importance to most users.
        valid: the accepted values, for the documentation, if they do not follow from limits or rules.
        hidden: whether messages hide an invalid value, because a part of it can be a password, as in URLs. If the whole
            value is a password, use the type `Password` instead.
        limits: pydantic's constraints (`ge`, `le`, `pattern`, ...).
    """
    extra: dict[str, Any] = {"importance": importance.value, **({"valid": valid} if valid else {})}
    extra |= {"hidden": True} if hidden else {}
    return Field(default, alias=name, description=doc, json_schema_extra=extra, **limits)


@dataclass(frozen=True, slots=True)
class Property:
    """Description of a property, as shown by `penstock plugins`.

    Attributes:
        name, type, default, required, importance, doc: as declared with `prop`.
        valid: the accepted values, in words.
        values: the accepted values; None if they cannot be enumerated, or only the property's rules determine them.
        any_case: whether `values` are accepted regardless of case.
        minimum, maximum: limits of a number; None for no limit.
    """

    name: str
    type: str
    default: Any
    required: bool
    importance: Importance
    doc: str
    valid: str = ""
    values: tuple[str, ...] | None = None
    any_case: bool = False
    minimum: int | float | None = None
    maximum: int | float | None = None


class Config(BaseModel):
    """Configuration of a plugin. Subclasses add properties with `prop` and rules with pydantic's validators.

    A `ValueError` raised by a field validator becomes a problem of that property. A `ValueError` raised by a model validator
    has no property; raise a `ConfigError` there instead, whose problems name their properties. Such a problem is omitted if
    one of its properties could not be parsed.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True, arbitrary_types_allowed=True, extra="ignore")

    open_prefixes: ClassVar[tuple[str, ...]] = ()
    """Prefixes of additional properties that the plugin accepts without a field, such as `spark.option.`."""
    secret_prefixes: ClassVar[tuple[str, ...]] = ()
    """The prefixes among `open_prefixes` whose properties are passwords, which messages hide."""

    _open: dict[str, str] = PrivateAttr(default_factory=dict)

    def open_properties(self, prefix: str) -> dict[str, str]:
        """Return properties that start with `prefix`, one of `open_prefixes`, by name without the prefix."""
        return {name.removeprefix(prefix): text for name, text in self._open.items() if name.startswith(prefix)}

    if not TYPE_CHECKING:  # otherwise, type checkers would accept any attribute

        def __getattr__(self, name: str) -> Any:
            """Raise an error that explains a missing `Config` class.

            Raises:
                AttributeError: always, except for pydantic's private attributes.
            """
            if type(self) is Config and name not in self.__private_attributes__:
                raise AttributeError(
                    f"cannot read property {name}: the plugin's class defines no Config; add `Config = MyConfig` to it, "
                    "with a subclass of penstock.Config that has the property"
                )
            return super().__getattr__(name)

    @classmethod
    def properties(cls) -> tuple[Property, ...]:
        """Return all properties in declaration order."""
        return tuple(_property(name, info) for name, info in cls.model_fields.items())

    @classmethod
    def passwords(cls, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the properties that are passwords and have a value, with their unparsed values."""
        named = {p.name for p in cls.properties() if p.type == "PASSWORD"}
        stripped = ((name, text.strip()) for name, text in texts.items())
        return {n: t for n, t in stripped if t and (n in named or n.startswith(cls.secret_prefixes))}

    @classmethod
    def parse(cls, texts: Mapping[str, str], prefix: str = "") -> Self:
        """Parse properties. Properties that the model does not define are ignored.

        Args:
            texts: unparsed values by property name (without `prefix`).
            prefix: the prefix of the names in the user's configuration (`transforms.hoist.`), used in problems.

        Raises:
            ConfigError: all problems, each with its full property name.
        """
        problems: list[Problem] = []
        values: dict[str, Any] = {}
        for field, info in cls.model_fields.items():
            name = info.alias or field
            if texts.get(name) is None:
                if info.is_required():
                    problems.append(
                        Problem(
                            prefix + name,
                            f'Missing required configuration "{prefix}{name}" which has no default value. '
                            f"{_first_sentence(info.description)}",
                        )
                    )
                continue
            try:
                values[name] = _read(texts[name], _plain_type(info.annotation))
            except ValueError as e:
                shown = _shown(texts[name], info)
                problems.append(Problem(prefix + name, f"Invalid value {shown} for configuration {prefix}{name}: {e}"))
        unread = {p.property.removeprefix(prefix) for p in problems}
        try:
            config = cls.model_validate(values)
        except ValidationError as e:
            problems.extend(_problems(cls, e, prefix, unread))
        except ConfigError as e:
            problems.extend(_broken_rules(e, prefix, unread))
        if problems:
            raise ConfigError(problems)
        config._keep_open(texts)  # noqa: SLF001 (its own class)
        return config

    def _keep_open(self, texts: Mapping[str, str]) -> None:
        prefixes = self.open_prefixes
        if prefixes:
            self._open.update((n, t) for n, t in texts.items() if n.startswith(prefixes) and t is not None)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to `name`, or None."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=0.8)), None)


_NUMBERS: Final[Mapping[type, str]] = {int: "INT", float: "DOUBLE"}


def _read(text: str, kind: Any) -> Any:
    """Parse a string like Kafka Connect (`ConfigDef.parseType`)."""
    text = trimmed(text)
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError("Expected value to be either true or false")
        return text.lower() == "true"
    if kind is int:
        if not re.fullmatch(r"[+-]?\d{1,400}", text):
            raise ValueError("Not a number of type INT; write whole digits")
        return int(text)
    if kind is float:
        try:
            return float(text)
        except ValueError:
            raise ValueError("Not a number of type DOUBLE") from None
    if kind in (list, tuple):
        return items(text)
    return Password(text) if kind is Password else text


def _plain_type(annotation: Any) -> Any:
    """Return `int` for `int | None`, `list` for `list[str]`, otherwise the class itself."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _plain_type(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return _plain_type(next(a for a in get_args(annotation) if a is not type(None)))
    return origin or annotation


def _broken_rules(error: ConfigError, prefix: str, unread: Collection[str]) -> Iterable[Problem]:
    """Yield the problems of a rule for several properties.

    The rule is checked with the default of a property that could not be parsed, so problems that mention such a property
    are omitted.
    """
    for p in error.problems:
        if not any(name in str(p) for name in unread):
            yield Problem(prefix + p.property if p.property else "", p.message)


def _problems(cls: type[Config], error: ValidationError, prefix: str, unread: Collection[str]) -> Iterable[Problem]:
    for e in error.errors(include_url=False):
        name = str(e["loc"][0]) if e["loc"] else ""
        cause = e.get("ctx", {}).get("error")
        if isinstance(cause, ConfigError):
            yield from _broken_rules(cause, prefix, unread)
            continue
        if e["type"] == "missing" or name in unread:
            continue  # reported as missing, or as unreadable, before
        info = next((i for f, i in cls.model_fields.items() if name in (i.alias, f)), None)
        text = str(cause) if cause is not None else _limit(e)
        if not name or info is None:
            yield Problem("", text)
            continue
        yield Problem(
            prefix + name, f"Invalid value {_shown(e['input'], info)} for configuration {prefix}{name}: {text}"
        )


_LIMITS: Final[Mapping[str, str]] = {
    "greater_than_equal": "Value must be at least {ge}",
    "greater_than": "Value must be more than {gt}",
    "less_than_equal": "Value must be no more than {le}",
    "less_than": "Value must be less than {lt}",
    "multiple_of": "Value must be a multiple of {multiple_of}",
    "finite_number": "Value must be a finite number",
    "string_pattern_mismatch": "String must match the pattern {pattern}",
    "string_too_short": "String must have at least {min_length} characters",
    "string_too_long": "String must have at most {max_length} characters",
    "too_short": "List must have at least {min_length} elements",
    "too_long": "List must have at most {max_length} elements",
    "literal_error": "String must be one of: {expected}",
    "enum": "String must be one of: {expected}",
}
"""Kafka Connect's messages for pydantic's errors."""


def _limit(error: ErrorDetails) -> str:
    wanted = {
        name: str(value).replace("'", "").replace(" or ", ", ") if name == "expected" else value
        for name, value in error.get("ctx", {}).items()
    }
    return _LIMITS.get(error["type"], "the plugin does not accept it").format(**wanted)


def _shown(value: object, info: FieldInfo) -> str:
    if _plain_type(info.annotation) is Password or _extra(info).get("hidden"):
        return "[hidden]"
    return ",".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)


def _extra(info: FieldInfo) -> Mapping[str, Any]:
    return info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}


def _property(field: str, info: FieldInfo) -> Property:
    kind = _plain_type(info.annotation)
    names = {bool: "BOOLEAN", int: "INT", float: "DOUBLE", list: "LIST", tuple: "LIST", Password: "PASSWORD"}
    extra = _extra(info)
    return Property(
        name=info.alias or field,
        type=names.get(kind, "STRING"),
        default=None if info.is_required() else info.get_default(call_default_factory=True, validated_data={}),
        required=info.is_required(),
        importance=Importance(str(extra.get("importance", "MEDIUM"))),
        doc=info.description or "",
        valid=str(extra.get("valid") or "") or "; ".join(_valid(kind, info.annotation, info.metadata)),
        values=_values(kind, info.annotation) or _first(info.metadata, "values"),
        any_case=bool(_first(info.metadata, "any_case")),
        minimum=_first(info.metadata, "ge", "minimum"),
        maximum=_first(info.metadata, "le"),
    )


_BOUNDS: Final[Mapping[str, str]] = {
    "ge": "at least {}",
    "gt": "more than {}",
    "le": "at most {}",
    "lt": "less than {}",
    "multiple_of": "a multiple of {}",
    "min_length": "at least {} long",
    "max_length": "at most {} long",
    "pattern": "text that matches {}",
}
"""Descriptions of pydantic's limits for the documentation."""


def _first(metadata: Iterable[object], *names: str) -> Any:
    """Return the first value that a limit or rule has under one of these names, or None."""
    found = (getattr(limit, name, None) for limit in metadata for name in names)
    return next((value for value in found if value is not None and value is not False), None)


def _values(kind: Any, annotation: Any) -> tuple[str, ...] | None:
    if kind is Literal:
        return tuple(map(str, get_args(annotation)))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(str(member.value) for member in kind)
    return None


def _valid(kind: Any, annotation: Any, metadata: Iterable[object]) -> Iterable[str]:
    """Describe the accepted values of a property, from its type, limits and rules."""
    if kind is bool:
        yield "true, false"
    elif (values := _values(kind, annotation)) is not None:
        yield ", ".join(values)
    for rule in metadata:
        if isinstance(rule, Rule) and rule.valid:
            yield rule.valid
        limits = ((name, getattr(rule, name, None)) for name in _BOUNDS)
        yield from (_BOUNDS[name].format(bound) for name, bound in limits if bound is not None)


def _first_sentence(doc: str | None) -> str:
    return f"({doc.split('. ')[0].rstrip('.')}.)" if doc else ""
