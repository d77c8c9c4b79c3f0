"""The annotation `penstock.dev/log-level`: its forms, and what is refused."""

import pytest

from penstock_model.contracts.log_levels import LogLevels


def test_a_level_is_of_every_task_or_of_those_that_are_named() -> None:
    assert [LogLevels.parse("debug").of(task) for task in (0, 7)] == ["DEBUG", "DEBUG"]
    assert [LogLevels.parse(" WARN  0, 2 ").of(task) for task in (0, 1, 2)] == ["WARNING", None, "WARNING"]
    assert LogLevels.parse("").of(0) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LOUD", "is LOUD; write one of DEBUG, INFO, WARNING, ERROR, optionally with task numbers: DEBUG 0,2"),
        ("DEBUG all", "has all after the level; write task numbers: DEBUG 0,2"),
        ("INFO 1,,2", "has 1,,2 after the level; write task numbers: INFO 0,2"),
        ("INFO ²", "has ² after the level; write task numbers: INFO 0,2"),
    ],
)
def test_another_form_is_refused_with_the_right_one(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="^" + message.replace("²", ".").replace("*", ".") + "$"):
        LogLevels.parse(text)
