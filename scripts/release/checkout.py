"""Commit to release, and its files without other files in the checkout."""

import io
import re
import subprocess
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml
from scripts.release.commands import ReleaseError, run

__all__ = ["Commit", "commit_of", "export", "version_of"]

_MADE: Final = re.compile(r"__pycache__/|\.egg-info/|/penstock-host\.jar$|/penstock_model/commit\.txt$")
"""Files that builds create, and that git ignores."""


@dataclass(frozen=True, slots=True)
class Commit:
    """Commit to release.

    Attributes:
        id: all 40 digits.
        time: seconds since 1970 of the commit, which all files of the release have.
    """

    id: str
    time: int


def commit_of(project: Path) -> Commit:
    """Return the checked-out commit.

    Raises:
        ReleaseError: there are changes that are not committed, or ignored files where images are built from, or this is
            not a checkout.
    """
    changed = run("git", "-C", project, "status", "--porcelain").splitlines()
    if changed:
        some = ", ".join(line[3:] for line in changed[:5]) + (", ..." if len(changed) > 5 else "")
        raise ReleaseError(
            f"cannot release: {len(changed)} file(s) are not committed ({some});"
            " commit or stash them, so that the release matches the commit"
        )
    listed = run("git", "-C", project, "ls-files", "--others", "--", "runtime", "operator").splitlines()
    if stray := [file for file in listed if not _MADE.search(file)]:
        raise ReleaseError(
            f"cannot release: the images would contain {', '.join(stray[:5])}, which git ignores;"
            " remove files that are not part of Penstock"
        )
    commit, time = run("git", "-C", project, "show", "--no-patch", "--format=%H %ct", "HEAD").split()
    return Commit(commit, int(time))


def export(project: Path, commit: Commit, folder: Path) -> None:
    """Write the files of the commit into a folder: nothing that git ignores can get into a wheel or the chart."""
    archive = subprocess.run(["git", "-C", str(project), "archive", commit.id], stdout=subprocess.PIPE, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")


def version_of(source: Path) -> str:
    """Return the version of the release.

    Raises:
        ReleaseError: the chart or another distribution has a different version.
    """
    found = {
        str(file.relative_to(source)): str(tomllib.loads(file.read_text())["project"]["version"])
        for file in (source / "pyproject.toml", *sorted(source.glob("connectors/*/pyproject.toml")))
    }
    chart = yaml.safe_load((source / "helm" / "penstock" / "Chart.yaml").read_text())
    found["helm/penstock/Chart.yaml: version"] = str(chart["version"])
    found["helm/penstock/Chart.yaml: appVersion"] = str(chart["appVersion"])
    if len(set(found.values())) != 1:
        listed = ", ".join(f"{version} in {place}" for place, version in found.items())
        raise ReleaseError(f"cannot release: the versions differ ({listed}); set all of them to the same version")
    return found["pyproject.toml"]
