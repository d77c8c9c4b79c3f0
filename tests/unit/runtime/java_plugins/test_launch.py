"""A JVM of Java plugins is started so that it takes little memory while it is quiet."""

from pathlib import Path

import pytest

from penstock_runtime.java_plugins.launch import class_archive
from penstock_runtime.java_plugins.launch.options import environment, options


def test_a_jvm_gives_heap_back_and_bounds_what_classes_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_JAVA_HEAP", "512m")
    monkeypatch.delenv("PENSTOCK_JAVA_CLASSES", raising=False)
    found = options(is_long=True)
    assert {"-Xmx512m", "-Xms16m", "-XX:MaxMetaspaceSize=256m", "-XX:+UseSerialGC", "-XX:-ShrinkHeapInSteps"} <= {
        *found
    }
    assert "-XX:MaxHeapFreeRatio=40" in found
    monkeypatch.setenv("PENSTOCK_JAVA_CLASSES", "1g")
    assert "-XX:MaxMetaspaceSize=1g" in options(is_long=True)


def test_only_a_jvm_that_runs_for_long_has_the_optimizing_compiler() -> None:
    assert "-XX:TieredStopAtLevel=1" in options(is_long=False)
    assert "-XX:TieredStopAtLevel=1" not in options(is_long=True)


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
