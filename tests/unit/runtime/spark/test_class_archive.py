"""An archive of Spark's classes is used if it fits, and ignored silently otherwise."""

from pathlib import Path

import pytest

from penstock_runtime.spark import class_archive

CLASS_PATH = "spark.driver.defaultExtraClassPath"


def test_without_an_archive_spark_starts_as_it_would(tmp_path: Path) -> None:
    assert class_archive.settings("-Xss512k", tmp_path / "none") == {"spark.driver.defaultJavaOptions": "-Xss512k"}


def test_an_archive_comes_with_the_class_path_that_it_was_made_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    archive = tmp_path / "a folder" / "classes.jsa"
    archive.parent.mkdir()
    archive.touch()
    found = class_archive.settings("-Xss512k", archive)
    assert found["spark.driver.defaultJavaOptions"] == f'-Xss512k "-XX:SharedArchiveFile={archive}"'
    jars = found[CLASS_PATH].split(":")
    assert jars == sorted(jars)
    assert any("/spark-core_" in jar for jar in jars)


def test_other_spark_installation_does_not_use_the_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "classes.jsa").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert CLASS_PATH not in class_archive.settings("", tmp_path / "classes.jsa")
