"""`penstock plugin build` with plugins of Kafka Connect: one image, the same wherever it is built, and its PluginVersion."""

import os
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.cli.plugin.images import Image

from penstock_cli.__main__ import main
from penstock_model.resources.plugin_version import PluginVersion
from penstock_runtime.java_plugins.hosts import close_host
from penstock_runtime.verify.java_classes import classes_for

from .plugins import debezium
from .probe_plugin import SOURCE, TRANSFORM, Probe, probe

__all__ = ["Probe", "probe"]

NAME = "plugins.example/probe"


@pytest.fixture(autouse=True, scope="module")
def _jvm() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_JAVA_HEAP", "128m")
        yield
        close_host()


@pytest.fixture
def plugin(probe: Probe, tmp_path: Path) -> Path:
    """The folder of a plugin, as its archive holds it."""
    folder = tmp_path / "content" / "probe-connector"
    probe.jar(folder / "probe.jar")
    (folder / "LICENSE.txt").write_text("Apache")
    (folder / "bin").mkdir()
    (folder / "bin" / "run").write_text("#!/bin/sh\n")
    (folder / "bin" / "run").chmod(0o755)
    return folder


class Build:
    """Runs the command."""

    def __init__(self, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.out, self._capsys = out, capsys
        self.report = ""

    def __call__(self, *sources: Path, name: str = NAME) -> Image:
        code, printed = self._run(*sources, name=name)
        assert code == 0, self.report
        image = Image.read(self.out / f"{name.rpartition('/')[2]}.tar")
        assert printed == f"{image.name}\n"
        return image

    def refused(self, *sources: Path) -> str:
        """The whole message. Nothing is written."""
        code, printed = self._run(*sources)
        assert (code, printed) == (2, ""), self.report
        assert not self.out.exists()
        return self.report

    def manifest(self) -> dict[str, Any]:
        text = (self.out / "pluginversion.yaml").read_text()
        assert "#" not in text
        document: dict[str, Any] = yaml.safe_load(text)
        PluginVersion.read(document)
        return document

    def _run(self, *sources: Path, name: str = NAME) -> tuple[int, str]:
        code = main(["plugin", "build", *map(str, sources), "--image", name, "--out", str(self.out)])
        printed = self._capsys.readouterr()
        self.report = printed.err
        return code, printed.out


@pytest.fixture
def build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Build:
    return Build(tmp_path / "out", capsys)


def tarred(folder: Path, archive: Path, *, is_reversed: bool = False, time: int = 1) -> Path:
    archive.parent.mkdir(exist_ok=True)

    def dated(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mtime, member.uid, member.uname = time, time, f"user{time}"
        return member

    with tarfile.open(archive, "w:gz", compresslevel=1 + time % 9) as content:
        for path in sorted((folder, *folder.rglob("*")), reverse=is_reversed):
            content.add(path, path.relative_to(folder.parent), recursive=False, filter=dated)
    return archive


def zipped(folder: Path, archive: Path) -> Path:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as content:
        for path in folder.rglob("*"):
            content.write(path, path.relative_to(folder.parent))
    return archive


def test_an_archive_becomes_an_image_of_one_layer_that_holds_it_below_plugins(
    build: Build, plugin: Path, tmp_path: Path
) -> None:
    image = build(tarred(plugin, tmp_path / "probe.tar.gz"))
    assert {name: (m.isdir(), m.mode) for name, m in image.members().items()} == {
        "plugins": (True, 0o755),
        "plugins/probe-connector": (True, 0o755),
        "plugins/probe-connector/LICENSE.txt": (False, 0o644),
        "plugins/probe-connector/bin": (True, 0o755),
        "plugins/probe-connector/bin/run": (False, 0o755),
        "plugins/probe-connector/probe.jar": (False, 0o644),
    }
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in image.members().values()} == {(0, 0, "", "", 0)}
    assert image.config == {
        "architecture": "amd64",
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [image.manifest["layers"][0]["digest"]]},
    }


