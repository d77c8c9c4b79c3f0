"""From nothing to a running plugin: the commands of docs/plugins.md, one after the other."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .cluster import Cluster
from .place import Connector, Place

pytestmark = [
    pytest.mark.own_cluster,  # there is no registry: images are loaded into its node
    pytest.mark.slow,
]


def penstock(*arguments: str, cwd: Path) -> None:
    subprocess.run([sys.executable, "-m", "penstock_cli", *arguments], check=True, cwd=cwd)


def test_a_new_project_becomes_a_connector_that_runs(place: Place, kubernetes: Cluster, tmp_path: Path) -> None:
    name = f"acme-{place.namespace[-4:]}"
    penstock("plugin", "init", name, "--kind", "source", cwd=tmp_path)
    project = tmp_path / name
    penstock("plugin", "build", ".", "--image", f"plugins.example/{name}", cwd=project)
    kubernetes.component("load", str(project / "build" / f"{name}.tar"))
    for file in ("build/pluginversion.yaml", "connector.yaml"):
        kubernetes.kubectl("--namespace", place.namespace, "apply", "--filename", str(project / file))
    running = Connector(place.cluster, place.namespace, name, {}).reaches("Running")
    assert running["status"]["connector"]["version"] == "0.1.0"
    records = place.kafka.records(name, least=1000)
    assert [json.loads(r.value or b"")["id"] for r in records] == list(range(1000))
