"""A release is what its commit says."""

import subprocess
from pathlib import Path

import pytest
from scripts.release.checkout import commit_of, export, version_of
from scripts.release.commands import ReleaseError


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@example.org", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name, content in {
        "pyproject.toml": '[project]\nversion = "1.2.3"\n',
        "connectors/sql/pyproject.toml": '[project]\nversion = "1.2.3"\n',
        "helm/penstock/Chart.yaml": 'version: 1.2.3\nappVersion: "1.2.3"\n',
        ".gitignore": "*.log\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Begin")
    return folder


def test_ignored_files_are_not_released(checkout: Path, tmp_path: Path) -> None:
    (checkout / "debug.log").write_text("")
    commit = commit_of(checkout)
    assert commit.id == git(checkout, "rev-parse", "HEAD")
    assert commit.time == int(git(checkout, "show", "--no-patch", "--format=%ct"))
    export(checkout, commit, tmp_path / "source")
    assert sorted(file.name for file in (tmp_path / "source").iterdir()) == [
        ".gitignore", "connectors", "helm", "pyproject.toml",
    ]  # fmt: skip


def test_ignored_files_that_images_would_contain_are_refused_by_name(checkout: Path) -> None:
    for name in ("__pycache__/a.log", "debug.log"):
        (checkout / "runtime" / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / "runtime" / name).write_text("")
    with pytest.raises(ReleaseError, match=r"the images would contain runtime/debug\.log, which git ignores"):
        commit_of(checkout)


@pytest.mark.parametrize("name", ["pyproject.toml", "new.py"])
def test_changes_that_are_not_committed_are_refused_by_name(checkout: Path, name: str) -> None:
    with (checkout / name).open("a") as file:
        file.write("# changed\n")
    with pytest.raises(ReleaseError, match=rf"1 file\(s\) are not committed \({name}\); commit or stash"):
        commit_of(checkout)


def test_versions_that_differ_are_all_named(checkout: Path) -> None:
    assert version_of(checkout) == "1.2.3"
    (checkout / "helm" / "penstock" / "Chart.yaml").write_text("version: 1.3.0\nappVersion: 1.2.3\n")
    with pytest.raises(ReleaseError, match=r"1\.2\.3 in pyproject\.toml, .*1\.3\.0 in helm/penstock/Chart\.yaml"):
        version_of(checkout)
