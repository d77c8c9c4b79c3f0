"""Java plugins from the image of a PluginVersion: looked into, planned, and run in the JVM of a task."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.integration.java.probe_plugin import (
    CONVERTER,
    PREDICATE,
    SOURCE,
    TRANSFORM,
    Probe,
    await_jvm,
    host_jvms,
    probe,
)

from penstock_model.contracts.definitions import find_line, unpack
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, JobAnswer, OffsetsVerb, OffsetsWork, Outcome
from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_model.contracts.verification import FoundClass, VerificationRequest, read_classes
from penstock_model.resources.plugin_offers import offers_of
from penstock_runtime.process.termination_message import TERMINATION_LOG_VARIABLE

from ..checking import assert_exactly_once
from ..pods import Pods, pods, shown
from ..reading import Reader
from ..running import new_name, next_life, until
from .test_jobs import STRING, alive, problems
from .test_jobs import source as scripted
from .test_offsets_actions import HUGE

__all__ = ["Probe", "pods", "probe"]

IMAGE = f"quay.example/connect@sha256:{'0' * 64}"


def looked(folder: Path, *declared: DeclaredClass, seconds: float = 60) -> tuple[int, str, tuple[FoundClass, ...]]:
    """The answer of a verifying pod: its exit code, its message, and the classes."""
    word, _ = ended(folder, *declared, seconds=seconds)
    return word.exit_code, word.message or "", read_classes(word.classes or "")


def ended(folder: Path, *declared: DeclaredClass, seconds: float = 60) -> tuple[TerminationMessage, str]:
    """The termination message of a verifying pod, and its log."""
    whole = PluginMount(
        name="java", plugin="", version="", image=IMAGE, folder=str(folder), runtime="Java", classes=declared
    )
    log, file = folder.parent / "termination-log", folder.parent / "request.json"
    file.write_text(VerificationRequest(mount=whole, seconds=seconds).to_json())
    done = subprocess.run(
        [sys.executable, "-m", "penstock_runtime.verify", str(file)],
        env={**os.environ, TERMINATION_LOG_VARIABLE: str(log), "PENSTOCK_JAVA_HEAP": "128m"},
        capture_output=True,
        check=False,
        timeout=120,
    )
    word = TerminationMessage.of(log.read_bytes())
    assert word is not None, done.stderr.decode()
    assert len(log.read_bytes()) <= 4096
    assert word.exit_code == done.returncode
    return word, done.stdout.decode()


def mounted(folder: Path, class_name: str, *places: str) -> PluginMount:
    """The folder of one plugin as the mount of a pod, as the operator makes it from the status."""
    code, message, classes = looked(folder.parent)
    assert code == ExitCode.OK, message
    document = {
        "metadata": {"name": "java"},
        "spec": {"runtime": "Java", "image": IMAGE},
        "status": {"classes": [c.model_dump(by_alias=True) for c in classes]},
    }
    (offer,) = (o for o in offers_of(document) if o.plugin == class_name and Path(o.folder).name == folder.name)
    return offer.model_copy(update={"folder": str(folder), "places": places})


@pytest.fixture
def plugins(probe: Probe, tmp_path: Path) -> Path:
    """A folder of plugins as an image has it: the probe in two versions."""
    folder = tmp_path / "connect"
    probe.jar(folder / "one" / "probe.jar", "1.0.0")
    probe.jar(folder / "two" / "probe.jar", "2.0.0")
    return folder


def test_a_pod_lists_the_classes_of_an_image_with_versions_and_folders_and_needs_no_declaration(plugins: Path) -> None:
    shutil.copytree(plugins / "two", plugins / "same")
    code, message, classes = looked(plugins)
    assert (code, "classes of Java plugins; status.classes lists them" in message) == (ExitCode.OK, True)
    assert {SOURCE, TRANSFORM, f"{TRANSFORM}$Value", PREDICATE} <= {c.class_name for c in classes}
    sources = [(c.type, c.version, c.paths) for c in classes if c.class_name == SOURCE]
    assert sources == [("source", "1.0.0", ("one",)), ("source", "2.0.0", ("same", "two"))]


def test_a_pod_publishes_the_configuration_of_each_class_in_each_version(plugins: Path) -> None:
    shutil.copytree(plugins / "two", plugins / "same")
    word, log = ended(plugins)
    assert word.definitions is not None
    content = find_line(log, word.definitions)
    assert content is not None
    found = unpack(content, word.definitions)
    transform = found.of(TRANSFORM, "transform", "2.0.0")
    assert transform is not None
    assert transform.paths == ("same", "two")
    keys = {k.name: k for k in transform.config}
    assert (keys["does"].type, keys["does"].required, keys["does"].documentation) == ("STRING", True, "What is done.")
    most = keys["most"]
    assert (most.default_value, most.valid, most.minimum, most.maximum) == ("0", "[0,...,9]", 0, 9)
    assert {(c.class_name, c.type, c.version) for c in found.classes} == {
        (c.class_name, c.type, c.version) for c in read_classes(word.classes or "")
    }


def test_plugins_lie_in_an_image_as_the_build_of_strimzi_puts_them(probe: Probe, tmp_path: Path) -> None:
    """`<plugin>/<hash of the artifact>/`, with the archive's own folder below it; all artifacts of a plugin are one."""
    folder = tmp_path / "plugins"
    probe.jar(folder / "tgz" / "1a2b3c4d" / "probe-connector" / "probe.jar", "1.0.0")
    both = probe.jar(tmp_path / "probe.jar", "2.0.0")
    parts = [folder / "jars" / name / f"{name}.jar" for name in ("0f0f0f0f", "5e6f7a8b")]
    with zipfile.ZipFile(both) as content:
        for part, is_code in zip(parts, (True, False), strict=True):
            part.parent.mkdir(parents=True)
            with zipfile.ZipFile(part, "w") as jar:
                for name in content.namelist():
                    if name.endswith(".class") is is_code:
                        jar.writestr(name, content.read(name))
    code, message, classes = looked(folder)
    assert code == ExitCode.OK, message
    sources = [(c.version, c.paths) for c in classes if c.class_name == SOURCE]
    assert sources == [("1.0.0", ("tgz/1a2b3c4d/probe-connector",)), ("2.0.0", ("jars",))]


