from pathlib import Path

import pytest

from penstock.errors import ConnectError
from penstock_runtime.java_home import find_java


def java_that_says(folder: Path, version: str) -> Path:
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    executable.chmod(0o755)
    return executable


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("21", 21), ("25-ea", 25)])
def test_java_17_and_newer_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, major: int) -> None:
    executable = java_that_says(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java = find_java()
    assert (java.executable, java.major) == (executable, major)
    assert version in java.build


@pytest.mark.parametrize(("version", "major"), [("1.8.0_402", 8), ("11.0.22", 11)])
def test_an_older_java_is_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, major: int
) -> None:
    java_that_says(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConnectError, match=rf"is Java {major}; .*apt-get install openjdk-17-jre-headless"):
        find_java()


def test_java_home_goes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = java_that_says(tmp_path / "named", "21")
    on_path = java_that_says(tmp_path / "on_path", "17.0.1")
    monkeypatch.setenv("PATH", f"{on_path.parent}:/bin:/usr/bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "named"))
    assert find_java().executable == named
    monkeypatch.delenv("JAVA_HOME")
    assert find_java().executable == on_path


def test_a_missing_java_gets_one_line_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(ConnectError) as caught:
        find_java()
    message = str(caught.value)
    assert message.startswith("cannot find Java: ")
    assert "apt-get install openjdk-17-jre-headless" in message
    assert "\n" not in message


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConnectError, match=f"JAVA_HOME is {tmp_path}, which has no bin/java"):
        find_java()


def test_a_java_that_does_not_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java_that_says(tmp_path, "17").write_text("#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConnectError, match=r"cannot run .*bin/java"):
        find_java()
