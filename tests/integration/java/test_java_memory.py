"""What a Java plugin costs while it is quiet."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from connectors.sql.tests.conftest import Database

from penstock_runtime.java_home import find_java
from penstock_runtime.java_plugins import class_archive, host_jar
from penstock_runtime.java_plugins.catalog import plugins_in
from penstock_runtime.java_plugins.hosts import close_host

from ..reading import Reader, create
from ..running import Processes, manifest, new_name, until
from .capture import CLASS, capture, json_converters
from .plugins import debezium
from .probe_plugin import Probe, ProbeLab, await_jvm, probe, probe_lab

__all__ = ["Probe", "probe", "probe_lab"]

_MB = 1_000_000


def memory(*processes: psutil.Process) -> float:
    """PSS in MB: of a page that several processes share, each has its part."""
    found = 0
    for process in processes:
        try:
            found += process.memory_full_info().pss
        except psutil.Error:  # it has ended
            continue
    return found / _MB


@pytest.fixture
def jars() -> Iterator[tuple[Path, ...]]:
    """The jars that run plugins; the JVM of this process ends before and after the test."""
    close_host()
    yield host_jar.class_path(find_java(), print)
    close_host()


def started(jars: tuple[Path, ...]) -> psutil.Process:
    """The JVM of this process, once it has listed plugins."""
    location = next(str(jar) for jar in jars if jar.name.startswith("connect-transforms"))
    assert any(plugin.simple_name == "Filter" for plugin in plugins_in(location))
    (jvm,) = [p for p in psutil.Process().children(recursive=True) if class_archive.MAIN in p.cmdline()]
    return jvm


def test_a_jvm_of_plugins_maps_the_archive_of_its_classes(jars: tuple[Path, ...]) -> None:
    archive = host_jar.archive(find_java(), jars)
    assert str(archive) in Path(f"/proc/{started(jars).pid}/maps").read_text()


def test_an_archive_that_does_not_fit_is_passed_over_without_a_word(
    jars: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copyfile(jars[0], tmp_path / class_archive.HOST_JAR)
    for jar in jars[1:]:
        (tmp_path / jar.name).symlink_to(jar)
    made = host_jar.archive(find_java(), jars)  # for other places of the jars
    assert made is not None
    for content in (made.read_bytes(), b"no archive at all"):
        (tmp_path / class_archive.ARCHIVE).write_bytes(content)
        monkeypatch.setenv(host_jar.INSTALLED_VARIABLE, str(tmp_path))
        jvm = started(jars)
        assert f"-XX:SharedArchiveFile={tmp_path / class_archive.ARCHIVE}" in jvm.cmdline()
        close_host()
    assert not [record for record in caplog.records if record.name.startswith("output.")]


@pytest.mark.slow
def test_heap_that_a_plugin_no_longer_needs_is_given_back_once_it_is_quiet(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    marker = probe_lab.folder / "once"
    run = probe_lab.run(topic, {"total": 300, "poll.action": "swell", "at": 300, "poll.once": marker}, heap="512m")
    with probe_lab.reader(topic) as reader:
        reader.count(300)
        until(lambda: "swollen" in run.log_text(), what=run.last_words)
        jvm = await_jvm(run)
        assert memory(jvm) > 250
        until(lambda: memory(jvm) < 120, what=lambda: f"{memory(jvm):.0f} MB; {run.last_words()}")
        run.stop()


@pytest.mark.slow
def test_a_quiet_debezium_task_takes_less_than_300_mb(kafka: str, database: Database, processes: Processes) -> None:
    database.run("CREATE TABLE orders (id int PRIMARY KEY, item text)")
    database.run("INSERT INTO orders SELECT i, 'the quick brown fox ' || i FROM generate_series(1, 100000) i")
    prefix = new_name("shop")
    connector = manifest(prefix, CLASS, {**capture(database, prefix), **json_converters(schemas=False)})
    run = processes.run([connector], kafka, "--plugin-path", str(debezium("postgres")))
    with Reader(kafka, f"{prefix}.public.orders") as reader:
        reader.count(100_000)
        until(lambda: memory(*run.tree()) < 300, what=lambda: f"{memory(*run.tree()):.0f} MB")
        database.run("UPDATE orders SET item = 'gate' WHERE id = 2")
        reader.count(100_001)
        assert memory(*run.tree()) < 300
        run.stop()
