"""Find Java 17 or newer, which Spark, Java plugins and the embedded Kafka need."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import ConnectError

__all__ = ["OLDEST", "Java", "find_java"]

OLDEST = 17
_ADVICE = f"install Java {OLDEST} or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Java:
    """Java installation of a supported version.

    Attributes:
        executable: the `java` command.
        major: major version, such as 17.
        build: full output of `java -version`; equal builds can read the same class-data archives.
    """

    executable: Path
    major: int
    build: str


def find_java() -> Java:
    """Find `java` in JAVA_HOME or, if that is not set, on the PATH.

    Raises:
        ConnectError: Java is missing or too old; the message is one line that says what to install.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        executable = Path(home) / "bin" / "java"
        if not os.access(executable, os.X_OK):
            raise ConnectError(f"cannot find Java: JAVA_HOME is {home}, which has no bin/java; {_ADVICE}")
    else:
        found = shutil.which("java")
        if found is None:
            raise ConnectError(f"cannot find Java: there is no java on the PATH; {_ADVICE}")
        executable = Path(found)
    try:
        answer = subprocess.run([executable, "-version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise ConnectError(f"cannot run {executable} ({error}); {_ADVICE}") from error
    version = _VERSION.search(answer.stderr)
    if version is None:
        raise ConnectError(f"cannot use {executable}: it does not print its version; {_ADVICE}")
    if int(version[1]) < OLDEST:
        raise ConnectError(f"cannot use {executable}: it is Java {version[1]}; {_ADVICE}")
    return Java(executable, int(version[1]), answer.stderr.strip())
