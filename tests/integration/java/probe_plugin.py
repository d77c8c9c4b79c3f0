"""Our own Java plugin, compiled in the test session, which does what its properties say.

Import the fixtures by name into a test module: `from .probe_plugin import probe, probe_lab`.
"""

import os
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import psutil
import pytest
from confluent_kafka import Consumer

from penstock_model.contracts.task_spec import TaskSpec
from penstock_runtime.java_home import find_java
from penstock_runtime.java_plugins.hosts import close_host
from penstock_runtime.java_plugins.jars import COMPILER, JARS, fetched_jars
from penstock_runtime.plugins.plugin_path import use_plugin_path

from ..lab import committed_by
from ..reading import Reader
from ..running import PATIENCE, Processes, Running, manifest, new_name, specs, until

__all__ = [
    "NOTIFIED",
    "PREDICATE",
    "SINK",
    "SOURCE",
    "TRANSFORM",
    "Probe",
    "ProbeLab",
    "all_planned",
    "host_jvms",
    "planned",
    "probe",
    "probe_lab",
    "scraped",
    "sink_lab",
]

_SOURCES: Final = Path(__file__).with_name("probe")
SOURCE: Final = "dev.penstock.probe.ProbeSource"
NOTIFIED: Final = "dev.penstock.probe.NotifiedSource"
SINK: Final = "dev.penstock.probe.ProbeSink"
TRANSFORM: Final = "dev.penstock.probe.ProbeTransform"
PREDICATE: Final = "dev.penstock.probe.ProbePredicate"
CONVERTER: Final = "dev.penstock.probe.ProbeConverter"
JSON: Final = "dev.penstock.probe.ProbeJson"
PROVIDER: Final = "dev.penstock.probe.ProbeConfigProvider"
_SERVICES: Final = {
    "org.apache.kafka.connect.source.SourceConnector": f"{SOURCE}\n{NOTIFIED}\ndev.penstock.probe.ApiSource",
    "org.apache.kafka.connect.sink.SinkConnector": f"{SINK}\ndev.penstock.probe.WrongSink\ndev.penstock.probe.ApiSink",
    "org.apache.kafka.connect.transforms.Transformation": f"{TRANSFORM}\n{TRANSFORM}$Value",
    "org.apache.kafka.connect.transforms.predicates.Predicate": PREDICATE,
    "org.apache.kafka.connect.storage.Converter": f"{CONVERTER}\n{JSON}",
    "org.apache.kafka.connect.storage.HeaderConverter": f"{CONVERTER}\n{JSON}",
    "org.apache.kafka.common.config.provider.ConfigProvider": PROVIDER,
}
_HOST: Final = "dev.penstock.host.Main"


@dataclass(frozen=True)
class Probe:
    """The compiled classes, and plugin folders made of them."""

    classes: Path
    folder: Path
    """A plugin path with one plugin: version 1.0.0."""

    def jar(self, target: Path, version: str = "1.0.0", *, manifests: bool = True, but: str | None = None) -> Path:
        """Write a jar of the plugin; without `manifests`, or `but` for one class, only the class itself is there."""
        target.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(target, "w") as jar:
            for file in sorted(self.classes.rglob("*.class")):
                jar.write(file, file.relative_to(self.classes).as_posix())
            jar.writestr("probe-version.txt", version)
            for service, names in _SERVICES.items() if manifests else ():
                named = [name for name in names.splitlines() if name != but]
                jar.writestr(f"META-INF/services/{service}", "".join(f"{name}\n" for name in named))
        return target

    def without(self, folder: Path, *names: str) -> "Probe":
        """Copy the classes to a folder, but for these."""
        shutil.copytree(self.classes, folder, ignore=shutil.ignore_patterns(*(f"{name}.class" for name in names)))
        return Probe(folder, folder)

    def for_java_99(self, folder: Path, *names: str) -> "Probe":
        """Copy the classes to a folder as if these, or all, were compiled for a Java that does not exist yet."""
        made = self.without(folder)
        for file in made.classes.rglob("*.class"):
            if file.stem in names or not names:
                code = file.read_bytes()
                file.write_bytes(code[:6] + (44 + 99).to_bytes(2, "big") + code[8:])
        return made


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    """The compiled plugin."""
    return _compiled(tmp_path_factory.getbasetemp() / "probe")


