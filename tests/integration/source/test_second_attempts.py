"""Spark runs a part of a batch again, whose first attempt has committed and was lost: the second one commits nothing."""

from pathlib import Path

import pytest

from ..holding import Hold, held_task_spec
from .second_attempt import check_second_attempt


@pytest.mark.slow
@pytest.mark.parametrize("guard", ["guarded", "without the guard"])
def test_a_second_attempt_is_refused_and_commits_nothing_and_would_double_records_if_it_were_not_refused(
    kafka: str, topic: str, tmp_path: Path, guard: str
) -> None:
    check_second_attempt(held_task_spec(kafka, topic, Hold(tmp_path)), kafka, tmp_path, lost="process", guard=guard)
