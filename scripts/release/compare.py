"""List the files in which two archives of an image differ: python -m scripts.release.compare ARCHIVE ARCHIVE."""

import hashlib
import json
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

__all__ = ["differences", "main"]


def differences(one: Path, other: Path) -> list[str]:
    """Return the paths whose type, permissions, owner, link or content differ in two OCI archives, over all layers."""
    first, second = _files(one), _files(other)
    return sorted(path for path in first.keys() | second.keys() if first.get(path) != second.get(path))


def main(arguments: Sequence[str]) -> int:
    """Print the paths. Exit code 0: the images have equal files, 1: they do not, 2: wrong arguments."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    found = differences(*map(Path, arguments))
    print("".join(f"{path}\n" for path in found), end="")
    return 1 if found else 0


def _files(archive: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    with tarfile.open(archive) as whole:
        (entry,) = json.load(_blob(whole, "index.json"))["manifests"]
        for described in json.load(_blob(whole, _path(entry)))["layers"]:
            with tarfile.open(fileobj=_blob(whole, _path(described)), mode="r|*") as layer:
                for member in layer:
                    content = layer.extractfile(member) if member.isreg() else None
                    digest = hashlib.sha256(content.read()).hexdigest() if content else ""
                    found[f"/{member.name}"] = (
                        member.type,
                        member.mode,
                        member.uid,
                        member.gid,
                        member.linkname,
                        digest,
                    )
    return found


def _path(descriptor: dict[str, Any]) -> str:
    return "blobs/" + str(descriptor["digest"]).replace(":", "/")


def _blob(whole: tarfile.TarFile, name: str) -> IO[bytes]:
    content = whole.extractfile(name)
    if content is None:
        raise ValueError(f"{name} is not a file of the archive")
    return content


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
