"""All that is wrong with a configuration is told at once."""

from typing import Self

import pytest
from pydantic import model_validator

from penstock import Config, ConfigError, Problem, prop


class Ranges(Config):
    least: int = prop("range.least", 0, doc="The least number.")
    most: int = prop("range.most", 9, doc="The greatest number.")
    pace: int = prop("pace", 1, doc="How often.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.least > self.most:
            raise ConfigError(Problem("range.least", f"{self.least} is more than range.most, {self.most}"))
        return self


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"range.least": "10"}, ["x.range.least"]),
        ({"range.least": "10", "pace": "soon"}, ["x.pace", "x.range.least"]),
        ({"range.least": "10", "range.most": "many", "pace": "soon"}, ["x.range.most", "x.pace"]),
        ({"range.least": "ten", "range.most": "-1"}, ["x.range.least"]),
    ],
)
def test_a_rule_is_judged_where_what_it_names_could_be_read(given: dict[str, str], wrong: list[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        Ranges.parse(given, "x.")
    assert [problem.property for problem in raised.value.problems] == wrong


class Address(Config):
    """Configuration with a value of which a part can be a password."""

    url: str = prop("url", doc="Where.", hidden=True, pattern="^https://")


def test_a_refused_value_is_not_shown_if_a_part_of_it_can_be_a_password() -> None:
    with pytest.raises(ConfigError) as failed:
        Address.parse({"url": "http://ann:s3cret@host"}, "plugin.")
    assert [str(p) for p in failed.value.problems] == [
        "plugin.url: Invalid value [hidden] for configuration plugin.url: String must match the pattern ^https://"
    ]
