"""Writer of a folder as an OCI image in one archive, for `ctr images import`: without Docker and without a registry.

    oci-layout              the version of this layout
    index.json              one image, with the name that it gets when imported
    blobs/sha256/<digest>   its manifest, its configuration, its one layer

The layer is not compressed, so that the digest of the image does not depend on the version of a compressor.
"""

import hashlib
import io
import json
import os
import platform
import re
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeAlias

from penstock.errors import ConfigError
from penstock_cli.plugin.layer import write_layer

__all__ = ["check_repository", "write_image"]

_Content: TypeAlias = io.BytesIO | io.BufferedRandom
_MEDIA: Final = "application/vnd.oci.image."
_HOST: Final = r"(localhost|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:))(:[0-9]+)?"
_REPOSITORY: Final = re.compile(_HOST + r"(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)+")
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def write_image(
    folder: Path, repository: str, to: Path, *, base: str = "plugin", architecture: str | None = None
) -> str:
    """Write the files of a folder as an image, in one folder at its root. The same files give a byte-identical image.

    Times, owners, the umask, the order of the file system and Python's bytecode have no effect. The layer is streamed,
    so its size does not matter. `to` contains the whole archive when this function returns, and is unchanged if the
    function fails or its process is killed; until then, the folder of `to` needs space for two copies.

    Args:
        folder: folder with the files.
        repository: the image's name, with its registry and without a tag: `plugins.example/ticker`. The registry is not
            contacted.
        to: path of the archive. An existing file is replaced.
        base: folder in the image.
        architecture: architecture of the image, in Go's terms (`amd64`); None: this machine's.

    Returns:
        The image's name by digest, `<repository>@sha256:<digest>`. An import of the archive gives the image this name,
        which a kubelet requests.

    Raises:
        ConfigError: the folder or the repository is invalid for an image, or the folder of `to` does not exist.
        OSError: a file cannot be read or written.
    """
    check_repository(repository)
    _check_paths(folder, to)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=f".{to.name}-") as scratch:
        partial = Path(scratch) / "archive"
        with (Path(scratch) / "layer").open("w+b") as content:
            write_layer(folder, content, PurePosixPath(base))
            layer = _Blob.of_file(content, "layer.v1.tar")
            config = _Blob.of_json(_config(layer, architecture or _this_architecture()), "config.v1+json")
            manifest = _Blob.of_json(_manifest(config, layer), "manifest.v1+json")
            reference = f"{repository}@{manifest.digest}"
            with tarfile.open(partial, "w", format=tarfile.PAX_FORMAT, encoding="utf-8") as archive:
                _add(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
                _add(archive, "index.json", _json(_index(manifest, reference)))
                for blob in sorted((config, layer, manifest), key=lambda b: b.digest):
                    _add(archive, f"blobs/{blob.digest.replace(':', '/')}", blob.content)
        partial.replace(to)
    return reference


def check_repository(repository: str) -> None:
    """Check the name of an image without a tag.

    Raises:
        ConfigError: it is invalid, or names no registry. A kubelet would add one, and request a different name.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise ConfigError(
            f"{repository!r} is not an image repository; write <registry>/<name> in lower case, without a tag or digest, "
            "such as plugins.example/ticker"
        )


@dataclass(frozen=True)
class _Blob:
    """Part of an image, named by its digest."""

    media_type: str
    digest: str
    size: int
    content: _Content

    @classmethod
    def of_file(cls, file: _Content, kind: str) -> "_Blob":
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        return cls(_MEDIA + kind, f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}", size, file)

    @classmethod
    def of_json(cls, data: Mapping[str, Any], kind: str) -> "_Blob":
        return cls.of_file(_json(data), kind)

    def descriptor(self) -> dict[str, Any]:
        return {"mediaType": self.media_type, "digest": self.digest, "size": self.size}


def _config(layer: _Blob, architecture: str) -> dict[str, Any]:
    # The digest of an uncompressed layer is also its diff_id. No time of creation: it would differ each time.
    rootfs = {"type": "layers", "diff_ids": [layer.digest]}
    return {"architecture": architecture, "os": "linux", "config": {}, "rootfs": rootfs}


def _manifest(config: _Blob, layer: _Blob) -> dict[str, Any]:
    return {
        "schemaVersion": 2,
        "mediaType": f"{_MEDIA}manifest.v1+json",
        "config": config.descriptor(),
        "layers": [layer.descriptor()],
    }


def _index(manifest: _Blob, reference: str) -> dict[str, Any]:
    # Without a platform: a single image is imported on any machine, and a pure Python image runs there.
    named = {**manifest.descriptor(), "annotations": {"io.containerd.image.name": reference}}
    return {"schemaVersion": 2, "mediaType": f"{_MEDIA}index.v1+json", "manifests": [named]}


def _json(data: Mapping[str, Any]) -> _Content:
    return io.BytesIO(json.dumps(data, sort_keys=True, separators=(",", ":")).encode())


def _add(archive: tarfile.TarFile, name: str, content: _Content) -> None:
    member = tarfile.TarInfo(name)
    member.size = content.seek(0, os.SEEK_END)
    content.seek(0)
    archive.addfile(member, content)


def _check_paths(folder: Path, to: Path) -> None:
    if not folder.is_dir():
        raise ConfigError(f"cannot build an image: {folder} is not a folder; pass the folder of its files")
    if not to.parent.is_dir():
        raise ConfigError(f"cannot write the archive {to.name}: {to.parent} is not a folder; create it first")
    if to.is_dir():
        raise ConfigError(f"cannot write the archive: {to} is a folder; use a file such as {to / 'plugin.tar'}")
    if to.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(f"cannot write the archive: {to} is in the folder of the image's files; use another folder")


def _this_architecture() -> str:
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)  # Go and the kernel use the same names for the others
