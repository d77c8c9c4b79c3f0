"""What Helm says after an installation, and what the guide shows, can be pasted."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock_model.resources.connector import Connector

from .rendering import CHART, ROOT, Helm, least

GUIDE = ROOT / "docs" / "installing.md"


@pytest.fixture
def notes(helm: Helm) -> Any:
    def of(**values: Any) -> str:
        file = helm.folder / "values.yaml"
        file.write_text(yaml.safe_dump(least(**values)))
        text = helm.run(
            "install",
            "penstock",
            str(CHART),
            "--namespace",
            "sys",
            "--values",
            str(file),
            "--dry-run=client",
        )
        return text.partition("NOTES:\n")[2]

    return of


def test_the_notes_show_a_connector_that_is_one(notes: Any) -> None:
    manifest = re.search(r"<<'END'\n(.*?)\n  END\n", notes(watchNamespaces=["shop"]), re.DOTALL)
    assert manifest
    connector = Connector.read(yaml.safe_load(manifest[1]))
    assert (connector.metadata.namespace, connector.spec.class_name) == ("shop", "Datagen")


def test_the_notes_mention_the_secret_only_where_there_is_one(notes: Any) -> None:
    assert "create secret" not in notes()
    text = notes(workerSecretName="kafka-client", watchNamespaces=["shop"])
    for namespace in ("sys", "shop"):
        assert f"kubectl create secret generic kafka-client --namespace {namespace}" in text


def test_the_notes_say_how_to_open_the_console_where_there_is_one(notes: Any) -> None:
    forward = "kubectl port-forward --namespace sys service"
    assert f"{forward}/penstock-console 8090\n" in notes()
    assert f"{forward}/own-console 8091\n" in notes(fullnameOverride="own", console={"port": 8091})
    assert forward not in notes(console={"enabled": False})


def test_the_guides_values_are_values_of_the_chart(helm: Helm) -> None:
    blocks = re.findall(r"```yaml\n# values\.yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        helm.template(least(**yaml.safe_load(block)))


def test_the_guides_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", GUIDE.read_text()):
        assert "://" in link or (GUIDE.parent / Path(link)).exists(), link
