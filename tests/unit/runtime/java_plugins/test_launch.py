"""A JVM of Java plugins is started so that it takes little memory while it is quiet."""

from pathlib import Path

import pytest

from penstock_model.resources.task_settings import Java
from penstock_runtime.java_plugins import class_archive
from penstock_runtime.java_plugins.jvm.heap import Heap
from penstock_runtime.java_plugins.jvm.options import environment, jvm_options

HEAP = Heap("512m", None, "")


def test_a_jvm_gives_heap_back_and_bounds_what_classes_may_take() -> None:
    found = jvm_options(Java(), HEAP, is_long=True)
    expected = {"-Xmx512m", "-Xms16m", "-XX:MaxMetaspaceSize=256m", "-XX:+UseSerialGC", "-XX:-ShrinkHeapInSteps"}
    assert expected <= {*found}
    assert "-XX:MaxHeapFreeRatio=40" in found


def test_options_of_a_connector_replace_the_defaults() -> None:
    found = jvm_options(Java(options=["-XX:MaxMetaspaceSize=1g", "-XX:+UseG1GC"]), HEAP, is_long=True)
    assert found.index("-XX:MaxMetaspaceSize=1g") > found.index("-XX:MaxMetaspaceSize=256m")
    assert "-XX:+UseSerialGC" not in found


def test_only_a_jvm_that_runs_for_long_has_the_optimizing_compiler() -> None:
    assert "-XX:TieredStopAtLevel=1" in jvm_options(Java(), HEAP, is_long=False)
    assert "-XX:TieredStopAtLevel=1" not in jvm_options(Java(), HEAP, is_long=True)


def test_an_environment_that_is_given_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    assert environment()["MALLOC_ARENA_MAX"] == "2"
    monkeypatch.setenv("MALLOC_ARENA_MAX", "7")
    assert environment()["MALLOC_ARENA_MAX"] == "7"


def test_without_an_archive_java_starts_as_it_would(tmp_path: Path) -> None:
    archive = tmp_path / "classes.jsa"
    assert class_archive.options(None) == class_archive.options(archive) == []
    archive.touch()  # a Java that writes none
    assert class_archive.options(archive) == []
    archive.write_bytes(b"classes")
    assert f"-XX:SharedArchiveFile={archive}" in class_archive.options(archive)
