"""An image's archive, unpacked, and commands that run in it as they would in a pod: read-only root, uid 65532, nothing else.

Needs root, for mounts in a namespace of its own; no container engine.
"""

import json
import os
import shlex
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

__all__ = ["UID", "Image", "unpack"]

UID: Final = 65532

# The file system is bound onto itself, so that it can be made read-only; $1 is the root, $2 the writable folders in it.
_ENTER: Final = """\
set -e
root=$1 writable=$2
shift 2
mount --bind "$root" "$root"
mount -o remount,ro,bind "$root"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
for folder in $writable; do mount -t tmpfs -o mode=1777 tmpfs "$root$folder"; done
exec chroot --userspec=65532:65532 --groups= "$root" "$@"
"""


@dataclass(frozen=True, slots=True)
class Image:
    """An image on disk.

    Attributes:
        root: its file system.
        config: the `config` of its OCI configuration (User, Env, Labels, ...).
        history: how its layers were made, as the image tells everybody.
        size: all its layers, unpacked, in bytes.
    """

    root: Path
    config: Mapping[str, Any]
    history: Sequence[Mapping[str, Any]]
    size: int

    def command(
        self, *words: str, env: Mapping[str, str] | None = None, writable: Sequence[str] = ("/tmp",)
    ) -> list[str]:
        """Give the command line that runs a command in it; of folders, only `writable` can be written to."""
        environment = [*self.config["Env"], *(f"{name}={value}" for name, value in (env or {}).items())]
        folder = self.config["WorkingDir"]
        inner = ["/usr/bin/env", "--ignore-environment", f"--chdir={folder}", *environment, *words]
        entry = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _ENTER, "sh"]
        return [*entry, str(self.root), shlex.join(writable), *inner]

    def run(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        """Run a command in it to its end; its standard output.

        Raises:
            AssertionError: it failed; the message has all that it wrote.
        """
        done = subprocess.run(self.command(*words, env=env), capture_output=True, text=True, timeout=280, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def files(self) -> list[Path]:
        """All its files, links and folders, as paths in it."""
        found = []
        for folder, folders, names in os.walk(self.root):
            found += [Path("/", Path(folder, name).relative_to(self.root)) for name in folders + names]
        return found


def unpack(archive: Path, folder: Path) -> Image:
    """Unpack an archive as `ctr images import` would: layer upon layer, in the formats of OCI or Docker."""
    folder.chmod(0o755)  # it becomes "/"
    with tarfile.open(archive) as whole:
        names = whole.getnames()
        if "index.json" in names:
            manifest = _json(whole, _blob(_json(whole, "index.json")["manifests"][0]))
            config = _json(whole, _blob(manifest["config"]))
            layers = [_blob(layer) for layer in manifest["layers"]]
        else:
            manifest = _json(whole, "manifest.json")[0]
            config = _json(whole, manifest["Config"])
            layers = manifest["Layers"]
        size = 0
        for layer in layers:
            content = whole.extractfile(layer)
            assert content is not None
            size += _apply(content, folder)
    return Image(folder, config["config"], config.get("history", []), size)


def _blob(descriptor: Mapping[str, str]) -> str:
    return "blobs/" + descriptor["digest"].replace(":", "/")


def _json(archive: tarfile.TarFile, name: str) -> Any:
    content = archive.extractfile(name)
    assert content is not None
    return json.load(content)


def _apply(content: IO[bytes], folder: Path) -> int:
    size = 0
    with tarfile.open(fileobj=content, mode="r|*") as layer:
        for member in layer:
            path = folder / member.name
            if path.name.startswith(".wh."):
                subprocess.run(["rm", "-rf", path.with_name(path.name.removeprefix(".wh."))], check=True)
                continue
            if path.is_symlink() or (path.exists() and not member.isdir()):
                path.unlink()
            layer.extract(member, folder, filter="fully_trusted")
            size += member.size
    return size
