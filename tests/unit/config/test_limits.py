"""What a plugin's limits refuse is told in Kafka Connect's words, whatever checks them."""

from typing import Any, Literal

import pytest

from penstock import Config, ConfigError, prop


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
def test_a_limit_is_told_as_kafka_connect_tells_it(name: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Limited.parse({name: text})
    assert [p.message for p in caught.value.problems] == [message]
