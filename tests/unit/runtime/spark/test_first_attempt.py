"""Work enters Spark's workers only through the guard that refuses a second attempt."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyspark
import pytest
from tests.words import words

from penstock.errors import RetriableError
from penstock_runtime.spark.first_attempt import in_first_attempt, in_job

ROOT: Final = Path(__file__).parents[4]
WAYS_IN: Final = words("""
    parallelize mapPartitions mapPartitionsWithIndex foreachPartition foreachBatch runJob rdd toLocalIterator dataSource
    mapInArrow mapInPandas applyInArrow applyInPandas applyInPandasWithState transformWithState cogroup
    udf udtf pandas_udf arrow_udf
""")
"""Methods and attributes of PySpark by which a function gets into a Python worker."""
TRAINING: Final = {("class_archive.py", "_run", "parallelize")}
"""At the build of an image: it loads Spark's classes, and there are no records."""


def ways_in(source: str) -> Iterator[tuple[str, str]]:
    """The function that uses each way, and which."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and node.attr in WAYS_IN:
                    yield function.name, node.attr


class Context:
    def __init__(self, attempt: int, group: str = "batch-1") -> None:
        self._attempt = attempt
        self._group = group

    def attemptNumber(self) -> int:  # noqa: N802 (Spark's name)
        return self._attempt

    def getLocalProperty(self, name: str) -> str:  # noqa: N802 (Spark's name)
        return self._group


@pytest.mark.parametrize("context", [None, Context(0)])
def test_a_first_attempt_runs_in_a_worker_and_in_the_driver(
    context: Context | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark.TaskContext, "get", lambda: context)
    assert in_first_attempt(bytes.upper, b"a") == b"A"


@pytest.mark.parametrize("attempt", [1, 2])
def test_a_later_attempt_fails_before_anything_is_called(attempt: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark.TaskContext, "get", lambda: Context(attempt))
    called: list[bytes] = []

    def entry(payload: bytes) -> bytes:
        called.append(payload)
        return payload

    with pytest.raises(RetriableError, match=rf"attempt {attempt + 1}.*plans the batch again"):
        in_first_attempt(entry, b"a")
    assert called == []


@pytest.mark.parametrize("context", [Context(1), Context(0, "a plugin's")])
def test_kept_rows_are_made_only_in_the_first_attempt_of_their_job(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark.TaskContext, "get", lambda: Context(0))
    assert in_job("batch-1", bytes.upper, b"a") == b"A"
    monkeypatch.setattr(pyspark.TaskContext, "get", lambda: context)
    with pytest.raises(RetriableError, match="plans the batch again"):
        in_job("batch-1", bytes.upper, b"a")


def test_both_functions_that_run_work_on_spark_use_the_first_attempt_guard() -> None:
    """`KeptRows.frame` hands them bytes that are kept, and nothing that could be delivered."""
    found = {
        (file.name, function, way)
        for folder in ("runtime", "connectors")
        for file in (ROOT / folder).rglob("*.py")
        if "tests" not in file.relative_to(ROOT).parts
        for function, way in ways_in(file.read_text())
    }
    assert found - TRAINING == {
        ("jobs.py", "in_workers", "parallelize"),
        ("kept_rows.py", "fill", "parallelize"),
        ("kept_rows.py", "fill", "rdd"),
        ("kept_rows.py", "frame", "mapInArrow"),
    }
    folder = ROOT / "runtime/penstock_runtime/spark"
    assert "parts.map(partial(in_first_attempt, entry))" in (folder / "jobs.py").read_text()
    assert "partial(in_job, context.getLocalProperty(_GROUP), entry)" in (folder / "kept_rows.py").read_text()


def test_a_new_way_into_the_workers_would_be_found() -> None:
    assert [*ways_in("def new(frame):\n    return frame.mapInArrow(work, 'n int')")] == [("new", "mapInArrow")]
