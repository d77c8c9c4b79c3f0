"""What the tests in a browser need, installed once: Debian's Chromium, and axe from npm."""

import hashlib
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Final

import pytest

from .browser import chromium

__all__ = ["axe", "installed_chromium"]

_AXE: Final = "4.14.1"
_SHA256: Final = "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"
_CACHE: Final = Path(os.environ.get("PENSTOCK_CACHE") or Path.home() / ".cache" / "penstock")


def installed_chromium() -> str:
    """Return the program of Chromium. As root on Debian or Ubuntu it is installed; otherwise the tests are skipped."""
    if (found := chromium()) is not None:
        return found
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        pytest.skip("needs Chromium: apt-get install chromium")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"]):
        subprocess.run([apt, "--quiet", *words], check=True, env=environment, stdout=subprocess.DEVNULL)
    found = chromium()
    assert found is not None
    return found


def axe() -> str:
    """Return the script of axe-core."""
    script = _CACHE / f"axe-core-{_AXE}" / "package" / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("needs npm, which downloads axe-core")
        folder = script.parents[1]
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([npm, "pack", "--silent", f"axe-core@{_AXE}"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        archive = folder / f"axe-core-{_AXE}.tgz"
        assert hashlib.sha256(archive.read_bytes()).hexdigest() == _SHA256
        with tarfile.open(archive) as files:
            files.extractall(folder, filter="data")
    return script.read_text()
