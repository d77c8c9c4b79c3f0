"""What `scripts/publish` says, and whose credentials it takes."""

from pathlib import Path

import pytest
from scripts.release.commands import ReleaseError
from scripts.release.publish import Release, credentials, explained


def test_credentials_are_those_of_docker_unless_a_file_is_named(tmp_path: Path) -> None:
    assert credentials({}, tmp_path) is None
    docker = tmp_path / ".docker" / "config.json"
    docker.parent.mkdir()
    docker.write_text("{}")
    assert credentials({}, tmp_path) == docker
    assert credentials({"REGISTRY_AUTH_FILE": "/run/auth.json"}, tmp_path) == Path("/run/auth.json")
    assert credentials({"DOCKER_CONFIG": str(docker.parent)}, Path("/nowhere")) == docker


@pytest.mark.parametrize(
    ("output", "remedy"),
    [
        ("dial tcp 127.0.0.1:1: connect: connection refused", "registry.example does not answer"),
        ("unauthorized: authentication required", "run `docker login registry.example`"),
        ("requested access to the resource is denied", "run `docker login registry.example`"),
        ("server gave HTTP response to HTTPS client", "add --plain-http"),
        ("no space left on device", "run it again"),
        ("", "no output"),
    ],
)
def test_a_refused_push_says_what_to_do(output: str, remedy: str) -> None:
    said = explained("the chart", "registry.example/team", f"first line\n{output}" if output else "")
    assert said.startswith("cannot push the chart to registry.example/team: ")
    assert remedy in said
    assert output in said


def test_a_folder_without_a_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="it has no SHA256SUMS; run `make release`"):
        Release.read(tmp_path)
