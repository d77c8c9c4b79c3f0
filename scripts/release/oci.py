"""Image archives that depend only on the content of the image: not on the time of the build, the builder or its cache.

An archive of `docker save` or buildah becomes an OCI archive. All files have the same time, layers are compressed without
a time, and the history has no digests and only the time of the commit.
"""

import gzip
import hashlib
import io
import json
import re
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

__all__ = ["Rewritten", "rewrite"]

_LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_INDEX: Final = "application/vnd.oci.image.index.v1+json"
_CAPABILITIES: Final = "SCHILY.xattr."
_TIME: Final = int(datetime(1980, 1, 1, tzinfo=UTC).timestamp())
"""Time of all files. Jars have it already when Java writes an archive of their classes, which records it (Dockerfiles)."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """OCI archive.

    Attributes:
        file: the archive.
        digest: digest of the manifest, by which a registry serves the image.
    """

    file: Path
    digest: str


@dataclass(frozen=True, slots=True)
class _Blob:
    content: bytes | Path
    digest: str
    size: int

    def described(self, kind: str) -> dict[str, Any]:
        return {"mediaType": kind, "digest": self.digest, "size": self.size}


def rewrite(archive: Path, target: Path, *, name: str, time: int, labels: Mapping[str, str]) -> Rewritten:
    """Write the image of an archive as a reproducible OCI archive.

    Args:
        archive: archive in the format of `docker save`, or in OCI's.
        target: file to write.
        name: name with a tag, which the image gets when the archive is imported.
        time: seconds since 1970 of the commit, which is the time of creation.
        labels: labels to add to those of the image and to the label of the time of creation.
    """
    created = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    with tarfile.open(archive) as whole, tempfile.TemporaryDirectory(dir=target.parent) as folder:
        config, layers = _read(whole)
        blobs, diff_ids = [], []
        for number, layer in enumerate(layers):
            blob, diff_id = _rewrite_layer(whole, layer, Path(folder, str(number)))
            blobs.append(blob)
            diff_ids.append(diff_id)
        manifest, config_blob = _manifest(_rewritten_config(config, diff_ids, created, labels), blobs)
        tag = name.rpartition(":")[2]
        annotations = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}
        entry = {**manifest.described(_MANIFEST), "annotations": annotations, "platform": _platform(config)}
        index = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [entry]}
        with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT) as out:
            for blob in sorted({b.digest: b for b in (manifest, config_blob, *blobs)}.values(), key=lambda b: b.digest):
                _add(out, f"blobs/{blob.digest.replace(':', '/')}", blob.content)
            _add(out, "index.json", _json(index))
            _add(out, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
    return Rewritten(target, manifest.digest)


def rewrite_tar(source: IO[bytes], target: IO[bytes]) -> None:
    """Copy the members of a layer with one time, without user names, and with only file capabilities of the headers."""
    with (
        tarfile.open(fileobj=source, mode="r|*") as old,
        tarfile.open(fileobj=target, mode="w|", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in old:
            member.mtime = _TIME
            member.uname = member.gname = ""
            member.pax_headers = {k: v for k, v in member.pax_headers.items() if k.startswith(_CAPABILITIES)}
            new.addfile(member, old.extractfile(member) if member.isreg() else None)


def _rewrite_layer(whole: tarfile.TarFile, layer: str, file: Path) -> tuple[_Blob, str]:
    """Return the compressed layer, and the digest of the uncompressed one."""
    with file.open("wb") as raw:
        stored = _Digest(raw)
        # No name and no time in the header. Level 6 is gzip's own default: 9 saves 1 % in three times the time.
        with gzip.GzipFile("", "wb", 6, stored, 0) as compressed:
            content = _Digest(compressed)
            rewrite_tar(_member(whole, layer), content)  # type: ignore[arg-type]  # it only writes
    return _Blob(file, stored.digest, file.stat().st_size), content.digest


class _Digest:
    """File to write to, with a digest of its content."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        return int(self._target.write(data))

    def flush(self) -> None:
        self._target.flush()

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"


def _rewritten_config(
    config: Mapping[str, Any], diff_ids: list[str], created: str, labels: Mapping[str, str]
) -> dict[str, Any]:
    inner = dict(config["config"])
    labels = {**inner.get("Labels", {}), **labels, "org.opencontainers.image.created": created}
    # A builder adds a label with its version.
    inner["Labels"] = {k: v for k, v in sorted(labels.items()) if k != "io.buildah.version"}
    kept = {k: config[k] for k in ("architecture", "os", "variant") if k in config}
    history = [_rewritten_step(step, created) for step in config.get("history", [])]
    return {
        **kept,
        "created": created,
        "config": inner,
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
        "history": history,
    }


def _rewritten_step(step: Mapping[str, Any], created: str) -> dict[str, Any]:
    kept: dict[str, Any] = {"created": created}
    if "created_by" in step:
        kept["created_by"] = re.sub(r"\b(file|dir|multi):[0-9a-f]{64}", r"\1", step["created_by"])
    if step.get("empty_layer"):
        kept["empty_layer"] = True
    return kept


def _manifest(config: Mapping[str, Any], layers: list[_Blob]) -> tuple[_Blob, _Blob]:
    configured = _blob(_json(config))
    content = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": configured.described(_CONFIG),
        "layers": [layer.described(_LAYER) for layer in layers],
    }
    return _blob(_json(content)), configured


def _read(whole: tarfile.TarFile) -> tuple[dict[str, Any], list[str]]:
    """Return the configuration, and the names of the layers."""
    if "manifest.json" in whole.getnames():
        (image,) = json.load(_member(whole, "manifest.json"))
        return json.load(_member(whole, image["Config"])), image["Layers"]
    (entry,) = json.load(_member(whole, "index.json"))["manifests"]
    manifest = json.load(_member(whole, _path(entry)))
    return json.load(_member(whole, _path(manifest["config"]))), [_path(layer) for layer in manifest["layers"]]


def _path(descriptor: Mapping[str, str]) -> str:
    return "blobs/" + descriptor["digest"].replace(":", "/")


def _member(whole: tarfile.TarFile, name: str) -> IO[bytes]:
    content = whole.extractfile(name)
    if content is None:
        raise ValueError(f"{name} is not a file of the archive")
    return content


def _platform(config: Mapping[str, Any]) -> dict[str, str]:
    return {k: config[k] for k in ("architecture", "os", "variant") if k in config}


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def _blob(content: bytes) -> _Blob:
    return _Blob(content, f"sha256:{hashlib.sha256(content).hexdigest()}", len(content))


def _add(out: tarfile.TarFile, name: str, content: bytes | Path) -> None:
    member = tarfile.TarInfo(name)
    member.mode = 0o644
    with _opened(content) as stream:
        member.size = len(content) if isinstance(content, bytes) else content.stat().st_size
        out.addfile(member, stream)


@contextmanager
def _opened(content: bytes | Path) -> Iterator[IO[bytes]]:
    with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as stream:
        yield stream
