"""The released chart has the images by digest, and install.yaml is the same chart for kubectl."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from scripts.release import chart
from scripts.release.commands import ReleaseError

ROOT = Path(__file__).parents[3]
CHART = ROOT / "helm" / "penstock"
TIME = 1_700_000_000
DIGESTS = {"operator": f"sha256:{'0' * 64}", "runtime": f"sha256:{'1' * 64}"}


@pytest.fixture(scope="session")
def helm() -> Path:
    given = os.environ.get("PENSTOCK_HELM")
    if given:
        return Path(given)
    command = [str(ROOT / "tests" / "cluster" / "cluster"), "path", "helm"]
    return Path(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip())


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """The chart as `make release` packs it."""
    copy = tmp_path / "source" / "penstock"
    shutil.copytree(CHART, copy)
    values = copy / "values.yaml"
    values.write_text(chart.pinned(values.read_text(), DIGESTS))
    chart.pack(copy, tmp_path / "penstock.tgz", TIME)
    return tmp_path / "penstock.tgz"


@pytest.fixture
def documents(helm: Path, packed: Path) -> list[dict[str, Any]]:
    return [d for d in yaml.safe_load_all(chart.manifest(helm, packed, "0.1.0")) if d]


def test_only_the_digests_of_the_images_change() -> None:
    before = yaml.safe_load((CHART / "values.yaml").read_text())
    after = yaml.safe_load(chart.pinned((CHART / "values.yaml").read_text(), DIGESTS))
    for image, digest in DIGESTS.items():
        assert after["images"][image].pop("digest") == digest
        assert before["images"][image].pop("digest") == ""
    assert after == before


def test_a_chart_without_a_place_for_the_digest_is_refused() -> None:
    with pytest.raises(ReleaseError, match="cannot pin image operator"):
        chart.pinned("images:\n  operator: {}\n", DIGESTS)


def test_the_archive_has_all_files_and_depends_only_on_them(packed: Path, tmp_path: Path) -> None:
    again = tmp_path / "elsewhere" / "penstock"
    shutil.copytree(tmp_path / "source" / "penstock", again, copy_function=shutil.copyfile)
    chart.pack(again, tmp_path / "again.tgz", TIME)
    assert (tmp_path / "again.tgz").read_bytes() == packed.read_bytes()
    with tarfile.open(packed) as archive:
        assert set(archive.getnames()) == {
            f"penstock/{file.relative_to(CHART)}" for file in CHART.rglob("*") if file.is_file()
        }


def test_install_yaml_has_the_namespace_the_definitions_and_the_images_by_digest(
    documents: list[dict[str, Any]],
) -> None:
    assert (documents[0]["kind"], documents[0]["metadata"]["name"]) == ("Namespace", "penstock-system")
    assert len([d for d in documents if d["kind"] == "CustomResourceDefinition"]) == len(
        list((ROOT / "crds").iterdir())
    )
    (deployment,) = [d for d in documents if d["kind"] == "Deployment"]
    template = deployment["spec"]["template"]
    image = template["spec"]["containers"][0]["image"]
    assert image == f"registry.example/penstock/penstock-operator@{DIGESTS['operator']}"
    configuration = yaml.safe_load(template["metadata"]["annotations"]["penstock.dev/configuration"])
    assert configuration["images"]["runtime"] == f"registry.example/penstock/penstock-runtime@{DIGESTS['runtime']}"
    assert configuration["worker"]["bootstrap.servers"] == "kafka.example:9092"


def test_install_yaml_has_no_hooks_and_a_namespace_wherever_one_is_needed(documents: list[dict[str, Any]]) -> None:
    assert not [d for d in documents if "helm.sh/hook" in d["metadata"].get("annotations", {})]
    namespaced = ("ServiceAccount", "Deployment", "Service", "Role", "RoleBinding", "NetworkPolicy", "Secret")
    assert {d["metadata"]["namespace"] for d in documents if d["kind"] in namespaced} == {"penstock-system"}


def test_the_definitions_are_those_of_the_checkout() -> None:
    found = [d for d in yaml.safe_load_all(chart.definitions(ROOT / "crds")) if d]
    assert found == [yaml.safe_load(file.read_text()) for file in sorted((ROOT / "crds").glob("*.yaml"))]
