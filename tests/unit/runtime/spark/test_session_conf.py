"""The settings of a task's Spark session: the user's go before Penstock's, but for those on which a guarantee rests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.errors import ConnectError
from penstock_runtime.process.scratch import Scratch
from penstock_runtime.spark.cluster import Cluster
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


CLUSTER = Cluster("spark://127.0.0.1:7077", "hush", 3)


def test_what_goes_to_executors_is_authenticated_and_encrypted_whatever_a_user_sets(scratch: Scratch) -> None:
    conf = {
        "spark.authenticate": "false",
        "spark.network.crypto.enabled": "false",
        "spark.io.encryption.enabled": "false",
    }
    found = session_conf(conf, scratch, CLUSTER)
    assert {found[name] for name in conf} == {"true"}
    assert "hush" not in str(found), "the settings stand in a command line"
    assert "hush" not in repr(CLUSTER)


def test_executors_reach_the_driver_at_the_address_from_which_it_reaches_the_master(scratch: Scratch) -> None:
    found = session_conf({}, scratch, CLUSTER)
    assert (found["spark.driver.host"], found["spark.driver.bindAddress"]) == ("127.0.0.1", "127.0.0.1")
    told = session_conf({"spark.driver.host": "driver.example", "spark.executor.memory": "2g"}, scratch, CLUSTER)
    assert (told["spark.driver.host"], told["spark.executor.memory"]) == ("driver.example", "2g")
    assert session_conf({"spark.driver.host": "driver.example"}, scratch)["spark.driver.host"] == "127.0.0.1"


def test_workers_of_executors_have_no_sockets_in_a_folder_that_only_the_drivers_machine_has(scratch: Scratch) -> None:
    assert session_conf({}, scratch, CLUSTER)["spark.python.unix.domain.socket.enabled"] == "false"
    assert session_conf({}, scratch)["spark.python.unix.domain.socket.enabled"] == "true"


def test_a_master_whose_name_is_not_known_is_told(scratch: Scratch) -> None:
    with pytest.raises(ConnectError, match=r"The address of Spark's Master spark://nowhere\.invalid:7077 is not known"):
        session_conf({}, scratch, Cluster("spark://nowhere.invalid:7077", "hush", 3))