def test_its_plugin_version_can_be_applied_and_its_classes_are_reported(build: Build) -> None:
    image = build(debezium("postgres"), name="plugins.example/debezium")
    assert build.manifest() == {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "PluginVersion",
        "metadata": {"name": "debezium-3.6.1.final"},
        "spec": {"runtime": "Java", "image": image.name, "path": "/plugins"},
    }
    rows = [line.split() for line in build.report.splitlines()]
    folder = "debezium-connector-postgres"
    assert ["source", "io.debezium.connector.postgresql.PostgresConnector", "3.6.1.Final", folder] in rows
    assert ["transform", "io.debezium.transforms.outbox.EventRouter", "3.6.1.Final", folder] in rows


def test_the_same_plugin_gives_the_same_image_from_every_archive_and_folder(
    build: Build, plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build(tarred(plugin, tmp_path / "probe.tar.gz"))
    written = (build.out / "probe.tar").read_bytes()
    assert build(tarred(plugin, tmp_path / "a" / "other.tgz", is_reversed=True, time=7)) == first
    assert (build.out / "probe.tar").read_bytes() == written
    assert build(zipped(plugin, tmp_path / "probe.zip")) == first
    for path in plugin.rglob("*"):
        os.utime(path, (5, 5))
    listed = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: sorted(listed(path), reverse=True))
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    before = os.umask(0o077)
    try:
        assert build(plugin) == first
        assert build(plugin.parent) == first
    finally:
        os.umask(before)
    (plugin / "LICENSE.txt").write_text("another")
    assert build(plugin).digest != first.digest


def test_an_archive_of_confluent_hub_keeps_its_folder_also_where_that_is_left_out(
    build: Build, probe: Probe, tmp_path: Path
) -> None:
    folder = tmp_path / "acme-probe-1.0.0"
    (folder / "doc").mkdir(parents=True)
    (folder / "manifest.json").write_text('{"name": "probe", "version": "1.0.0"}')
    (folder / "doc" / "README.md").write_text("text")
    probe.jar(folder / "lib" / "probe.jar")
    whole = build(zipped(folder, tmp_path / "acme-probe-1.0.0.zip"))
    files = [name.removeprefix("plugins/acme-probe-1.0.0/") for name, m in whole.members().items() if not m.isdir()]
    assert files == ["doc/README.md", "lib/probe.jar", "manifest.json"]
    assert ["source", SOURCE, "1.0.0", "acme-probe-1.0.0/lib"] in [line.split() for line in build.report.splitlines()]
    with zipfile.ZipFile(tmp_path / "acme-probe-1.0.0.zip", "w") as content:
        for path in folder.rglob("*"):
            content.write(path, path.relative_to(folder))
    assert build(tmp_path / "acme-probe-1.0.0.zip") == whole


def test_several_archives_jars_and_versions_become_one_image(
    build: Build, probe: Probe, plugin: Path, tmp_path: Path
) -> None:
    folders = tmp_path / "several"
    probe.jar(folders / "one" / "probe.jar", "1.1.0")
    probe.jar(folders / "two" / "probe.jar", "1.2.0")
    bare = probe.jar(tmp_path / "probe 2.jar", "2.0.0")
    image = build(tarred(plugin, tmp_path / "probe.tar.gz"), folders, bare, name="plugins.example/all/of_them")
    jars = [name for name in image.members() if name.endswith(".jar")]
    assert jars == [
        "plugins/one/probe.jar",
        "plugins/probe-2/probe-2.jar",
        "plugins/probe-connector/probe.jar",
        "plugins/two/probe.jar",
    ]
    document = build.manifest()
    assert document["metadata"] == {"name": f"of-them-{image.digest.removeprefix('sha256:')[:12]}"}
    sources = [line.split()[2:] for line in build.report.splitlines() if SOURCE in line]
    assert sources == [
        *(["1.0.0", "probe-connector"], ["1.1.0", "one"], ["1.2.0", "two"], ["2.0.0", "probe-2"]),
    ]


def test_jars_side_by_side_stay_plugins_of_their_own(build: Build, probe: Probe, tmp_path: Path) -> None:
    build(*(probe.jar(tmp_path / f"probe-{version}.jar", version) for version in ("1.0.0", "2.0.0")))
    sources = [line.split()[2:] for line in build.report.splitlines() if SOURCE in line]
    assert sources == [["1.0.0", "probe-1.0.0"], ["2.0.0", "probe-2.0.0"]]


