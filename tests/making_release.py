"""Releases that tests make, of the commit of this checkout."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["clone", "described", "forget_images", "git", "release"]

ROOT: Final = Path(__file__).parents[1]


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@example.org", *words]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


@contextmanager
def clone(source: Path, folder: Path) -> Iterator[Path]:
    subprocess.run(["git", "clone", "--quiet", source, folder], check=True)
    yield folder
    subprocess.run(["make", "--silent", "--directory", folder, "clean"], check=True)  # its environment, in the cache


def release(checkout: Path) -> Path:
    # In this checkout's environment, with the modules of the other one.
    command = [sys.executable, "-m", "scripts.release"]
    subprocess.run(command, cwd=checkout, stdout=sys.stderr, check=True)
    return checkout / "dist"


def forget_images(commit: str) -> None:
    """Remove the archives of a commit, so that its images are built again."""
    command = [str(ROOT / "scripts" / "images"), "--where", "operator", "runtime"]
    environment = {**os.environ, "PENSTOCK_COMMIT": commit}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    for line in done.stdout.splitlines():
        Path(line.split(" ", 1)[1]).unlink()


@contextmanager
def described(folder: Path) -> Iterator[Path]:
    """A clone of this checkout at its commit, or at the next one, which adds the section of the changelog that a release
    needs.
    """
    with clone(ROOT, folder) as made:
        changelog = made / "CHANGELOG.md"
        if "## [0.1.0]" not in changelog.read_text():
            changelog.write_text(f"{changelog.read_text()}\n## [0.1.0] - 2026-12-01\nFirst release.\n")
            git(made, "commit", "--quiet", "--all", "--message", "Describe the release")
        yield made
