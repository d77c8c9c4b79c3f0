"""Log levels of running tasks, as the annotation `penstock.dev/log-level` requests them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

__all__ = ["LEVELS", "LOG_LEVEL_ANNOTATION", "LogLevels"]

LOG_LEVEL_ANNOTATION: Final = "penstock.dev/log-level"
LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
_SAME: Final = {"WARN": "WARNING"}


@dataclass(frozen=True, slots=True)
class LogLevels:
    """Requested log levels.

    Attributes:
        every: level of all tasks that are not in `of_tasks`; None: the level of the release.
        of_tasks: levels by task number.
    """

    every: str | None = None
    of_tasks: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `DEBUG`, or `DEBUG 0,2` for two tasks; an empty text requests nothing.

        Raises:
            ValueError: the text does not have this form. The message follows the name of the annotation.
        """
        word, _, numbers = text.strip().partition(" ")
        if not word:
            return cls()
        level = _SAME.get(word.upper(), word.upper())
        if level not in LEVELS:
            raise ValueError(
                f"is {word[:20]}; write one of {', '.join(LEVELS)}, optionally with task numbers: DEBUG 0,2"
            )
        if not numbers.strip():
            return cls(level)
        tasks = [each.strip() for each in numbers.split(",")]
        if not all(each.isascii() and each.isdecimal() and len(each) < 6 for each in tasks):
            raise ValueError(f"has {numbers.strip()[:40]} after the level; write task numbers: {level} 0,2")
        return cls(None, {int(each): level for each in tasks})

    def of(self, task: int) -> str | None:
        """Return the level of a task; None: the level of the release."""
        return self.of_tasks.get(task, self.every)
