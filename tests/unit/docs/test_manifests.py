"""Manifests and pieces of configuration in the pages are taken by what reads them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.resources.connector import Connector

from ..cli.command import Done, penstock
from .pages import Block, blocks

OURS = "penstock.dev/v1alpha1"
OWN_PLUGINS = ("docs/plugins.md", "docs/first-plugin.md", "docs/java-plugins.md")
"""Pages with plugins of their own, whose tests install and run them, or that have to be fetched."""
SOURCE = {"file": "/tmp/a", "topic": "t"}
SINK = {"file": "/tmp/a", "topics": "t"}


def documents(block: Block) -> list[dict[str, Any]]:
    return [d for d in yaml.safe_load_all(block.text) if isinstance(d, dict)]


def connectors() -> list[Block]:
    return [b for b in blocks("yaml") if any(is_connector(document) for document in documents(b))]


def is_connector(document: dict[str, Any]) -> bool:
    return (document.get("apiVersion"), document.get("kind")) == (OURS, "Connector")


def pieces() -> list[Block]:
    """Blocks that are indented as lines of `spec.config`."""
    return [b for b in blocks("yaml") if b.text.startswith("    ")]


def validate(file: Path, manifest: object) -> Done:
    """`penstock validate`, with a Secret for each that the pages refer to."""
    file.write_text(manifest if isinstance(manifest, str) else yaml.safe_dump(manifest))
    secret = file.parent / "secrets" / "shop"
    secret.mkdir(parents=True, exist_ok=True)
    (secret / "folder").write_text("/data")
    (secret / "password").write_text("secret")
    (secret / "registry").write_text("penstock:secret")
    return penstock("validate", file, "--secrets", secret.parent)


def test_every_yaml_block_parses() -> None:
    assert len(blocks("yaml")) > 15
    for block in blocks("yaml"):
        assert documents(block), str(block)


@pytest.mark.parametrize("block", connectors(), ids=str)
def test_a_connector_of_a_page_is_a_connector(block: Block) -> None:
    for document in documents(block):
        Connector.read(document)


@pytest.mark.parametrize("block", [b for b in connectors() if b.page not in OWN_PLUGINS], ids=str)
def test_penstock_validate_finds_nothing_wrong_with_a_connector_of_a_page(block: Block, tmp_path: Path) -> None:
    done = validate(tmp_path / "connector.yaml", block.text)
    away = "db.example" in block.text and "cannot list tables at db.example" in done.stderr
    assert done.returncode == (ExitCode.UNAVAILABLE if away else ExitCode.OK), done.stdout + done.stderr


@pytest.mark.parametrize("block", [b for b in pieces() if b.page not in OWN_PLUGINS], ids=str)
def test_a_piece_of_configuration_of_a_page_is_valid(block: Block, tmp_path: Path) -> None:
    config = {name: str(value) for name, value in yaml.safe_load(block.text).items()}
    sink = any(name.startswith("errors.deadletterqueue") for name in config)
    spec = {
        "class": "FileStreamSink" if sink else "FileStreamSource",
        "config": {**(SINK if sink else SOURCE), **config},
    }
    done = validate(
        tmp_path / "connector.yaml",
        {"apiVersion": OURS, "kind": "Connector", "metadata": {"name": "c"}, "spec": spec},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()


def test_the_recorded_session_of_the_playground_is_what_the_command_prints(tmp_path: Path) -> None:
    (manifest,), (records,), (result,) = (
        [block.text for block in blocks(language) if block.page == "docs/playground.md"]
        for language in ("yaml", "json", "")
    )
    (tmp_path / "connector.yaml").write_text(manifest)
    (tmp_path / "records.json").write_text(records)
    done = penstock("transform", tmp_path / "connector.yaml", "--records", tmp_path / "records.json")
    assert done.stdout == result
