"""`kubectl apply` of install.yaml, with its placeholders replaced as its head says, on an API server that has nothing."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from scripts.release import chart

from ..api_servers import CLUSTER, ROOT, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(shutil.which("go") is None, reason="the API server is built from source, by Go"),
]
DIGESTS = {"operator": f"sha256:{'0' * 64}", "runtime": f"sha256:{'1' * 64}"}


@pytest.fixture
def install_yaml(tmp_path: Path) -> Path:
    """The file, as `make release` writes it."""
    copy = tmp_path / "penstock"
    shutil.copytree(ROOT / "helm" / "penstock", copy)
    values = copy / "values.yaml"
    values.write_text(chart.pinned(values.read_text(), DIGESTS))
    chart.pack(copy, tmp_path / "penstock.tgz", 0)
    helm = (
        os.environ.get("PENSTOCK_HELM")
        or subprocess.run([str(CLUSTER), "path", "helm"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    )
    (tmp_path / "install.yaml").write_text(chart.manifest(Path(helm), tmp_path / "penstock.tgz", "0.1.0"))
    return tmp_path / "install.yaml"


def test_one_command_installs_everything_and_again_changes_nothing(install_yaml: Path) -> None:
    head = re.match(r"(?:#.*\n)+", install_yaml.read_text())
    assert head
    command = re.search(r"#   (sed .*) \\\n#     \| kubectl (apply .*) -\n", head[0])
    assert command
    sed = command[1].replace("#REGISTRY#", "#registry.example/team#")
    sed = sed.replace("#BOOTSTRAP_SERVERS#", "#kafka.shop:9092#")
    replaced = subprocess.run(
        ["bash", "-c", sed], cwd=install_yaml.parent, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    assert ".example/penstock" not in re.sub(r"^#.*$", "", replaced, flags=re.MULTILINE)
    ready = install_yaml.with_name("ready.yaml")
    ready.write_text(replaced)
    name = f"install-{os.getpid()}"
    run(name, "up", "--api-only", "--with-parent", str(os.getpid()), timeout=1400)
    try:
        kubectl = ("kubectl", "--cache-dir", str(install_yaml.with_name("cache")))
        said = run(name, *kubectl, *command[2].split(), str(ready))
        assert "deployment.apps/penstock-operator serverside-applied" in said
        image = ("get", "deployment", "penstock-operator", "--namespace=penstock-system", "--output")
        path = "jsonpath={.spec.template.spec.containers[0].image}"
        assert run(name, *kubectl, *image, path) == f"registry.example/team/penstock-operator@{DIGESTS['operator']}"
        run(name, *kubectl, "wait", "--for=condition=Established", "crd/connectors.penstock.dev")
        run(name, *kubectl, *command[2].split(), str(ready))
        assert run(name, *kubectl, *image, "jsonpath={.metadata.generation}") == "1"
    finally:
        run(name, "down")
