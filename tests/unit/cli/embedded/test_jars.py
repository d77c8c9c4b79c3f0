import hashlib
import threading
from pathlib import Path

import pytest

from penstock.errors import ConnectError
from penstock_cli.embedded import jars
from penstock_runtime.java_home import Java
from penstock_runtime.maven import Jar, cache_folder

NAMES = ("kafka_2.13-4.3.1.jar", "kafka-clients-4.3.1.jar")
OF_AN_EMPTY_FILE = hashlib.sha256().hexdigest()
PINS = tuple(Jar("org.apache.kafka", name, "4.3.1", OF_AN_EMPTY_FILE) for name in ("kafka_2.13", "kafka-clients"))


def ivy_that(folder: Path, script: str) -> Java:
    """A java that runs this script instead of Ivy, and notes each run in `runs`."""
    executable = folder / "java"
    executable.write_text(f"#!/bin/sh\necho run >> {folder}/runs\nmkdir -p libs\n{script}\n")
    executable.chmod(0o755)
    return Java(executable, 17, "a build")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(jars, "_JARS", PINS)
    return tmp_path / "cache" / "kafka-4.3.1"


def test_kafka_is_fetched_once_by_however_many_start_together(tmp_path: Path, cache: Path) -> None:
    java = ivy_that(tmp_path, f"touch libs/{NAMES[0]} libs/{NAMES[1]}")
    said: list[str] = []
    found: list[tuple[Path, ...]] = []
    threads = [threading.Thread(target=lambda: found.append(jars.kafka_jars(java, said.append))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [tuple(sorted(cache / "libs" / name for name in NAMES))] * 4
    assert said == ["Fetching Kafka 4.3.1 (44 MB, once)..."]
    assert (tmp_path / "runs").read_text() == "run\n"


def test_what_is_in_the_cache_needs_neither_network_nor_pyspark(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "libs").mkdir(parents=True)
    for name in NAMES:
        (cache / "libs" / name).touch()
    monkeypatch.setattr("importlib.util.find_spec", pytest.fail)  # by which PySpark is looked for
    assert jars.kafka_jars(ivy_that(tmp_path, "exit 1"), pytest.fail) == tuple(
        sorted(cache / "libs" / name for name in NAMES)
    )


@pytest.mark.parametrize(
    "script",
    [
        "exit 1",
        f"touch libs/{NAMES[0]}",
        f"touch libs/{NAMES[0]} libs/{NAMES[1]}; exit 1",
        f"touch libs/{NAMES[0]}; echo another > libs/{NAMES[1]}",
    ],
)
def test_a_fetch_that_does_not_bring_exactly_the_pinned_files_leaves_nothing(
    tmp_path: Path, cache: Path, script: str
) -> None:
    with pytest.raises(ConnectError, match=r"cannot fetch .* from Maven Central"):
        jars.kafka_jars(ivy_that(tmp_path, script), lambda _: None)
    assert sorted(path.name for path in cache.iterdir()) == ["fetch.log", "lock"]


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "file"))
    with pytest.raises(ConnectError, match="set PENSTOCK_CACHE to a writable folder"):
        jars.kafka_jars(ivy_that(tmp_path, "exit 1"), lambda _: None)


def test_the_cache_follows_xdg_unless_penstock_cache_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/xdg/penstock")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache_folder() == Path("/home/someone/.cache/penstock")
    monkeypatch.setenv("PENSTOCK_CACHE", "/elsewhere")
    assert cache_folder() == Path("/elsewhere")
