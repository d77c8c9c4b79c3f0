"""The settings of a task's Spark session: the user's go before Penstock's, but for those on which a guarantee rests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock_runtime.process.scratch import Scratch
from penstock_runtime.spark.session_conf import session_conf


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Scratch]:
    with Scratch(tmp_path) as found:
        yield found


def test_a_users_setting_goes_before_penstocks(scratch: Scratch) -> None:
    found = session_conf({"spark.driver.memory": "3g", "spark.sql.adaptive.enabled": "true"}, scratch)
    assert (found["spark.driver.memory"], found["spark.sql.adaptive.enabled"]) == ("3g", "true")


def test_a_refused_spark_setting_in_the_plan_of_an_earlier_release_has_no_effect(scratch: Scratch) -> None:
    conf = {
        "spark.master": "spark://x:7077",
        "spark.task.maxFailures": "9",
        "spark.speculation": "true",
        "spark.stage.maxConsecutiveAttempts": "4",
        "spark.local.dir": "/elsewhere",
        "spark.python.worker.reuse": "false",
    }
    assert session_conf(conf, scratch) == session_conf({}, scratch)
    assert session_conf({}, scratch)["spark.task.maxFailures"] == "1"