def test_what_is_no_plugin_is_refused_with_what_to_do(build: Build, plugin: Path, tmp_path: Path) -> None:
    archive = tarred(plugin, tmp_path / "probe.tar.gz")
    assert "probe.tar.gz: it would contain the plugin probe-connector twice; pass each" in build.refused(
        archive, archive
    )
    both = build.refused(archive, zipped(plugin, tmp_path / "probe.zip"))
    assert "probe.zip: both contain a plugin probe-connector; build an image of each" in both

    text = tmp_path / "notes.txt"
    text.write_text("text")
    assert f"{text}: it is not a folder, a jar or an archive (.zip, .tar.gz)" in build.refused(text)
    assert "nothing.zip: it does not exist" in build.refused(tmp_path / "nothing.zip")
    assert "no file in it is a jar; pass the plugin's archive" in build.refused(
        tarred(plugin / "bin", tmp_path / "bin.tgz")
    )
    whole = archive.read_bytes()
    for content in (b"<html>", whole[: len(whole) // 2], whole[:-4]):
        archive.write_bytes(content)
        assert f"cannot unpack the plugin archive {archive}: " in build.refused(archive)
    with tarfile.open(archive, "w:gz") as hostile:
        hostile.add(plugin / "probe.jar", "../probe.jar")
    assert "it contains '../probe.jar', a path outside of the archive" in build.refused(archive)

    (plugin / "probe.jar").write_bytes(b"PK\x03\x04")
    assert "cannot read the jar /plugins/probe-connector/probe.jar: " in build.refused(plugin)
    with zipfile.ZipFile(plugin / "probe.jar", "w") as jar:
        jar.writestr("hello.txt", "hello")
    assert "cannot find a plugin in the jars: no class in them is a connector" in build.refused(plugin)


@pytest.mark.parametrize("target", ["/etc/hostname", "../../secret", "nothing", ".."])
def test_a_folder_gives_the_image_nothing_that_is_not_in_it(
    build: Build, plugin: Path, tmp_path: Path, target: str
) -> None:
    (tmp_path / "secret").write_text("secret")
    (plugin / "x").symlink_to(target)
    assert (
        f"{plugin}/x is a link to {target}, which is not a file in it; replace the link with a copy"
        in build.refused(plugin)
    )
    (plugin / "x").unlink()
    (plugin / "x").symlink_to("LICENSE.txt")
    assert build(plugin).text("plugins/probe-connector/x") == "Apache"
    shutil.rmtree(build.out)
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "x").symlink_to(plugin)
    assert "others/x is a link to" in build.refused(tmp_path / "others")
    os.mkfifo(plugin / "pipe")
    assert "pipe is neither a file nor a folder; remove it" in build.refused(plugin)


def test_classes_for_a_newer_java_than_the_runtimes_are_reported_and_refused_where_there_are_no_others(
    build: Build, probe: Probe, tmp_path: Path
) -> None:
    transforms = (f"ProbeTransform{nested}" for nested in ("", "$Value"))
    build(probe.for_java_99(tmp_path / "some", *transforms).jar(tmp_path / "probe.jar"))
    assert f"warning: cannot load {TRANSFORM}, {TRANSFORM}$Value in /plugins/probe: " in build.report
    assert "in probe.jar is compiled for Java 99, and the runtime has Java 17; use a version" in build.report
    shutil.rmtree(build.out)
    refused = build.refused(probe.for_java_99(tmp_path / "all").jar(tmp_path / "probe.jar"))
    assert "is compiled for Java 99, and the runtime has Java 17" in refused


def test_classes_that_load_here_and_not_in_the_runtime_are_not_listed(probe: Probe, tmp_path: Path) -> None:
    probe.jar(tmp_path / "plugins" / "probe" / "probe.jar")
    assert classes_for(tmp_path / "plugins", "/plugins", 17).classes
    listing = classes_for(tmp_path / "plugins", "/plugins", 16)
    assert not listing.classes
    (warning,) = listing.warnings
    assert SOURCE in warning
    assert "is compiled for Java 17, and the runtime has Java 16" in warning


def test_more_classes_than_a_status_lists_are_refused(
    build: Build, plugin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock_cli.plugin.java_image.LONGEST_CLASSES", 100)
    assert "more than the status of a PluginVersion can list; build an image of each plugin" in build.refused(plugin)