@cache  # each module that imports the fixture has a session's one of its own
def _compiled(folder: Path) -> Probe:
    """Compile the plugin, with the compiler that compiles the plugin host."""
    folder.mkdir()
    java = find_java()
    libs = fetched_jars(java, print)
    command = [
        *(str(java.executable), "-jar", str(libs / COMPILER.file), "--release", "17", "-encoding", "UTF-8"),
        *("-warn:none", "-cp", ":".join(str(libs / jar.file) for jar in JARS)),
        *("-d", str(folder / "classes"), str(_SOURCES)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    made = Probe(folder / "classes", folder / "plugins")
    made.jar(made.folder / "probe" / "probe.jar")
    return made


@dataclass
class ProbeLab:
    """The probe on the shared Kafka, by `penstock run`, as users run it."""

    servers: str
    processes: Processes
    probe: Probe
    folder: Path
    name: str = field(default_factory=lambda: new_name("probe"))
    connector: str = SOURCE

    @property
    def journal(self) -> list[str]:
        """What the task has written: `start <offset>`, `poll`, `commit`, `stop`; of a sink each call."""
        return self._lines("journal")

    @property
    def out(self) -> list[str]:
        """The records that a sink was given, as lines."""
        return self._lines("out")

    def _lines(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def manifest(
        self, topic: str, config: Mapping[str, Any] | None = None, *, version: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """A manifest of the probe; `more` is what `running.manifest` takes."""
        of_sink = {"topics": topic, "out": str(self.folder / "out")}
        given = {
            **({"topic": topic} if self.connector != SINK else of_sink),
            "journal": str(self.folder / "journal"),
            "value.converter": "StringConverter",
            "key.converter": "StringConverter",
            **(config or {}),
        }
        resource = manifest(self.name, self.connector, given, **more)
        if version is not None:
            resource["spec"]["version"] = version
        return resource

    def run(
        self,
        topic: str,
        config: Mapping[str, Any] | None = None,
        *,
        heap: str = "256m",
        env: Mapping[str, str] | None = None,
        path: Path | None = None,
        worker: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Running:
        """Start `penstock run`."""
        return self.processes.run(
            [self.manifest(topic, config, **more)],
            self.servers,
            *("--plugin-path", str(path or self.probe.folder)),
            worker=worker,
            env={"PENSTOCK_JAVA_HEAP": heap, **(env or {})},
        )

    def spec(self, topic: str, config: Mapping[str, Any] | None = None, **more: Any) -> TaskSpec:
        """The spec of its only task, planned in this process."""
        return planned(self.manifest(topic, config, **more), self.servers, self.probe.folder)

    def fails(self, topic: str, config: Mapping[str, Any] | None = None, **more: Any) -> str:
        """Run it without restarts until it has ended by itself with an error; its log."""
        run = self.run(topic, config, restart={"policy": "Never"}, **more)
        assert run.await_exit() in (1, 2), run.last_words()
        assert not run.tree()
        return run.log_text()

    def expected(self, data: str, topic: str, count: int = 1, *, schemas: bool = False) -> list[list[str]]:
        """What Kafka Connect's own converters make of a data set: topic, key, value and headers of each record, in hex."""
        java = find_java()
        path = [self.probe.classes, *(fetched_jars(java, print) / jar.file for jar in JARS)]
        command = [str(java.executable), "-cp", ":".join(map(str, path)), "dev.penstock.probe.Expected"]
        asked = [data, topic, str(count), str(schemas).lower()]
        done = subprocess.run([*command, *asked], capture_output=True, text=True, check=True, timeout=120)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def committed(self, topic: str, partition: int = 0) -> int | None:
        """What the sink's group has committed."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": f"connect-{self.name}"})
        try:
            return committed_by(consumer, topic, partition)
        finally:
            consumer.close()

    def command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a `penstock` command with the probe on its plugin path."""
        return subprocess.run(
            [sys.executable, "-m", "penstock_cli", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, "PENSTOCK_JAVA_HEAP": "128m"},
        )

    def reader(self, topic: str) -> Reader:
        """A reader of the topic."""
        return Reader(self.servers, topic)


@pytest.fixture
def probe_lab(kafka: str, processes: Processes, probe: Probe, tmp_path: Path) -> ProbeLab:
    """The probe on the shared Kafka."""
    folder = tmp_path / "lab"
    folder.mkdir()
    return ProbeLab(kafka, processes, probe, folder)


@pytest.fixture
def sink_lab(probe_lab: ProbeLab) -> ProbeLab:
    """The probe's sink on the shared Kafka."""
    probe_lab.connector = SINK
    return probe_lab


def planned(resource: dict[str, Any], servers: str, path: Path) -> TaskSpec:
    """The spec of the only task of a manifest, planned in this process with a plugin path."""
    return all_planned(resource, servers, path)[0]


def all_planned(
    resource: dict[str, Any], servers: str, path: Path, worker: Mapping[str, str] | None = None
) -> list[TaskSpec]:
    """The specs of all tasks, likewise."""
    use_plugin_path([str(path)])
    try:
        return specs(resource, servers, worker)
    finally:
        use_plugin_path([])
        close_host()


def scraped(task: Running) -> dict[str, float]:
    """The metrics at the endpoint of a task, by name and labels."""
    port = task.await_event(lambda e: e["event"] == "metrics")["port"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, _, value in (x.rpartition(" ") for x in lines if not x.startswith("#"))}


def host_jvms(run: Running) -> list[psutil.Process]:
    """The JVMs of Java plugins that a run has started; orphans too."""
    found = []
    for process in run.tree():
        try:
            if _HOST in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found


def await_jvm(run: Running, but: int | None = None) -> psutil.Process:
    """The JVM of the task, once it runs; `but` is the process id of one that was killed."""

    def found() -> list[psutil.Process]:
        tasks = {t.pid for t in run.tasks()}
        return [j for j in host_jvms(run) if j.pid != but and _parent(j) in tasks]

    return until(found, seconds=PATIENCE, what=run.last_words)[0]


def _parent(process: psutil.Process) -> int:
    try:
        return process.ppid()
    except psutil.Error:
        return 0