def test_classes_that_are_declared_must_be_there_also_where_no_service_manifest_names_them(
    probe: Probe, tmp_path: Path
) -> None:
    folder = tmp_path / "connect"
    probe.jar(folder / "probe.jar", but=SOURCE)
    assert SOURCE not in [c.class_name for c in looked(folder)[2]]
    _, _, found = looked(folder, DeclaredClass(alias="ProbeSource", type="source", java_names=(SOURCE,)))
    assert [c.paths for c in found if c.class_name == SOURCE] == [(".",)]
    code, message, classes = looked(folder, DeclaredClass(alias="ProbeSource", type="sink", java_names=(SOURCE,)))
    assert (code, classes) == (ExitCode.CONFIG_INVALID, ())
    assert f"does not have {SOURCE} (sink), which spec.classes declares" in message


def test_a_wrong_path_and_a_folder_without_plugins_are_refused_with_what_to_do(tmp_path: Path) -> None:
    code, message, _ = looked(tmp_path / "nowhere")
    assert (code, message) == (
        ExitCode.CONFIG_INVALID,
        f"the image {IMAGE} has no folder {tmp_path}/nowhere; set spec.path to the folder with the jars",
    )
    (tmp_path / "empty").mkdir()
    code, message, _ = looked(tmp_path / "empty")
    assert (code, "it contains no jar" in message) == (ExitCode.CONFIG_INVALID, True)


def test_a_folder_that_takes_too_long_to_look_into_says_what_to_raise(plugins: Path) -> None:
    code, message, _ = looked(plugins, seconds=0.1)
    assert (code, "raise job.deadlineSeconds of the release" in message) == (ExitCode.FAILED, True)
    assert "imported" not in message


def test_what_is_compiled_for_a_newer_java_is_reported_with_both_versions_and_refused_where_nothing_else_is_there(
    probe: Probe, tmp_path: Path
) -> None:
    folder = tmp_path / "connect"
    probe.for_java_99(tmp_path / "all").jar(folder / "probe" / "probe.jar")
    code, message, _ = looked(folder)
    assert code == ExitCode.CONFIG_INVALID
    assert f"{SOURCE}, " in message
    assert f"in {folder}/probe: " in message
    assert ".class in probe.jar is compiled for Java 99, and the runtime has Java " in message

    probe.for_java_99(tmp_path / "one", "ProbeSource").jar(folder / "probe" / "probe.jar")
    code, message, classes = looked(folder)
    assert code == ExitCode.OK
    why = f"{SOURCE} in {folder}/probe: dev/penstock/probe/ProbeSource.class in probe.jar is compiled for Java 99"
    assert f"cannot load dev.penstock.probe.NotifiedSource, {why}" in message  # which extends it
    assert TRANSFORM in [c.class_name for c in classes]
    assert SOURCE not in [c.class_name for c in classes]


def planned(pods: Pods, topic: str, *mounts: PluginMount, **config: Any) -> JobAnswer:
    resource = shown(new_name(), "shop", **{"class": SOURCE, "config": {**STRING, "topic": topic, **config}})
    return pods.answer(Action.PLAN, resource, mounts=mounts, prepare=True)


def test_a_plan_has_the_version_of_the_image_and_a_task_runs_it_with_a_transform_of_another_version(
    pods: Pods, plugins: Path
) -> None:
    source = mounted(plugins / "one", SOURCE, "connector")
    transform = mounted(plugins / "two", TRANSFORM, "transforms.x")
    topic = pods.lab.topic()
    changed = {"transforms": "x", "transforms.x.type": f"{TRANSFORM}$Value", "transforms.x.does": "version"}
    answer = planned(pods, topic, source, transform, **changed)
    assert answer.outcome is Outcome.DONE, problems(answer)
    assert answer.plan is not None
    assert (answer.plan.class_name, answer.plan.version) == ("ProbeSource", "1.0.0")
    task = pods.task(alive(answer.plan.tasks[0].with_mounts([source, transform]), answer.epoch))
    report = task.await_report("RUNNING")
    assert report.versions == {**report.versions, "connector": "1.0.0", "transforms.x": "2.0.0"}
    with Reader(pods.lab.servers, topic) as reader:
        reader.until(lambda: len(reader.records) >= 3)
        assert {r.value for r in reader.records} == {b"2.0.0"}
    task.process.stop()
    assert task.last_word().exit_code == ExitCode.OK


