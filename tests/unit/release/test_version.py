"""`--version` says which commit runs, in a release and in a checkout."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock_model.version import version_text

ROOT = Path(__file__).parents[3]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "file").write_text("committed\n")
    for words in (["init", "--quiet"], ["add", "file"], ["commit", "--quiet", "--message", "Begin"]):
        subprocess.run(["git", "-C", folder, "-c", "user.name=A", "-c", "user.email=a@example.org", *words], check=True)
    return folder


@pytest.mark.parametrize("module", ["penstock_cli", "penstock_operator"])
def test_the_commands_print_version_and_commit(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"penstock \d+\.\d+\.\d+( \(commit [0-9a-f]{12}(-dirty)?\))?\n", done.stdout)


def test_a_release_prints_the_commit_that_it_was_built_from(tmp_path: Path, checkout: Path) -> None:
    (tmp_path / "commit.txt").write_text(f"{COMMIT}\n")
    assert version_text(tmp_path / "commit.txt", checkout).endswith(f" (commit {COMMIT[:12]})")


def test_a_checkout_prints_its_commit_and_whether_it_has_changes(tmp_path: Path, checkout: Path) -> None:
    git = ["git", "-C", str(checkout), "rev-parse", "--short=12", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    assert version_text(tmp_path / "commit.txt", checkout).endswith(f" (commit {commit})")
    (checkout / "file").write_text("changed\n")
    assert version_text(tmp_path / "commit.txt", checkout).endswith(f" (commit {commit}-dirty)")


def test_an_installation_without_a_commit_prints_only_the_version(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert re.fullmatch(r"penstock \d+\.\d+\.\d+", version_text(tmp_path / "commit.txt", tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))  # no git
    assert re.fullmatch(r"penstock \d+\.\d+\.\d+", version_text(tmp_path / "commit.txt", checkout))
