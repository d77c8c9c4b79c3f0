"""What a plugin's limits refuse is told in Kafka Connect's words, whatever checks them."""

from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest

from penstock import Config, ConfigError, prop
from penstock.rules import at_least, java_regex, not_blank, words


class Limited(Config):
    most: int = prop("most", 1, doc="A number.", ge=1, le=10)
    share: float = prop("share", 0.5, doc="A number.", gt=0, lt=1)
    name: str = prop("name", "abc", doc="A text.", pattern="^[a-z]+$", min_length=2, max_length=5)
    mode: Literal["fast", "safe"] = prop("mode", "safe", doc="A word.")
    hosts: list[str] = prop("hosts", ["a"], doc="A list.", min_length=1)
    step: int = prop("step", 5, doc="A number.", multiple_of=5)
    odd: Any = prop("odd", None, doc="Anything.")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("most", "0", "Invalid value 0 for configuration most: Value must be at least 1"),
        ("most", "11", "Invalid value 11 for configuration most: Value must be no more than 10"),
        ("share", "0", "Invalid value 0.0 for configuration share: Value must be more than 0.0"),
        ("share", "1", "Invalid value 1.0 for configuration share: Value must be less than 1.0"),
        ("name", "A1", "Invalid value A1 for configuration name: String must match the pattern ^[a-z]+$"),
        ("name", "a", "Invalid value a for configuration name: String must have at least 2 characters"),
        ("name", "abcdef", "Invalid value abcdef for configuration name: String must have at most 5 characters"),
        ("mode", "slow", "Invalid value slow for configuration mode: String must be one of: fast, safe"),
        ("hosts", "", "Invalid value  for configuration hosts: List must have at least 1 elements"),
        ("step", "7", "Invalid value 7 for configuration step: Value must be a multiple of 5"),
    ],
)
def test_a_limit_is_reported_as_kafka_connect_reports_it(name: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Limited.parse({name: text})
    assert [p.message for p in caught.value.problems] == [message]


class Pace(StrEnum):
    SLOW = "slow"
    FAST = "fast"


class Ruled(Config):
    word: Annotated[str, words("move", "copy")] = prop("word", doc="A word.")
    loud: Annotated[str, words("v1", "v2", any_case=True)] = prop("loud", "V1", doc="A word.")
    regex: Annotated[str | None, java_regex] = prop("regex", None, doc="A pattern.")
    text: Annotated[str | None, not_blank] = prop("text", None, doc="A text.")
    count: Annotated[int, at_least(3)] = prop("count", 3, doc="A number.")
    flag: bool = prop("flag", default=True, doc="Whether.")
    pace: Pace = prop("pace", Pace.SLOW, doc="A word.")
    format: str = prop("format", "", doc="A text.", valid="a pattern of dates")


def test_what_a_property_takes_is_reported_in_words() -> None:
    assert {p.name: p.valid for p in (*Limited.properties(), *Ruled.properties())} == {
        "most": "at least 1; at most 10",
        "share": "more than 0; less than 1",
        "name": "at least 2 long; at most 5 long; text that matches ^[a-z]+$",
        "mode": "fast, safe",
        "hosts": "at least 1 long",
        "step": "a multiple of 5",
        "odd": "",
        "word": "move, copy",
        "loud": "V1, V2 in any case",
        "regex": "a Java regular expression",
        "text": "not empty",
        "count": "at least 3",
        "flag": "true, false",
        "pace": "slow, fast",
        "format": "a pattern of dates",
    }
