"""Files of npm packages that the site uses in a browser, with pinned versions and hashes."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["MERMAID", "PYODIDE", "Package"]


@dataclass(frozen=True)
class Package:
    """npm package.

    Args:
        name: its name.
        version: its version.
        sha256: digest of its archive.
    """

    name: str
    version: str
    sha256: str

    def folder(self) -> Path | None:
        """Return the folder with its files, downloaded once with npm; None, and a message, if npm is not installed."""
        cache = Path(os.environ.get("PENSTOCK_CACHE") or Path.home() / ".cache" / "penstock")
        folder = cache / f"{self.name}-{self.version}"
        archive = folder / f"{self.name}-{self.version}.tgz"
        if not (folder / "package").exists():
            npm = shutil.which("npm")
            if npm is None:
                sys.stderr.write(f"npm is not installed: the site has no {self.name}\n")
                return None
            folder.mkdir(parents=True, exist_ok=True)
            command = [npm, "pack", "--silent", f"{self.name}@{self.version}"]
            subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)
            found = hashlib.sha256(archive.read_bytes()).hexdigest()
            if found != self.sha256:
                archive.unlink()
                sys.exit(f"cannot use {archive.name}: its digest is {found}, but {self.sha256} is pinned")
            with tarfile.open(archive) as files:
                files.extractall(folder, filter="data")
        return folder / "package"


MERMAID: Final = Package("mermaid", "12.3.0", "be0684e8d20bfc874df12c0f04927a5c482f57f2200eec54cca52a4583fd4040")
"""Renderer of the diagrams."""

PYODIDE: Final = Package("pyodide", "314.0.7", "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0")
"""Python interpreter."""
