"""Contents of the runtime's image, with which plugin images must be compatible."""

import platform
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import NormalizedName, canonicalize_name

from penstock.errors import ConfigError

__all__ = [
    "ARCHITECTURES",
    "JAVA",
    "PYTHON",
    "hides_module",
    "marker_environment",
    "packages",
    "platforms",
    "tags",
    "this_architecture",
]

PYTHON: Final = (3, 11)
"""Version of its CPython: that of Debian bookworm."""
JAVA: Final = 17
"""Version of its Java: that of Debian bookworm."""
ARCHITECTURES: Final[Mapping[str, str]] = {"amd64": "x86_64", "arm64": "aarch64"}
"""Architectures with an image, in Go's terms and in the kernel's."""

_PYTHON_IN_FULL: Final = "3.11.2"
_GLIBC: Final = 36
"""Minor version of its glibc."""
_LEGACY: Final = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
_OLDEST: Final = {"x86_64": 5, "aarch64": 17}
_OWN_MODULES: Final = (
    "penstock",
    "penstock_cli",
    "penstock_java_compat",
    "penstock_kafka",
    "penstock_logging",
    "penstock_model",
    "penstock_operator",
    "penstock_plugins",
    "penstock_runtime",
    "penstock_web",
)


@cache
def packages() -> Mapping[NormalizedName, str]:
    """Return the distributions in the image and their versions, including Penstock's own."""
    text = (Path(__file__).parent / "runtime_packages.txt").read_text(encoding="utf-8")
    pins = (line.split("==") for line in text.splitlines() if not line.startswith("#"))
    return {canonicalize_name("penstock"): version("penstock"), **{canonicalize_name(n): v for n, v in pins}}


def this_architecture() -> str:
    """Return the architecture of this machine, in Go's terms.

    Raises:
        ConfigError: there is no image of the runtime for it.
    """
    machine = platform.machine()
    for name, kernel in ARCHITECTURES.items():
        if machine in (name, kernel):
            return name
    raise ConfigError(f"there is no runtime image for {machine}; set --architecture to {' or '.join(ARCHITECTURES)}")


def platforms(architecture: str) -> list[str]:
    """Return the platform tags of the wheels that the image can load, the newest first."""
    machine = ARCHITECTURES[architecture]
    return [*_platforms(machine), f"linux_{machine}"]


def tags(architecture: str) -> frozenset[Tag]:
    """Return the tags of the wheels that the image can load."""
    usable = platforms(architecture)
    return frozenset(
        [
            *cpython_tags(PYTHON, platforms=usable, abis=[f"cp{PYTHON[0]}{PYTHON[1]}"]),
            *compatible_tags(PYTHON, f"cp{PYTHON[0]}{PYTHON[1]}", usable),
        ]
    )


def marker_environment(architecture: str) -> dict[str, str]:
    """Return the environment with which the markers of requirements are evaluated."""
    return {
        "implementation_name": "cpython",
        "implementation_version": _PYTHON_IN_FULL,
        "os_name": "posix",
        "platform_machine": ARCHITECTURES[architecture],
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": _PYTHON_IN_FULL,
        "python_version": ".".join(map(str, PYTHON)),
        "sys_platform": "linux",
    }


def hides_module(name: str) -> str | None:
    """Return the owner of a module that is imported instead of a plugin's module of this name, or None.

    Each package of the runtime has one module, which has its name.
    """
    if name in sys.stdlib_module_names:
        return "Python's own"
    if name in _OWN_MODULES:
        return "Penstock's own"
    package = canonicalize_name(name)
    return f"that of {package}, which the runtime has" if package in packages() else None


def _platforms(machine: str) -> Iterator[str]:
    for minor in range(_GLIBC, _OLDEST[machine] - 1, -1):
        yield f"manylinux_2_{minor}_{machine}"
        if minor in _LEGACY:
            yield f"{_LEGACY[minor]}_{machine}"
