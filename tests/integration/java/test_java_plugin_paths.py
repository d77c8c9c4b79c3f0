"""Plugin paths as users give them: broken ones, archives, versions side by side, and what this release does not run."""

import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from penstock_runtime.java_home import find_java

from ..reading import create
from ..running import manifest, new_name
from .probe_plugin import CONVERTER, PREDICATE, SOURCE, TRANSFORM, Probe, ProbeLab, probe, probe_lab

__all__ = ["Probe", "probe", "probe_lab"]

PACKAGE = "dev.penstock.probe"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "manifest.yaml"


def validated(
    lab: ProbeLab, file: Path, path: Path, config: dict[str, Any] | None = None, **spec: Any
) -> tuple[int, str]:
    """The exit code and the output of `penstock validate`."""
    resource = manifest(new_name(), spec.pop("class_name", SOURCE), {"topic": "t", **(config or {})})
    resource["spec"] |= spec
    file.write_text(json.dumps(resource))
    done = lab.command("validate", str(file), "--plugin-path", str(path))
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def test_a_truncated_jar_is_named(probe_lab: ProbeLab, file: Path, tmp_path: Path) -> None:
    jar = probe_lab.probe.jar(tmp_path / "plugins" / "broken" / "probe.jar")
    jar.write_bytes(jar.read_bytes()[:-100])
    code, text = validated(probe_lab, file, tmp_path / "plugins")
    assert code == 2
    assert f"cannot read the jar {jar}" in text
    assert "download it again" in text


def test_a_folder_without_jars_is_named(probe_lab: ProbeLab, file: Path, tmp_path: Path) -> None:
    (tmp_path / "plugins" / "x").mkdir(parents=True)
    code, text = validated(probe_lab, file, tmp_path / "plugins")
    assert code == 2
    assert f"cannot find plugins in {tmp_path / 'plugins'}: it contains no jar" in text


def test_a_folder_whose_jars_hold_no_plugin_is_named(probe_lab: ProbeLab, file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "x"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "x.jar", "w") as jar:
        jar.writestr("hello.txt", "hello")
    code, text = validated(probe_lab, file, tmp_path / "plugins")
    assert code == 2
    assert f"cannot find a plugin in {tmp_path / 'plugins'}: no class in the jars is" in text


def test_classes_for_a_newer_java_are_named_with_both_versions_and_the_remedy(
    probe_lab: ProbeLab, file: Path, tmp_path: Path
) -> None:
    remedy = (
        f"is compiled for Java 99, and the runtime has Java {find_java().major}; use a version of the plugin for Java "
    )
    folder = tmp_path / "plugins"
    probe_lab.probe.for_java_99(tmp_path / "all").jar(folder / "probe.jar")
    code, text = validated(probe_lab, file, folder)
    assert code == 2
    assert f"cannot find a plugin in {folder}: " in text
    assert f".class in probe.jar {remedy}" in text

    probe_lab.probe.for_java_99(tmp_path / "connector", "ProbeSource").jar(folder / "probe.jar")
    code, text = validated(probe_lab, file, folder)
    assert code == 2
    assert f"Class {SOURCE} could not be found" in text
    assert remedy in text

    probe_lab.probe.for_java_99(tmp_path / "validation", "Actions").jar(folder / "probe.jar")
    code, text = validated(probe_lab, file, folder)
    assert code == 2
    assert f"cannot validate the configuration of {SOURCE}: UnsupportedClassVersionError: " in text
    assert "class file version 143.0" in text
    assert remedy in text


def test_classes_without_service_manifests_are_found_by_a_scan(probe_lab: ProbeLab, file: Path, tmp_path: Path) -> None:
    probe_lab.probe.jar(tmp_path / "plugins" / "probe.jar", manifests=False)
    assert validated(probe_lab, file, tmp_path / "plugins")[0] == 0
    listed = probe_lab.command("plugins", "--plugin-path", str(tmp_path / "plugins")).stdout
    assert "ProbeSource" in listed


def test_a_class_that_its_plugins_service_manifests_leave_out_is_found(
    probe_lab: ProbeLab, file: Path, tmp_path: Path
) -> None:
    """Kafka Connect finds it by a scan, unless `plugin.discovery` is `service_load`."""
    probe_lab.probe.jar(tmp_path / "plugins" / "probe.jar", but=CONVERTER)
    code, text = validated(probe_lab, file, tmp_path / "plugins", {"value.converter": CONVERTER})
    assert code == 0, text
    code, text = validated(probe_lab, file, tmp_path / "plugins", {"value.converter": TRANSFORM})
    assert code == 2
    assert f"Class {TRANSFORM} does not implement the Converter interface; it is a Transform" in text


