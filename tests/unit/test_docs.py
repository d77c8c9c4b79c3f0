"""The code in the guide for plugin authors runs, and its examples pass the suites that it names."""

import os
import re
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from email.message import Message
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from penstock import ConnectError, DataError, Record, RecordBatch, RetriableError, SinkTaskContext, TopicPartition
from penstock.testing import run_transform

GUIDE = Path(__file__).parents[2] / "docs" / "plugins.md"


def blocks(language: str = "python") -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)


def run(folder: Path, *arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    """Python with these arguments, in a folder whose modules and distributions it finds."""
    return subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    """A folder with the distribution of the guide, as if it were installed: its module and its entry points."""
    (tmp_path / "acme_penstock.py").write_text(blocks()[0])
    project = tomllib.loads(blocks("toml")[0])["project"]
    info = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [f"{alias} = {path}" for alias, path in project["entry-points"]["penstock.plugins"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[penstock.plugins]", *lines, ""]))
    return tmp_path


def test_the_transform_of_the_guide_does_what_it_says() -> None:
    names: dict[str, Any] = {}
    exec(blocks()[0], names)
    records = run_transform(names["Shout"], {}, [Record(topic="t", value="hello")])
    assert [r and r.value for r in records] == ["HELLO!"]


def test_the_transform_of_the_guide_takes_about_ten_lines() -> None:
    lines = [line for line in blocks()[0].splitlines() if line.strip() and not line.startswith(("from", "import"))]
    assert len(lines) <= 12


def test_the_transform_of_the_guide_passes_the_suite_of_the_guide(acme: Path) -> None:
    (acme / "test_shout.py").write_text(blocks()[1])
    done = run(acme, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shout.py")
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_the_transform_of_the_guide_is_found_by_its_entry_point_and_tried(acme: Path) -> None:
    (acme / "loud.yaml").write_text(blocks("yaml")[0])
    command, _, printed = next(b for b in blocks("console") if "penstock transform" in b).partition("\n")
    assert command == "$ echo '\"hello\"' | penstock transform loud.yaml"
    done = run(acme, "-m", "penstock_cli", "transform", "loud.yaml", stdin='"hello"\n')
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


def test_the_transform_of_the_guide_is_found_by_its_path_without_an_entry_point(tmp_path: Path) -> None:
    (tmp_path / "acme_penstock.py").write_text(blocks()[0])
    manifest = blocks("yaml")[0].replace("transforms.loud.type: Shout", 'transforms.loud.type: "acme_penstock:Shout"')
    (tmp_path / "loud.yaml").write_text(manifest)
    done = run(tmp_path, "-m", "penstock_cli", "transform", "loud.yaml", stdin='"hello"\n')
    assert (done.returncode, done.stderr) == (0, "")
    assert 'value "HELLO?!"' in done.stdout


def test_the_configuration_of_the_transform_of_the_guide_is_shown(acme: Path) -> None:
    done = run(acme, "-m", "penstock_cli", "plugins", "Shout")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Shout 1.2.0 (transform)\n  Writes text values in capitals.")
    assert 'suffix  (STRING, default "!", MEDIUM)\n      What every text ends in.' in done.stdout


def test_the_plugins_of_the_guide_pass_the_suites_of_the_guide(tmp_path: Path) -> None:
    (tmp_path / "test_plugins.py").write_text("\n".join(blocks()[2:]))
    done = run(tmp_path, "-m", "pytest", "-v", "-W", "error", "-p", "no:cacheprovider", "test_plugins.py")
    assert done.returncode == 0, done.stdout
    for suite in (
        "TestAddOrigin",
        "TestAddOriginToStructs",
        "TestNumbers",
        "TestPolledNumbers",
        "TestRows",
        "TestSkipsEmpty",
        "TestTables",
        "TestWithoutId",
    ):
        assert re.search(rf"{suite}::test_\w+ PASSED", done.stdout)


def test_the_sink_of_the_guide_holds_a_partition_from_the_first_write_that_met_trouble(tmp_path: Path) -> None:
    def batch(topic: str, offset: int) -> RecordBatch:
        record = Record(topic=topic, value=f"{topic}{offset}", offset=offset)
        return RecordBatch.of([record]).replace(original_topic=topic, original_partition=0)

    names: dict[str, Any] = {}
    exec("\n".join(b for b in blocks() if "class Rows(" in b or "class FoldersSink" in b), names)
    away, good = TopicPartition("away", 0), TopicPartition("good", 0)
    paused: set[TopicPartition] = set()
    sink, writer = names["FoldersSink"](tmp_path), names["FoldersWriter"](tmp_path)
    sink.initialize(SinkTaskContext("c", 0, "1", paused.update, paused.difference_update))
    (tmp_path / "good").mkdir()
    messages = [writer.write([batch(topic, n) for topic in ("away", "good")], lambda *_: None) for n in (5, 6)]
    assert sink.commit(messages, {away: 7, good: 7}) == {away: 5, good: 7}
    assert paused == {away}
    assert (tmp_path / "good" / "values").read_text() == "good5\ngood6\n"
    (tmp_path / "away").mkdir()
    assert sink.commit([], {away: 5, good: 7}) == {away: 5, good: 7}
    assert paused == set()


@pytest.mark.parametrize(
    ("refused", "raised"),
    [
        (HTTPError("", 404, "not found", Message(), None), (DataError, "'EUR' has no rate", None)),
        (
            HTTPError("", 503, "busy", Message(), None),
            (RetriableError, "Rates are unavailable: HTTP Error 503: busy", 5),
        ),
        (TimeoutError("timed out"), (RetriableError, "Rates are unavailable: timed out", 5)),
        (None, None),
    ],
)
def test_the_call_of_the_guide_that_may_fail_asks_for_another_try(refused: Any, raised: Any) -> None:
    def urlopen(url: str, timeout: float) -> BytesIO:
        if refused is not None:
            raise refused
        return BytesIO(b"1.07")

    names: dict[str, Any] = {"__name__": "guide"}
    exec(next(block for block in blocks() if "urlopen" in block), names)
    names["urlopen"] = urlopen
    record = Record(topic="t", value={"currency": "EUR"})
    if raised is None:
        assert [r and r.value for r in run_transform(names["with_rate"], {}, [record])] == [
            {"currency": "EUR", "rate": "1.07"}
        ]
        return
    with pytest.raises(ConnectError) as caught:
        run_transform(names["with_rate"], {}, [record])
    assert (caught.type, str(caught.value), getattr(caught.value, "retry_after", None)) == raised


def test_the_rows_of_a_query_in_the_guide_become_records_with_its_schema() -> None:
    names: dict[str, Any] = {}
    exec(next(block for block in blocks() if "schema_of_cursor" in block), names)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE customers (name TEXT, id INTEGER PRIMARY KEY)")
        database.execute("INSERT INTO customers VALUES (NULL, 2), ('Ada', 1)")
        records = list(names["customers"](database))
    assert [record.value for record in records] == [{"id": 1, "name": "Ada"}, {"id": 2, "name": None}]
    assert {repr(record.value_schema) for record in records} == {
        "struct({'id': INT64, 'name': OPTIONAL_STRING}, name='Customer')"
    }


def test_the_distribution_of_the_guide_installs_only_the_module() -> None:
    """Beside its test a module is not found by itself: setuptools refuses two top-level modules."""
    project = tomllib.loads(blocks("toml")[0])
    module, _, _ = project["project"]["entry-points"]["penstock.plugins"]["Shout"].partition(":")
    assert project["tool"]["setuptools"]["py-modules"] == [module]
    assert project["build-system"]["build-backend"] == "setuptools.build_meta"
