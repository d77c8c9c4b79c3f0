"""A project of plugins becomes an image: the same one wherever and whenever it is built."""

import csv
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import yaml

from penstock import ConfigError
from penstock_cli.__main__ import main
from penstock_cli.plugin.build import build
from penstock_cli.plugin.build_traces import _portable

from .images import Image

NAME = "plugins.example/shop"
INFO = "plugin/shop_plugins-1.2.dist-info"
HATCHLING = 'requires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
SETUPTOOLS = 'requires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
PROJECT = """
[project]
name = "shop-plugins"
version = "1.2"
dependencies = ["penstock", "pydantic>=2"]
[project.scripts]
shop = "shop:main"
[project.entry-points."penstock.plugins"]
Shop = "shop:Shop"
[tool.hatch.build.targets.wheel]
packages = ["shop"]
"""
PLUGIN = """
from penstock import Transform

class Shop(Transform):
    java_names = ("com.example.Shop",)

    def apply(self, record):
        return record
"""

BACKEND = """
import os, pathlib, time
pathlib.Path("REACHED.new").write_text(str(os.getpid()))
os.rename("REACHED.new", "REACHED")
time.sleep(600)
"""


def project(folder: Path, backend: str = HATCHLING, more: str = "") -> Path:
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "__init__.py").write_text(PLUGIN)
    (folder / "pyproject.toml").write_text(f"[build-system]\n{backend}{PROJECT}{more}")
    return folder


def files(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p.relative_to(folder)): (p.stat().st_mode, p.stat().st_mtime_ns) for p in folder.rglob("*")}


def test_it_holds_the_distribution_without_what_the_runtime_has_and_without_a_trace_of_this_machine(
    tmp_path: Path,
) -> None:
    built = build(project(tmp_path / "project"), NAME, tmp_path / "out")
    image = Image.read(built.archive)
    assert image.name == built.image
    assert [name for name, member in image.members().items() if not member.isdir()] == [
        "plugin/bin/shop",
        "plugin/shop/__init__.py",
        f"{INFO}/INSTALLER",
        f"{INFO}/METADATA",
        f"{INFO}/RECORD",
        f"{INFO}/WHEEL",
        f"{INFO}/entry_points.txt",
    ]
    assert image.text("plugin/bin/shop").startswith("#!/usr/bin/env python3\n")
    assert "Generator" not in image.text(f"{INFO}/WHEEL")
    for mark in (str(tmp_path), sys.executable, sys.prefix, "/tmp"):
        assert mark.encode() not in image.layer
    rows = list(csv.reader(image.text(f"{INFO}/RECORD").splitlines()))
    names = [name for name, member in image.members().items() if not member.isdir()]
    assert sorted(f"plugin/{name}" for name, _, _ in rows) == sorted(names)
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    sizes = {f"plugin/{name}": int(size) for name, _, size in rows if size}
    assert sizes == {name: member.size for name, member in image.members().items() if name in sizes}
    assert [name for name, digest, _ in rows if not digest] == [f"{INFO}/RECORD".removeprefix("plugin/")]


@pytest.mark.slow
def test_place_time_and_umask_of_a_build_do_not_count_and_the_project_stays_as_it_is(tmp_path: Path) -> None:
    first = project(tmp_path / "project")
    before = files(first)
    image = build(first, NAME, tmp_path / "first")
    assert files(first) == before
    mask = os.umask(0o077)
    try:
        second = project(tmp_path / "some" / "other place")
        for path in second.rglob("*.py"):
            os.utime(path, (1, 2))
        other = build(second, NAME, tmp_path / "second")
    finally:
        os.umask(mask)
    assert other.image == image.image
    assert other.archive.read_bytes() == image.archive.read_bytes()
    assert other.manifest.read_bytes() == image.manifest.read_bytes()


@pytest.mark.slow
def test_a_wheel_gives_the_same_image_as_its_project(tmp_path: Path) -> None:
    sources = project(tmp_path / "project")
    options = ("--no-deps", "--no-index", "--no-build-isolation", "--quiet", "--wheel-dir", str(tmp_path))
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(sources)], check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    assert build(wheel, NAME, tmp_path / "1").image == build(sources, NAME, tmp_path / "2").image


@pytest.mark.slow
def test_a_backend_that_builds_in_its_folder_leaves_nothing_there_and_takes_nothing_old_from_it(tmp_path: Path) -> None:
    sources = project(tmp_path / "project", SETUPTOOLS, '[tool.setuptools]\npackages = ["shop"]\n')
    old = sources / "build" / "lib" / "shop" / "removed.py"
    old.parent.mkdir(parents=True)
    old.write_text("")
    os.mkfifo(sources / "pipe")
    environment = sources / "env"
    environment.mkdir()
    (environment / "pyvenv.cfg").write_text("")
    before = files(sources)
    built = build(sources, NAME, tmp_path / "out")
    assert files(sources) == before
    assert "plugin/shop/__init__.py" in (members := Image.read(built.archive).members())
    assert "plugin/shop/removed.py" not in members


