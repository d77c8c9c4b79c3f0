"""Write a release of the checked-out commit to dist/: `make release` (docs/releasing.md)."""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import hatchling.__about__
from scripts.release import chart, checkout, distributions, images, notes, provenance
from scripts.release.commands import ReleaseError, run

_PROJECT: Final = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Write the release, or report why it cannot be written."""
    parser = argparse.ArgumentParser(prog="make release", description="Writes a release of the checked-out commit.")
    parser.add_argument("--target", type=Path, default=_PROJECT / "dist", help="folder to write, which is replaced")
    options = parser.parse_args(arguments)
    try:
        release(options.target.resolve())
    except ReleaseError as e:
        print(f"make release: {e}", file=sys.stderr)
        return 1
    return 0


def release(target: Path) -> None:
    """Write the files of a release. On an error, the folder is unchanged.

    Raises:
        ReleaseError: the checkout cannot be released, or a tool fails.
    """
    if target.exists() and any(target.iterdir()) and not (target / "SHA256SUMS").exists():
        raise ReleaseError(f"cannot write the release to {target}: it has other files; name another folder")
    commit = checkout.commit_of(_PROJECT)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unfinished-release-", dir=target.parent) as name:
        source, made = Path(name, "source"), Path(name, "dist")
        made.mkdir()
        checkout.export(_PROJECT, commit, source)
        version = checkout.version_of(source)
        # First, so that missing release notes are reported immediately.
        (made / "release-notes.md").write_text(notes.notes((source / "CHANGELOG.md").read_text(), version))
        # The pinned version, because it renders install.yaml.
        helm = Path(
            os.environ.get("PENSTOCK_HELM") or run(_PROJECT / "tests" / "cluster" / "cluster", "path", "helm").strip()
        )
        distributions.prepare(source, commit.id)
        distributions.build_distributions(source, made, commit.time)
        digests = images.build(_PROJECT, made, version, commit)
        write_chart(helm, source, made, version, commit.time, digests)
        write_statements(made, version, commit.id, digests, tools(helm))
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)
    for file in sorted(target.iterdir()):
        print(f"{file.stat().st_size / 1e6:10.2f} MB  {file.name}")


def write_chart(helm: Path, source: Path, made: Path, version: str, time: int, digests: Mapping[str, str]) -> None:
    """Write the chart, and its equivalents for kubectl."""
    folder = source / "helm" / "penstock"
    values = folder / "values.yaml"
    values.write_text(chart.pinned(values.read_text(), digests))
    packed = made / f"penstock-{version}.tgz"
    chart.pack(folder, packed, time)
    (made / "install.yaml").write_text(chart.manifest(helm, packed, version))
    (made / "crds.yaml").write_text(chart.definitions(source / "crds"))


def write_statements(
    made: Path, version: str, commit: str, digests: Mapping[str, str], tools: Mapping[str, str]
) -> None:
    """Write the provenance of all files, and the checksums of all files with it."""
    names = {f"penstock-{image}@{digest}": digest for image, digest in digests.items()}
    stated = provenance.statement(made.iterdir(), names, version=version, commit=commit, tools=tools)
    (made / "provenance.intoto.json").write_text(json.dumps(stated, indent=1) + "\n")
    (made / "SHA256SUMS").write_text(provenance.checksums(made.iterdir()))


def tools(helm: Path) -> dict[str, str]:
    """Return versions of the programs that made the release, on which its bytes may depend."""
    return {
        "python": sys.version.split()[0],
        "hatchling": hatchling.__about__.__version__,
        "helm": run(helm, "version", "--short").strip(),
        "image builder": images.builder(),
    }


if __name__ == "__main__":
    sys.exit(main())
