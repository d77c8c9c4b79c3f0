"""`spec.spark.executors` in a task: the wish, the settings of its session, and what its executors need."""

import io
from pathlib import Path

import pytest

from penstock.errors import ConfigError
from penstock_model.contracts.pod_layout import SPARK_BLOCKS_PORT
from penstock_model.resources.executors import Executors
from penstock_runtime.executor.log_files import LogFiles
from penstock_runtime.executor.worker import environment, properties
from penstock_runtime.plugins.mounted import FOLDERS_VARIABLE
from penstock_runtime.process.scratch import Scratch
from penstock_runtime.spark.cluster import SECRET
from penstock_runtime.spark.executor_pods import ExecutorPods, cluster_of
from penstock_runtime.spark.executors_wanted import Wish
from penstock_runtime.spark.session_conf import session_conf


def pods(secret: Path, host: str = "10.0.0.7") -> ExecutorPods:
    secret.write_text("hush\n")
    executors = Executors.model_validate({"max": 3, "resources": {"limits": {"cpu": "2", "memory": "8Gi"}}})
    return ExecutorPods.at(cluster_of(executors, host, str(secret)), executors, host, 60)


def test_a_backlog_wants_all_executors_until_there_was_none_for_a_while() -> None:
    now = [0.0]
    wish = Wish(1, 3, 60, lambda: now[0])
    assert wish.number == 0, "a task that is paused from its start has no session, and no Master for executors"
    wish.begin()
    assert wish.number == 1
    wish.raise_()
    assert wish.number == 3
    now[0] = 59
    wish.raise_()
    now[0] = 118
    assert wish.number == 3
    now[0] = 119
    assert wish.number == 1
    wish.raise_()
    wish.lower()
    assert wish.number == 1


def test_sizes_and_addresses_of_a_session_follow_the_executors_and_the_pod(tmp_path: Path) -> None:
    made = pods(tmp_path / "secret")
    assert (made.master, made.cores) == ("spark://10.0.0.7:7077", 6)
    with Scratch(tmp_path) as scratch:
        found = session_conf({"spark.executor.cores": "9", "spark.port.maxRetries": "16"}, scratch, made)
        assert session_conf({"spark.executor.memory": "3g"}, scratch, made)["spark.executor.memory"] == "3g"
    assert (found["spark.executor.cores"], found["spark.executor.memory"], found["spark.cores.max"]) == (
        "2",
        "2048m",
        "6",
    )
    assert (found["spark.driver.host"], found["spark.driver.bindAddress"]) == ("10.0.0.7", "10.0.0.7")
    assert (found["spark.blockManager.port"], found["spark.port.maxRetries"]) == (str(SPARK_BLOCKS_PORT), "0")
    assert found["spark.authenticate"] == found["spark.network.crypto.enabled"] == "true"
    assert "hush" not in f"{found} {made}"


def test_executors_find_plugins_where_the_task_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDERS_VARIABLE, "/etc/penstock/plugins/0")
    assert pods(tmp_path / "secret").settings()[f"spark.executorEnv.{FOLDERS_VARIABLE}"] == "/etc/penstock/plugins/0"


def test_an_ipv6_address_of_a_pod_is_in_brackets(tmp_path: Path) -> None:
    made = pods(tmp_path / "secret", "fd00::7")
    assert (made.master, made.host) == ("spark://[fd00::7]:7077", "[fd00::7]")


def test_an_empty_secret_is_refused(tmp_path: Path) -> None:
    executors, file = Executors(max=1), tmp_path / "secret"
    file.write_text("\n")
    with pytest.raises(ConfigError, match=r"Spark's secret .* is empty"):
        ExecutorPods.at(cluster_of(executors, "10.0.0.7", str(file)), executors, "10.0.0.7", 60)


def test_the_secret_of_a_worker_is_in_its_file_and_not_in_its_environment(tmp_path: Path) -> None:
    assert properties("hush", tmp_path)[SECRET] == "hush"
    found = environment({"SPARK_LOCAL_IP": "0.0.0.0", "PATH": "/bin"}, tmp_path)
    assert "hush" not in str(found)
    assert (found["SPARK_LOCAL_IP"], found["PATH"]) == ("127.0.0.1", "/bin")


def test_lines_of_executors_are_forwarded_once_although_their_files_are_rolled(tmp_path: Path) -> None:
    folder, out = tmp_path / "app-1" / "0", io.StringIO()
    folder.mkdir(parents=True)
    (folder / "stderr").write_text("first\nbegun")
    (folder / "other").write_text("no output\n")
    with LogFiles(tmp_path, out) as logs:
        logs.look()
        assert out.getvalue() == "first\n"
        with (folder / "stderr").open("a") as file:
            file.write(" and ended\n")
        (folder / "stderr").rename(folder / "stderr--1")
        (folder / "stderr").write_text("second\n")
        (folder / "stdout").write_text("third\n")
    assert out.getvalue() == "first\nbegun and ended\nsecond\nthird\n"