@pytest.mark.slow
def test_settings_of_pip_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "pip.conf"
    settings.write_text("[global]\nrequire-hashes = true\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    monkeypatch.setenv("PIP_USER", "1")
    build(project(tmp_path / "project"), NAME, tmp_path / "out")


def test_a_build_that_fails_says_what_pip_says_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    sources = project(tmp_path / "project", HATCHLING.replace("hatchling", "hatchling==0.0.1", 1))
    with pytest.raises(ConfigError) as raised:
        build(sources, NAME, tmp_path / "out")
    message = str(raised.value)
    assert message.startswith(f"cannot build {sources} with hatchling==0.0.1; the output of pip:\n")
    assert "No matching distribution found for hatchling==0.0.1" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["project"]


@pytest.mark.parametrize(
    "head", [f"#!{sys.executable}\n", f"#!/bin/sh\n'''exec' {sys.executable} \"$0\" \"$@\"\n' '''\n"]
)
def test_a_script_names_no_interpreter_of_this_machine_in_either_form_of_pip(head: str) -> None:
    assert _portable(f"{head}import shop\n".encode()) == b"#!/usr/bin/env python3\nimport shop\n"


@pytest.mark.parametrize("script", [b"#!/bin/sh\necho\n", b"\x7fELF", b"#!/usr/bin/env python3\n", b""])
def test_a_script_of_another_kind_stays_as_it_is(script: bytes) -> None:
    assert _portable(script) == script


def test_what_is_no_project_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    for wrong in (tmp_path, tmp_path / "notes.txt", tmp_path / "nothing.whl"):
        with pytest.raises(
            ConfigError, match=r"is not a plugin project: it is neither a wheel nor a folder with a pyproject"
        ):
            build(wrong, NAME, tmp_path / "out")
    for name in ("shop.whl", "shop-1.0-py3-none-any.whl"):
        (tmp_path / name).write_text("no archive")
        with pytest.raises(ConfigError, match=f"cannot install {name}: it is not a valid wheel: "):
            build(tmp_path / name, NAME, tmp_path / "out")


def test_the_command_says_what_is_wrong_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = project(tmp_path / "project")
    for arguments, message in (
        ([tmp_path], f"cannot make an image of {tmp_path}: no file in it is a jar, and it has no pyproject.toml; "),
        (
            [sources, tmp_path],
            f"cannot make one image of {sources}, {tmp_path}: {sources} contains Python plugins, which cannot share ",
        ),
    ):
        command = ["plugin", "build", *map(str, arguments), "--image", NAME, "--out", str(tmp_path / "out")]
        assert main(command) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith(f"penstock: {message}")
        assert printed.err.count("\n") == 1


def test_the_command_prints_the_name_of_the_image_and_declares_what_it_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "some" / "out"
    assert main(["plugin", "build", str(project(tmp_path / "project")), "--image", NAME, "--out", str(out)]) == 0
    printed = capsys.readouterr()
    image = Image.read(out / "shop.tar").name
    assert printed.out == f"{image}\n"
    assert "the runtime has penstock" in printed.err
    assert yaml.safe_load((out / "pluginversion.yaml").read_text()) == {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "PluginVersion",
        "metadata": {"name": "shop-plugins-1.2"},
        "spec": {
            "plugin": "shop-plugins",
            "version": "1.2",
            "image": image,
            "classes": [{"alias": "Shop", "type": "transform", "javaNames": ["com.example.Shop"]}],
        },
    }


@pytest.mark.slow
def test_a_command_that_is_asked_to_end_leaves_no_file_and_no_process(tmp_path: Path) -> None:
    own = 'requires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    sources, reached = project(tmp_path / "project", own), tmp_path / "reached"
    (sources / "backend.py").write_text(BACKEND.replace("REACHED", str(reached)))
    scratch, out = tmp_path / "scratch", tmp_path / "out"
    scratch.mkdir()
    out.mkdir()
    arguments = ["plugin", "build", sources, "--image", NAME, "--out", out]
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock_cli", *map(str, arguments)],
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    try:
        while not reached.exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 128 + signal.SIGTERM
    finally:
        process.kill()
    assert not list(out.iterdir())
    assert not list(scratch.iterdir())
    with suppress(psutil.NoSuchProcess):
        psutil.Process(int(reached.read_text())).wait()
