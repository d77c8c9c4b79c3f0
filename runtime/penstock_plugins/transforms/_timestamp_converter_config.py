"""Properties of TimestampConverter."""

from typing import Annotated, Self

from pydantic import model_validator

from penstock import Config, ConfigError, Importance, Problem, prop
from penstock.rules import words
from penstock_java_compat.date_format import PatternError, SimpleDateFormat
from penstock_java_compat.property_text import trimmed
from penstock_plugins.structs.copy import replace_null_with_default
from penstock_plugins.transforms._timestamp_forms import PRECISIONS, SCHEMAS

__all__ = ["TimestampConverterConfig"]


class TimestampConverterConfig(Config):
    field: str = prop(
        "field",
        "",
        doc="The field containing the timestamp, or empty if the entire value is a timestamp.",
        importance=Importance.HIGH,
    )
    target_type: Annotated[str, words(*SCHEMAS)] = prop(
        "target.type",
        doc="The desired timestamp representation: string, unix, Date, Time, or Timestamp.",
        importance=Importance.HIGH,
    )
    format: str = prop(
        "format",
        "",
        doc="A SimpleDateFormat-compatible format for the timestamp. Used to generate the output when target.type=string "
        "or used to parse the input if the input is a string.",
        importance=Importance.MEDIUM,
        valid="a SimpleDateFormat pattern",
    )
    unix_precision: Annotated[str, words(*PRECISIONS)] = prop(
        "unix.precision",
        "milliseconds",
        doc="The desired Unix precision for the timestamp: seconds, milliseconds, microseconds, or nanoseconds. Used to "
        "generate the output when target.type=unix or used to parse the input if the input is a Long. Precision that is "
        "lost in the conversion to milliseconds cannot be restored.",
        importance=Importance.LOW,
    )
    replace_null: bool = replace_null_with_default()

    @model_validator(mode="after")
    def _format_is_a_pattern(self) -> Self:
        if trimmed(self.format):
            try:
                SimpleDateFormat(self.format)
            except PatternError as e:
                raise ConfigError(
                    Problem(
                        "format",
                        "TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps: "
                        f"{self.format} ({e})",
                    )
                ) from None
        elif self.target_type == "string":
            raise ConfigError(
                Problem(
                    "format", "TimestampConverter requires format option to be specified when using string timestamps"
                )
            )
        return self
