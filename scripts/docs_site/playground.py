"""Archive with which the site runs transforms in a browser: our sources, and packages for Python in WebAssembly."""

import importlib.util
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Final

__all__ = ["archive"]

_TARGET: Final = (
    "--platform=pyemscripten_2026_0_wasm32",
    "--python-version=3.14",
    "--implementation=cp",
    "--abi=cp314",
)
_REGEX: Final = '''\
"""Replacement of the package regex, which has no build for browsers."""

Pattern = Match = type("Pattern", (), {})
error = type("error", (Exception,), {})


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return 0 if name.isupper() else _missing


def _missing(*_arguments, **_options):
    raise NotImplementedError("regular expressions do not work on this page; use the command penstock transform")
'''


def archive(root: Path, file: Path) -> None:
    """Write the archive."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    info = f"{project['name']}-{project['version']}.dist-info"
    groups = "".join(
        f"[{group}]\n" + "".join(f"{name} = {path}\n" for name, path in entries.items())
        for group, entries in project["entry-points"].items()
    )
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        pins = ["--only-binary=:all:", "--require-hashes", f"--requirement={root}/requirements/playground.txt"]
        subprocess.run([*command, *_TARGET, *pins, f"--dest={folder}"], check=True)
        for wheel in sorted(Path(folder).glob("*.whl")):
            with zipfile.ZipFile(wheel) as content:
                for inner in content.namelist():
                    target.writestr(inner, content.read(inner))
        yaml = importlib.util.find_spec("yaml")
        assert yaml is not None
        assert yaml.origin is not None
        for source in sorted(Path(yaml.origin).parent.glob("*.py")):
            target.write(source, f"yaml/{source.name}")
        for source in sorted((root / "runtime").glob("penstock*/**/*")):
            name = source.relative_to(root / "runtime")
            if source.suffix in (".py", ".txt", ".json"):
                target.write(source, str(name))
        target.writestr("regex.py", _REGEX)
        target.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        target.writestr(f"{info}/entry_points.txt", groups)
