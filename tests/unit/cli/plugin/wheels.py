"""Wheels of a few bytes, for a folder that stands for an index."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["wheel"]


def wheel(
    folder: Path, name: str, version: str, *, needs: Sequence[str] = (), tag: str = "py3-none-any", more: str = ""
) -> Path:
    """A distribution with one module of its name."""
    folder.mkdir(exist_ok=True)
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    path = folder / f"{module}-{version}-{tag}.whl"
    requires = "".join(f"Requires-Dist: {text}\n" for text in needs)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{module}.py", f"TAG = {tag!r}\n")
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}{more}")
        file.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: {tag}\n")
        file.writestr(f"{info}/RECORD", "".join(f"{n},,\n" for n in (f"{module}.py", f"{info}/METADATA")))
    return path
