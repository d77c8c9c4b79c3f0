"""The process of an executor's pod, without a Master: how it waits and ends."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from penstock_model.contracts.executor_pod import ExecutorPod
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.pod_layout import EXECUTOR_MODULE, EXECUTOR_VARIABLE
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_runtime.process.termination_message import TERMINATION_LOG_VARIABLE
from penstock_runtime.spark.cluster import SECRET_VARIABLE

from ..ports import free_port
from ..running import until


def start(folder: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", EXECUTOR_MODULE],
            env={**os.environ, TERMINATION_LOG_VARIABLE: str(folder / "word"), **env},
            stderr=log,
        )


def word(folder: Path) -> TerminationMessage:
    found = TerminationMessage.of((folder / "word").read_bytes())
    assert found is not None
    return found


def test_an_executor_without_its_description_ends_with_the_reason(tmp_path: Path) -> None:
    assert start(tmp_path, {}).wait(60) == ExitCode.CONFIG_INVALID
    assert "PENSTOCK_EXECUTOR is not set" in str(word(tmp_path).message).replace(":", "")


def test_an_executor_that_waits_for_its_master_ends_when_it_is_asked_to(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush")
    pod = ExecutorPod(master=f"spark://127.0.0.1:{free_port()}", cores=1)
    process = start(tmp_path, {EXECUTOR_VARIABLE: pod.to_json(), SECRET_VARIABLE: str(tmp_path / "secret")})
    until(lambda: "Waiting for the task's Spark Master" in (tmp_path / "log").read_text(), what="that it waits")
    process.terminate()
    assert process.wait(30) == ExitCode.OK
    assert "hush" not in (tmp_path / "log").read_text()
