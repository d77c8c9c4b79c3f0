"""Wheels and source distributions have everything, and depend on nothing but the commit."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
from scripts.release.checkout import Commit, export
from scripts.release.distributions import build_distribution, build_distributions

ROOT = Path(__file__).parents[3]
TIME = 1_700_000_000
JAR = "penstock_runtime/java_plugins/penstock-host.jar"
COMMIT = "penstock_model/commit.txt"
IMPORT_ALL = """
import importlib, pkgutil, sys
wheel = sys.argv[1]
for package in sys.argv[2:]:
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not module.name.endswith("__main__"):
            found = importlib.import_module(module.name)
            assert found.__file__ is None or found.__file__.startswith(wheel), found.__file__
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Committed files, with placeholders for those that `make release` compiles and records."""
    folder = tmp_path_factory.mktemp("source")
    export(ROOT, Commit("HEAD", TIME), folder)
    (folder / "runtime" / JAR).write_bytes(b"jar")
    (folder / "runtime" / COMMIT).write_text("0123456789ab\n")
    return folder


@pytest.fixture(scope="module")
def built(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build_distributions(source, folder, TIME)
    return folder


def digests(folder: Path) -> dict[str, str]:
    return {file.name: sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


def test_there_is_a_wheel_and_a_source_distribution_of_each_distribution(built: Path) -> None:
    names = ("penstock", "penstock_registry", "penstock_sql")
    wanted = {f"{name}-0.1.0{end}" for name in names for end in (".tar.gz", "-py3-none-any.whl")}
    assert {file.name for file in built.iterdir()} == wanted


def test_another_folder_makes_the_same_bytes(source: Path, built: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    subprocess.run(["cp", "--recursive", source, copy], check=True)  # with other times
    build_distributions(copy, tmp_path / "dist", TIME)
    assert digests(tmp_path / "dist") == digests(built)


def test_a_source_distribution_makes_the_same_wheel(built: Path, tmp_path: Path) -> None:
    for file in built.glob("*.tar.gz"):
        with tarfile.open(file) as archive:
            archive.extractall(tmp_path / "sources", filter="data")
    for folder in (tmp_path / "sources").iterdir():
        build_distribution(folder, tmp_path / "dist", TIME, kinds=("wheel",))
    wheels = {name: digest for name, digest in digests(built).items() if name.endswith(".whl")}
    assert digests(tmp_path / "dist") == wheels


def test_the_wheel_has_every_file_of_our_packages_the_jar_and_the_commit(source: Path, built: Path) -> None:
    packages = tomllib.loads((source / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    folders = [source / package for package in packages["packages"]]
    wanted = {
        str(file.relative_to(folder.parent)) for folder in folders for file in folder.rglob("*") if file.is_file()
    }
    with zipfile.ZipFile(built / "penstock-0.1.0-py3-none-any.whl") as wheel:
        assert {name for name in wheel.namelist() if ".dist-info/" not in name} == wanted
    assert {JAR, COMMIT} <= wanted


def test_every_module_is_imported_from_the_wheel(built: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(built / "penstock-0.1.0-py3-none-any.whl") as wheel:
        wheel.extractall(tmp_path)
    packages = sorted(file.name for file in tmp_path.iterdir() if not file.name.endswith(".dist-info"))
    command = [sys.executable, "-P", "-c", IMPORT_ALL, str(tmp_path), *packages]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
