"""What ends a process, raised by a plugin, is a failure of the plugin that says where."""

import argparse
import sys

import msgspec
import pytest

from penstock import ConnectError, Limits
from penstock_runtime.pipeline.batch_sizing import PutSize
from penstock_runtime.plan.problems import Findings
from penstock_runtime.process.plugin_exit import PluginExit, as_failure
from penstock_runtime.sink import spark_worker as sink_worker
from penstock_runtime.source import spark_worker as source_worker
from penstock_runtime.spark.worker import part


def leave(code: object) -> None:
    sys.exit(code)  # type: ignore[arg-type]


def parse() -> None:
    argparse.ArgumentParser("tool").parse_args(["--unknown"])


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (lambda: leave(0), r"^leave \(test_plugin_exit\.py, line \d+\) raised SystemExit\(0\)"),
        (lambda: leave("no table"), r"^leave \(test_plugin_exit\.py, line \d+\) raised SystemExit\('no table'\)"),
        (parse, r"^parse \(test_plugin_exit\.py, line \d+\) raised SystemExit\(2\)"),
        (interrupt, r"^interrupt \(test_plugin_exit\.py, line \d+\) raised KeyboardInterrupt\(\)"),
    ],
)
def test_what_would_end_the_process_is_a_failure_with_its_place(work: object, text: str) -> None:
    with pytest.raises(BaseException) as raised:  # noqa: PT011
        work()  # type: ignore[operator]
    failure = as_failure(raised.value)
    assert isinstance(failure, PluginExit)
    assert failure.__cause__ is raised.value
    with pytest.raises(ConnectError, match=text):
        raise failure


def test_an_exception_stays_what_it_is() -> None:
    error = ValueError("x")
    assert as_failure(error) is error


def test_a_check_of_a_plugin_that_calls_sys_exit_is_a_problem_and_not_the_end_of_the_plan() -> None:
    findings = Findings()
    assert findings.attempt_plugin("spec.config", "Tables.validate", lambda: leave(0)) is None
    (problem,) = findings.problems
    assert problem.property == "spec.config"
    assert problem.message.startswith("Tables.validate failed: SystemExit: 0, in leave (test_plugin_exit.py, line ")


def test_a_spark_worker_in_which_a_plugin_calls_sys_exit_answers_with_the_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(source_worker, "_process", lambda task: leave(0))
    payload = msgspec.msgpack.encode({"spec": "", "slots": "", "incarnation": None, "offer": None, "work": []})
    error = part(source_worker.deliver_on_worker(payload)).error
    assert type(error) is ConnectError
    assert "raised SystemExit(0)" in str(error)

    monkeypatch.setattr(sink_worker, "sink_of", lambda task: leave(0))
    limits = sink_worker.RangeLimits(
        PutSize(Limits(1, 1), records=1, seconds=1.0), workers=1, room=1, seconds=1.0, put_seconds=1.0
    )
    payload = msgspec.msgpack.encode({"spec": "", "slots": "", "ranges": [], "limits": limits, "stage": False})
    error = part(sink_worker.consume(payload)).error
    assert type(error) is ConnectError
    assert "raised SystemExit(0)" in str(error)
