"""Reads an image archive as the layout of OCI says, apart from what writes it."""

import hashlib
import io
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Image"]


@dataclass(frozen=True)
class Image:
    """An image of one layer. Every digest and size in it has been checked when there is one."""

    name: str
    config: dict[str, Any]
    manifest: dict[str, Any]
    digest: str
    layer: bytes

    @classmethod
    def read(cls, archive: Path) -> "Image":
        with tarfile.open(archive) as tar:
            files = {m.name: _content(tar, m) for m in tar}
        assert json.loads(files.pop("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
        index = json.loads(files.pop("index.json"))
        (descriptor,) = index["manifests"]
        manifest = json.loads(_blob(files, descriptor))
        (layer,) = manifest["layers"]
        assert layer["mediaType"] == "application/vnd.oci.image.layer.v1.tar"
        image = cls(
            name=descriptor["annotations"]["io.containerd.image.name"],
            config=json.loads(_blob(files, manifest["config"])),
            manifest=manifest,
            digest=descriptor["digest"],
            layer=_blob(files, layer),
        )
        assert not files, f"no part of the image: {sorted(files)}"
        return image

    def members(self) -> dict[str, tarfile.TarInfo]:
        """What the layer holds, in its order."""
        with self._tar() as tar:
            members = tar.getmembers()
            assert len({m.name for m in members}) == len(members)
            return {m.name: m for m in members}

    def text(self, name: str) -> str:
        with self._tar() as tar:
            return _content(tar, tar.getmember(name)).decode()

    def unpack(self, folder: Path) -> Path:
        """Write its files, as a mount of the image has them."""
        with self._tar() as tar:
            tar.extractall(folder, filter="data")
        return folder

    def _tar(self) -> tarfile.TarFile:
        return tarfile.open(fileobj=io.BytesIO(self.layer))


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None
    return file.read()


def _blob(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    content = files.pop(f"blobs/{descriptor['digest'].replace(':', '/')}")
    assert descriptor["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert descriptor["size"] == len(content)
    return content
