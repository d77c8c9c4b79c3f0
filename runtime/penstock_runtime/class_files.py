"""Find the Java version that the class files of a jar are compiled for."""

import re
import zipfile
from pathlib import Path
from typing import Final

__all__ = ["java_of_class", "newer_class", "use_another_version"]

_FIRST_JAVA: Final = 44
"""Difference between the version of a class file and its Java version."""
_UNSUPPORTED: Final = re.compile(
    r"UnsupportedClassVersionError: .*class file version (\d+).*only recognizes class file versions up to (\d+)",
    re.DOTALL,
)
"""Error with which a JVM rejects a class that is compiled for a newer Java."""


def newer_class(jar: Path, java: int) -> str:
    """Return a message with the first class of a jar that needs a newer Java, and the remedy; empty if none does.

    Classes below META-INF are skipped: a jar may contain classes for newer versions of Java there on purpose.
    """
    with zipfile.ZipFile(jar) as content:
        for entry in content.namelist():
            is_checked = entry.endswith(".class") and not entry.startswith("META-INF/") and entry != "module-info.class"
            if is_checked and (needed := _java_of(content, entry)) > java:
                cause = f"{entry} in {jar.name} is compiled for Java {needed}, and the runtime has Java {java}"
                return f"{cause}; use a version of the plugin for Java {java}"
    return ""


def java_of_class(jar: Path, class_name: str) -> int:
    """Return the Java version that a class is compiled for; 0 if the jar does not contain it."""
    with zipfile.ZipFile(jar) as content:
        try:
            return _java_of(content, f"{class_name.replace('.', '/')}.class")
        except KeyError:
            return 0


def use_another_version(error: str) -> str:
    """Return why the JVM rejected a class that is compiled for a newer Java, and the remedy; empty for other errors."""
    found = _UNSUPPORTED.search(error)
    if found is None:
        return ""
    needed, java = (int(version) - _FIRST_JAVA for version in found.groups())
    return f"it is compiled for Java {needed}, and the runtime has Java {java}; use a version of the plugin for Java {java}"


def _java_of(jar: zipfile.ZipFile, entry: str) -> int:
    with jar.open(entry) as code:
        return int.from_bytes(code.read(8)[6:8], "big") - _FIRST_JAVA