def test_an_image_without_the_folder_that_was_listed_is_refused_when_planned(pods: Pods, plugins: Path) -> None:
    source = mounted(plugins / "one", SOURCE, "connector")
    shutil.rmtree(plugins / "one")
    answer = planned(pods, "t", source)
    assert answer.outcome is Outcome.INVALID
    assert f"lists {SOURCE} 1.0.0, but its image {IMAGE} has no {plugins}/one" in problems(answer)[0]


@pytest.mark.slow
def test_converters_transforms_and_predicates_of_images_work_at_a_connector_of_python(
    pods: Pods, plugins: Path
) -> None:
    """No Java connector is there. Each place has the version that it asks for, in one JVM."""
    mounts = [
        mounted(plugins / "two", CONVERTER, "value.converter"),
        mounted(plugins / "one", TRANSFORM, "transforms.x"),
        mounted(plugins / "two", PREDICATE, "predicates.p"),
    ]
    topic = pods.lab.topic()
    config = {
        "value.converter": CONVERTER,
        "value.converter.version": "true",
        "transforms": "x",
        "transforms.x.type": f"{TRANSFORM}$Value",
        "transforms.x.does": "version",
        "transforms.x.predicate": "p",
        "predicates": "p",
        "predicates.p.type": PREDICATE,
        "predicates.p.pattern": ".*",
    }
    resource = scripted(pods, topic, config=config)
    answer = pods.answer(Action.PLAN, resource, mounts=mounts, prepare=True)
    assert answer.outcome is Outcome.DONE, problems(answer)
    assert answer.plan is not None
    task = pods.task(alive(answer.plan.tasks[0].with_mounts(mounts), answer.epoch))
    report = task.await_report("RUNNING")
    places = {"value.converter": "2.0.0", "transforms.x": "1.0.0", "predicates.p": "2.0.0"}
    assert report.versions == {**report.versions, **places}
    with Reader(pods.lab.servers, topic) as reader:
        reader.until(lambda: len(reader.records) >= 2)
        assert {r.value for r in reader.records} == {f"2.0.0:{topic}:1.0.0".encode()}
    task.process.stop()
    assert task.last_word().exit_code == ExitCode.OK


@pytest.mark.slow
def test_a_pod_that_was_frozen_writes_nothing_when_it_continues_after_its_successor_has_started(
    pods: Pods, plugins: Path
) -> None:
    """As on a node that was away: the kubelet ends neither the task nor its JVM."""
    source = mounted(plugins / "one", SOURCE, "connector")
    topic = pods.lab.topic()
    answer = planned(pods, topic, source, pause=5)
    assert answer.plan is not None, problems(answer)
    spec = alive(answer.plan.tasks[0].with_mounts([source]), answer.epoch)
    with Reader(pods.lab.servers, topic) as reader:
        frozen = pods.task(spec)
        reader.count(100)
        processes = [psutil.Process(frozen.process.pid), await_jvm(frozen.process)]
        for process in processes:
            process.suspend()
        successor = pods.task(next_life(spec))
        successor.await_report("RUNNING")
        reader.count(len(reader.to_end()) + 100)
        for process in reversed(processes):  # what the JVM has polled, it can hand over
            process.resume()
        assert frozen.process.await_exit() == ExitCode.SUPERSEDED, frozen.process.last_words()
        until(lambda: not host_jvms(frozen.process), what="its JVM has ended")
        reader.count(len(reader.to_end()) + 100)
        successor.process.stop()
        assert_exactly_once(reader.to_end(), 1)


@pytest.mark.slow
def test_the_connector_of_an_image_is_asked_before_its_offsets_are_altered(pods: Pods, plugins: Path) -> None:
    """`alterOffsets` is a method of its class, so the pod that alters has the image as well (KIP-875)."""
    source = mounted(plugins / "one", SOURCE, "connector")
    resource = shown(new_name(), "shop", **{"class": SOURCE, "config": {**STRING, "topic": pods.lab.topic()}})
    document = json.dumps({"offsets": [{"partition": {"p": "0"}, "offset": {"n": 7}}]})
    work = OffsetsWork(verb=OffsetsVerb.ALTER, generation=HUGE, document=document)
    for alters, said in (
        ("true", "The offsets for this connector"),
        ("default", "The Connect framework-managed offsets"),
    ):
        resource["spec"]["config"]["alters"] = alters
        answer = pods.answer(Action.OFFSETS, resource, mounts=[source], offsets=work)
        assert answer.outcome is Outcome.DONE, problems(answer)
        assert str(answer.message).startswith(said)
