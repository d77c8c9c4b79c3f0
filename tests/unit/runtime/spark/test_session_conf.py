"""Settings of a task's Spark session: the user's override Penstock's, except those that a guarantee needs."""

import socket
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


def test_user_setting_overrides_penstocks(scratch: Scratch) -> None:
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


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """One whose Master takes connections; of two names the first one is not known."""
    with socket.create_server(("127.0.0.1", 0)) as master:
        yield Cluster(f"spark://nowhere.invalid:7077,127.0.0.1:{master.getsockname()[1]}", "hush", 3)


def test_traffic_to_executors_is_authenticated_and_encrypted_for_any_user_settings(
    scratch: Scratch, cluster: Cluster
) -> None:
    conf = {
        "spark.authenticate": "false",
        "spark.network.crypto.enabled": "false",
        "spark.io.encryption.enabled": "false",
    }
    found = session_conf(conf, scratch, cluster)
    assert {found[name] for name in conf} == {"true"}
    assert "hush" not in str(found), "the settings stand in a command line"
    assert "hush" not in repr(cluster)


def test_executors_reach_the_driver_at_the_address_from_which_it_reaches_the_master(
    scratch: Scratch, cluster: Cluster
) -> None:
    found = session_conf({}, scratch, cluster)
    assert (found["spark.driver.host"], found["spark.driver.bindAddress"]) == ("127.0.0.1", "127.0.0.1")
    told = session_conf({"spark.driver.host": "driver.example", "spark.executor.memory": "2g"}, scratch, cluster)
    assert (told["spark.driver.host"], told["spark.executor.memory"]) == ("driver.example", "2g")
    assert session_conf({"spark.driver.host": "driver.example"}, scratch)["spark.driver.host"] == "127.0.0.1"


def test_workers_on_executors_use_no_sockets_in_the_drivers_folder(scratch: Scratch, cluster: Cluster) -> None:
    assert session_conf({}, scratch, cluster)["spark.python.unix.domain.socket.enabled"] == "false"
    assert session_conf({}, scratch)["spark.python.unix.domain.socket.enabled"] == "true"


def test_each_unreachable_master_is_reported_with_its_reason(scratch: Scratch) -> None:
    with pytest.raises(ConnectError, match=r"does not answer \(nowhere\.invalid:7077: .*; 127\.0\.0\.1:1: .*refused"):
        session_conf({}, scratch, Cluster("spark://nowhere.invalid:7077,127.0.0.1:1", "hush", 3))


def test_task_uses_no_more_cores_than_it_fences_for_any_user_settings(scratch: Scratch, cluster: Cluster) -> None:
    assert session_conf({"spark.cores.max": "64"}, scratch, cluster)["spark.cores.max"] == "3"
