"""examples/plugin-ticker: its digests are those of its sources, and it runs as docs/plugins.md says."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock_cli.plugin.build import build

from .images import Image

ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "examples" / "plugin-ticker"
VERSIONS = ("1.0.0", "2.0.0", "3.0.0")
FILES = {"1.0.0": "pluginversions.yaml", "2.0.0": "pluginversions.yaml", "3.0.0": "canary/pluginversion.yaml"}


def documents(name: str) -> dict[str, dict[str, Any]]:
    """The resources of a file, by their names."""
    return {d["metadata"]["name"]: d for d in yaml.safe_load_all((EXAMPLE / name).read_text())}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Image]:
    """The image of each version, as the page of the example says how to build it, but for amd64 wherever this runs."""
    folder = tmp_path_factory.mktemp("images")
    archives = {
        version: build(EXAMPLE / version, "plugins.example/ticker", folder / version, architecture="amd64").archive
        for version in VERSIONS
    }
    return {version: Image.read(archive) for version, archive in archives.items()}


def penstock(plugins: Path, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "penstock_cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(plugins), "PATH": "/usr/bin:/bin"},
        check=False,
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_the_digest_of_the_manifest_is_that_of_the_sources(version: str, built: dict[str, Image]) -> None:
    spec = documents(FILES[version])[f"ticker-{version}"]["spec"]
    assert (spec["plugin"], spec["version"]) == ("penstock-ticker", version)
    assert spec["image"] == built[version].name, (
        f"examples/plugin-ticker/{version} has changed, or what builds it: write the new name into {FILES[version]}"
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_the_image_holds_what_the_manifest_says(version: str, built: dict[str, Image]) -> None:
    declared = documents(FILES[version])[f"ticker-{version}"]["spec"]["classes"]
    assert declared == [{"alias": "Ticker", "type": "source"}]
    entries = built[version].text(f"plugin/penstock_ticker-{version}.dist-info/entry_points.txt")
    assert entries == "[penstock.plugins]\nTicker = penstock_ticker:Ticker\n"
    assert not [name for name in built[version].members() if "test" in name]


@pytest.mark.parametrize(
    ("version", "file", "connector"),
    [
        ("1.0.0", "connectors.yaml", "old"),
        ("2.0.0", "connectors.yaml", "new"),
        ("2.0.0", "canary/connector.yaml", "many"),
    ],
)
@pytest.mark.slow
def test_penstock_takes_the_mounted_image_and_its_connector(
    version: str, file: str, connector: str, built: dict[str, Image], tmp_path: Path
) -> None:
    plugins = built[version].unpack(tmp_path) / "plugin"
    described = penstock(plugins, "plugins", "Ticker")
    assert described.stdout.startswith(f"Ticker {version} (source)\n"), described
    manifest = tmp_path / "connector.yaml"
    manifest.write_text(yaml.safe_dump(documents(file)[connector]))
    done = penstock(plugins, "validate", manifest)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()


@pytest.mark.parametrize(("version", "connector"), [("1.0.0", "new"), ("2.0.0", "old")])
@pytest.mark.slow
def test_each_connector_refuses_the_other_version(
    version: str, connector: str, built: dict[str, Image], tmp_path: Path
) -> None:
    plugins, manifest = built[version].unpack(tmp_path) / "plugin", tmp_path / "connector.yaml"
    manifest.write_text(yaml.safe_dump(documents("connectors.yaml")[connector]))
    done = penstock(plugins, "validate", manifest)
    assert done.returncode == 2
    assert "Plugin Ticker not found that matches the version range" in done.stderr


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.slow
def test_the_tests_of_the_plugin_pass(version: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLE / version), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLE / version / "tests"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