@pytest.mark.parametrize("ending", ["zip", "tar.gz"])
def test_an_archive_is_a_plugin(probe_lab: ProbeLab, file: Path, tmp_path: Path, ending: str) -> None:
    jar = probe_lab.probe.jar(tmp_path / "probe.jar")
    archive = tmp_path / f"probe-plugin.{ending}"
    if ending == "zip":
        with zipfile.ZipFile(archive, "w") as content:
            content.write(jar, "probe/lib/probe.jar")
    else:
        with tarfile.open(archive, "w:gz") as content:
            content.add(jar, "probe/probe.jar")
    assert validated(probe_lab, file, archive)[0] == 0
    archive.write_bytes(archive.read_bytes()[:-200])
    code, text = validated(probe_lab, file, archive)
    assert code == 2
    assert f"cannot unpack the plugin archive {archive}" in text


@pytest.mark.slow
def test_of_two_versions_the_latest_is_taken_unless_another_is_asked_for(
    probe_lab: ProbeLab, file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "plugins"
    probe_lab.probe.jar(path / "old" / "probe.jar", "1.9.0")
    probe_lab.probe.jar(path / "new" / "probe.jar", "1.10.0")

    assert validated(probe_lab, file, path)[0] == 0
    for wanted in ("1.9.0", "[1.9,1.10)", "1.10.0"):
        assert validated(probe_lab, file, path, version=wanted)[0] == 0
    connects_own = tmp_path / "probe.json"
    config = {"connector.class": SOURCE, "topic": "t", "connector.plugin.version": "[1.9,1.10)"}
    connects_own.write_text(json.dumps({"name": "probe", "config": config}))
    done = probe_lab.command("validate", str(connects_own), "--plugin-path", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    code, text = validated(probe_lab, file, path, version="[2,3)")
    assert code == 2
    assert "available versions: [1.9.0, 1.10.0]" in text


def test_a_version_that_is_not_there_is_an_error_of_each_place_and_all_are_reported_together(
    probe_lab: ProbeLab, file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "plugins"
    for made in ("1.0.0", "2.0.0"):
        probe_lab.probe.jar(path / made / "probe.jar", made)
    places = {f"{place}.converter": CONVERTER for place in ("key", "value", "header")} | {"predicates.p": PREDICATE}
    config = {"predicates": "p", "predicates.p.pattern": "x"}
    for place, name in places.items():
        config |= {f"{place}.type" if place == "predicates.p" else place: name, f"{place}.plugin.version": "[1,2)"}
    code, text = validated(probe_lab, file, path, config)
    assert code == 0, text
    code, text = validated(probe_lab, file, path, config | {f"{place}.plugin.version": "[3,4)" for place in places})
    assert code == 2
    for place in places:
        assert f"{place}.plugin.version" in text
    missing = "not found that matches the version range [3,4), available versions: [1.0.0, 2.0.0] (default: 2.0.0; "
    assert text.count(missing) == len({*places.values()})  # once for each class


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "version"), [(None, "1.10.0"), ("[1.9,1.10)", "1.9.0")])
def test_the_version_that_is_asked_for_runs(
    probe_lab: ProbeLab, topic: str, tmp_path: Path, asked: str | None, version: str
) -> None:
    path = tmp_path / "plugins"
    probe_lab.probe.jar(path / "old" / "probe.jar", "1.9.0")
    probe_lab.probe.jar(path / "new" / "probe.jar", "1.10.0")
    create(probe_lab.servers, topic)
    run = probe_lab.run(topic, {"data": "version"}, path=path, version=asked)
    with probe_lab.reader(topic) as reader:
        assert reader.count(1)[0].value == version.encode()
    run.stop()


def test_an_unknown_class_says_where_to_get_it(probe_lab: ProbeLab, file: Path) -> None:
    name = "io.debezium.connector.mysql.MySqlConnector"
    code, text = validated(probe_lab, file, probe_lab.probe.folder, class_name=name)
    assert code == 2
    assert f"Class {name} could not be found" in text
    assert "debezium-connector-mysql" in text
    assert "--plugin-path" in text


def test_a_java_sink_is_valid_with_only_topics(probe_lab: ProbeLab, file: Path) -> None:
    where = (probe_lab, file, probe_lab.probe.folder)
    code, text = validated(*where, {"topic": "", "topics": "t"}, class_name=f"{PACKAGE}.ProbeSink")
    assert code == 0, text
    assert "valid (sink, 1 task" in text
    code, text = validated(*where, class_name=f"{PACKAGE}.ProbeSink")
    assert code == 2
    assert "topics" in text
    config_of_both = {"topics": "t", "topics.regex": "t.*"}
    code, text = validated(*where, config_of_both, class_name=f"{PACKAGE}.ProbeSink")
    assert code == 2
    assert "topics.regex" in text


@pytest.mark.slow
@pytest.mark.parametrize("support", ["null", "UNSUPPORTED"])
def test_exactly_once_that_is_required_is_refused_where_the_connector_does_not_support_it(
    probe_lab: ProbeLab, file: Path, support: str
) -> None:
    config = {"support": support, "exactly.once.support": "required"}
    code, text = validated(probe_lab, file, probe_lab.probe.folder, config)
    assert code == 2
    assert "exactly.once.support" in text
    assert validated(probe_lab, file, probe_lab.probe.folder, {"support": support})[0] == 0


@pytest.mark.slow
def test_tasks_are_what_the_connector_asks_for(probe_lab: ProbeLab, file: Path) -> None:
    path = probe_lab.probe.folder
    assert validated(probe_lab, file, path, {"tasks": "3"}, tasksMax=3)[0] == 0
    for none in ("0", "null"):
        code, text = validated(probe_lab, file, path, {"tasks": none})
        assert code == 0, text
        assert "has nothing to do" in text
    code, text = validated(probe_lab, file, path, {"tasks": "3"}, tasksMax=2)
    assert code == 2
    assert "3" in text
    assert "tasks" in text


@pytest.mark.slow
def test_an_exception_of_validate_or_task_configs_is_reported(probe_lab: ProbeLab, file: Path) -> None:
    for place, told in (("validate", "validate the configuration of"), ("taskConfigs", "split into tasks")):
        code, text = validated(probe_lab, file, probe_lab.probe.folder, {f"{place}.action": "throw"})
        assert code in (1, 2, 5)
        assert f"cannot {told} {SOURCE}: ConnectException: the slot is gone; caused by IllegalState" in text


@pytest.mark.slow
def test_the_end_of_the_jvm_in_validate_is_reported(probe_lab: ProbeLab, file: Path) -> None:
    code, text = validated(probe_lab, file, probe_lab.probe.folder, {"validate.action": "exit 7"})
    assert code in (1, 2, 5)
    assert f"cannot validate the configuration of {SOURCE}: its JVM exited with code 7" in text


@pytest.mark.slow
def test_a_validate_that_hangs_is_given_up(probe_lab: ProbeLab, file: Path) -> None:
    code, text = validated(probe_lab, file, probe_lab.probe.folder, {"validate.action": "block"})
    assert code in (1, 2, 5)
    assert f"cannot validate the configuration of {SOURCE}: its JVM has not answered validate within 60 s" in text


@pytest.mark.slow
@pytest.mark.parametrize("alters", ["true", "false", "default", "throws"])
def test_offsets_are_altered_and_reset_as_the_connector_allows(
    probe_lab: ProbeLab, topic: str, file: Path, alters: str, tmp_path: Path
) -> None:
    create(probe_lab.servers, topic)
    config = {"total": 100, **({"alterOffsets.action": "throw"} if alters == "throws" else {"alters": alters})}
    run = probe_lab.run(topic, config)
    with probe_lab.reader(topic) as reader:
        reader.count(100)
    run.stop()
    resource = probe_lab.manifest(topic, config)
    resource["spec"]["state"] = "Stopped"
    file.write_text(json.dumps(resource))
    common = (str(file), "--plugin-path", str(probe_lab.probe.folder), "--bootstrap-servers", probe_lab.servers)
    offsets = tmp_path / "offsets.json"
    offsets.write_text(json.dumps({"offsets": [{"partition": {"p": "0"}, "offset": {"n": 42}}]}))
    altered = probe_lab.command("offsets", "alter", *common, "--offsets", str(offsets), "--yes")
    text = altered.stdout + altered.stderr
    assert "Traceback" not in text
    if alters == "throws":
        assert altered.returncode != 0
        assert f"cannot alter the offsets of {SOURCE}: ConnectException: the slot is gone" in text
        return
    assert altered.returncode == 0, text
    shown = probe_lab.command("offsets", "list", *common).stdout
    assert '"n": 42' in shown or '"n":42' in shown or "42" in shown
    reset = probe_lab.command("offsets", "reset", *common, "--yes")
    assert reset.returncode == 0, reset.stdout + reset.stderr
