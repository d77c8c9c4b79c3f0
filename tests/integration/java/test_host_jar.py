"""The jar that runs plugins, compiled from a checkout's sources with a compiler that needs a Java runtime alone."""

from pathlib import Path

import pytest

from penstock_runtime.java_home import find_java
from penstock_runtime.java_plugins import host_jar
from penstock_runtime.java_plugins.jars import fetched_jars


@pytest.mark.slow
def test_equal_sources_make_equal_jars(tmp_path: Path) -> None:
    java = find_java()
    libs = fetched_jars(java, print)
    project = Path(host_jar.__file__).parents[2] / "java_host"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        host_jar.compile_jar(java, libs, project, tmp_path / name / "host.jar")
    assert (tmp_path / "one" / "host.jar").read_bytes() == (tmp_path / "two" / "host.jar").read_bytes()
