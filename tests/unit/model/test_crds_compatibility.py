"""A definition takes the place of an older one under running connectors: what counts as a break."""

import copy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock_model.resources.crds import RESOURCES, definition, incompatibilities

ROOT = Path(__file__).parents[3]
FIRST = Path(__file__).parent / "golden" / "crds-v0.1.0"
"""The definitions of the first release. Until that is out they follow crds/; from then on they are never changed."""
Json = dict[str, Any]


def spec(crd: Json) -> Json:
    found: Json = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def fields(crd: Json) -> Json:
    found: Json = spec(crd)["properties"]
    return found


def told(change: Callable[[Json], object]) -> list[str]:
    old = definition(RESOURCES[0])
    new = copy.deepcopy(old)
    change(new)
    return incompatibilities(old, new)


def version(crd: Json) -> Json:
    found: Json = crd["spec"]["versions"][0]
    return found


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda r: r.kind)
def test_resources_of_the_first_release_still_fit(resource: Any) -> None:
    old = yaml.safe_load((FIRST / f"{resource.name}.yaml").read_text())
    assert incompatibilities(old, definition(resource)) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param(
            lambda c: fields(c).pop("rollout"), "v1alpha1.spec.rollout: is a field no more", id="a field goes"
        ),
        pytest.param(
            lambda c: fields(c)["restart"]["properties"].pop("backoff"),
            "v1alpha1.spec.restart.backoff: is a field no more",
            id="an inner field goes",
        ),
        pytest.param(
            lambda c: spec(c)["required"].append("version"), "v1alpha1.spec.version: is required now", id="required"
        ),
        pytest.param(
            lambda c: fields(c)["tasksMax"].update(maximum=10),
            "v1alpha1.spec.tasksMax: maximum falls from 2147483647 to 10",
            id="less room",
        ),
        pytest.param(
            lambda c: fields(c)["tasksMax"].update(minimum=2),
            "v1alpha1.spec.tasksMax: minimum rises from 1 to 2",
            id="a higher floor",
        ),
        pytest.param(
            lambda c: fields(c)["template"]["properties"]["env"].update(maxItems=5),
            "v1alpha1.spec.template.env: maxItems falls from none to 5",
            id="a limit where none was",
        ),
        pytest.param(
            lambda c: fields(c)["state"]["enum"].remove("Paused"),
            "v1alpha1.spec.state: accepts Paused no more",
            id="a word goes",
        ),
        pytest.param(
            lambda c: fields(c)["version"].update(enum=["1"]),
            "v1alpha1.spec.version: accepts other words no more",
            id="words where any were",
        ),
        pytest.param(
            lambda c: fields(c)["class"].update(pattern="^x"),
            "v1alpha1.spec.class: pattern is changed",
            id="another pattern",
        ),
        pytest.param(
            lambda c: fields(c)["version"].update(type="number"),
            "v1alpha1.spec.version: type changes from string to number",
            id="another type",
        ),
        pytest.param(
            lambda c: fields(c)["state"].update(default="Paused"),
            "v1alpha1.spec.state: the default changes from Running to Paused",
            id="another default",
        ),
        pytest.param(
            lambda c: fields(c)["class"].update({"x-kubernetes-validations": [{"rule": "self != 'x'"}]}),
            "v1alpha1.spec.class: a rule is added: self != 'x'",
            id="a rule",
        ),
        pytest.param(
            lambda c: fields(c)["template"]["properties"]["affinity"].pop("x-kubernetes-preserve-unknown-fields"),
            "v1alpha1.spec.template.affinity: unknown fields are kept no more",
            id="an open part closes",
        ),
        pytest.param(
            lambda c: version(c)["subresources"].pop("scale"),
            "v1alpha1: the subresource scale changes",
            id="a subresource goes",
        ),
        pytest.param(lambda c: version(c).update(served=False), "v1alpha1: is served no more", id="a version goes"),
        pytest.param(
            lambda c: c["spec"].update(scope="Cluster"), "scope: changes from Namespaced to Cluster", id="another scope"
        ),
    ],
)
def test_a_break_is_told_with_its_place(change: Callable[[Json], object], problem: str) -> None:
    assert told(change) == [problem]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: fields(c).update(more={"type": "string", "pattern": "x"}), id="a field"),
        pytest.param(lambda c: fields(c)["state"]["enum"].append("Draining"), id="a word"),
        pytest.param(lambda c: fields(c)["tasksMax"].pop("maximum"), id="more room"),
        pytest.param(lambda c: fields(c)["class"].update(maxLength=1024), id="longer texts"),
        pytest.param(lambda c: spec(c).pop("x-kubernetes-validations"), id="a rule less"),
        pytest.param(lambda c: spec(c)["required"].remove("class"), id="no longer required"),
        pytest.param(lambda c: fields(c)["class"].update(description="Other words."), id="other words"),
        pytest.param(lambda c: version(c)["additionalPrinterColumns"].pop(), id="a column less"),
        pytest.param(
            lambda c: c["spec"]["versions"].append({**version(c), "name": "v1", "storage": False}), id="a version"
        ),
        pytest.param(
            lambda c: (
                fields(c).update(level={"type": "integer", "default": 1}),
                spec(c)["required"].append("level"),
            ),
            id="a required field with a default",
        ),
    ],
)
def test_what_only_adds_is_no_break(change: Callable[[Json], object]) -> None:
    assert told(change) == []


def test_the_script_tells_what_breaks(tmp_path: Path) -> None:
    older = definition(RESOURCES[0])
    fields(older)["gone"] = {"type": "string"}
    (tmp_path / "old.yaml").write_text(yaml.safe_dump(older))
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "generate-crds", "--compatible-with", tmp_path / "old.yaml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "connectors.penstock.dev: v1alpha1.spec.gone: is a field no more\n")
