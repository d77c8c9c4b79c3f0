"""A source that reads standard input: a warning for pods, and refused where two would share it."""

from pathlib import Path

import pytest

from penstock import ConfigError
from penstock_cli.run import plans
from penstock_cli.standard_input import check_standard_input
from penstock_runtime.plan.worker_check import worker_from

WARNING = "file: is not set, so standard input is read, which is always empty in a pod"


def manifest(name: str, config: str = "", cls: str = "FileStreamSource", spec: str = "") -> str:
    return (
        f"apiVersion: penstock.dev/v1alpha1\nkind: Connector\nmetadata: {{name: {name}}}\n"
        f"spec:\n  class: {cls}\n{spec}  config:\n    topic: t\n{config}"
    )


def warnings(file: Path, text: str) -> list[str]:
    file.write_text(text)
    return [w.partition("Connector a: ")[2] for w in plans([str(file)], worker_from({}).config, None)[1]]


def refused(file: Path, *texts: str, typed: bool = False) -> list[str]:
    file.write_text("---\n".join(texts))
    found, _ = plans([str(file)], worker_from({}).config, None)
    try:
        check_standard_input(found, ["-" if typed else str(file)])
    except ConfigError as e:
        return [str(p) for p in e.problems]
    return []


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "connectors.yaml"


def test_the_plan_warns_its_author_that_a_pod_has_none(file: Path) -> None:
    assert WARNING in warnings(file, manifest("a"))
    assert WARNING in warnings(file, manifest("a", '    file: ""\n'))
    assert warnings(file, manifest("a", "    file: /x\n")) == []


def test_a_sink_reads_none(file: Path) -> None:
    assert warnings(file, manifest("a", "    topics: t\n", cls="FileStreamSink"))[1:] == []


@pytest.mark.parametrize("value", ["${secret:none:key}", "null"])
def test_a_file_that_is_wrong_is_not_one_that_is_missing(file: Path, value: str) -> None:
    file.write_text(manifest("a", f"    file: {value}\n    exactly.once.support: required\n"))
    with pytest.raises(ConfigError) as caught:
        plans([str(file)], worker_from({}).config, None)
    assert len(caught.value.problems) == 1
    assert "standard input" not in str([*caught.value.problems, *caught.value.warnings])


def test_one_task_may_read_it(file: Path) -> None:
    other = manifest("b", "    file: /x\n")
    stopped = manifest("c", spec="  state: Stopped\n")
    assert refused(file, manifest("a", spec="  tasksMax: 3\n"), other, stopped) == []


def test_two_may_not(file: Path) -> None:
    (problem,) = refused(file, manifest("a"), manifest("b"))
    assert "Connector b: file: is not set, so the task reads standard input, which a-0 already reads; " in problem


def test_none_may_where_manifests_come_from_it(file: Path) -> None:
    (problem,) = refused(file, manifest("a"), manifest("b", "    file: /x\n"), typed=True)
    assert (
        "Connector a: file: is not set, so the task reads standard input, which the manifests are read from" in problem
    )
