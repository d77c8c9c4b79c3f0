"""Checksums of the files of a release, and a statement of their origin."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["checksums", "digest", "statement"]


def digest(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def checksums(files: Iterable[Path]) -> str:
    """Return the input for `sha256sum --check`."""
    return "".join(f"{digest(file)}  {file.name}\n" for file in sorted(files))


def statement(
    files: Iterable[Path], images: Mapping[str, str], *, version: str, commit: str, tools: Mapping[str, str]
) -> dict[str, Any]:
    """Return an in-toto statement with a provenance of SLSA 1. It has no time and no id of the run, so it is reproducible.

    Args:
        files: the subjects.
        images: digests of the images' manifests, which are subjects, too.
        version: version of the release.
        commit: the commit that it was made from.
        tools: versions of the programs that made it.
    """
    subjects = [{"name": file.name, "digest": {"sha256": digest(file)}} for file in sorted(files)]
    subjects += [{"name": name, "digest": {"sha256": d.removeprefix("sha256:")}} for name, d in sorted(images.items())]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://penstock.dev/make-release/v1",
                "externalParameters": {"command": "make release", "version": version},
                "internalParameters": dict(sorted(tools.items())),
                "resolvedDependencies": [{"name": "penstock", "digest": {"gitCommit": commit}}],
            },
            "runDetails": {"builder": {"id": "https://penstock.dev/make-release/v1"}},
        },
    }
