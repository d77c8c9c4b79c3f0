"""Beside an image's archive stands what is in it: all that a look into the image finds."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT
from .unpacked import Image

OURS = pytest.mark.parametrize("name", ["runtime", "operator"])
LISTED = """
import importlib.metadata, json
print(json.dumps({d.metadata["Name"].lower().replace("_", "-").replace(".", "-"): d.version
                  for d in importlib.metadata.distributions()}))
"""


def contents(name: str) -> dict[str, Any]:
    if given := os.environ.get("PENSTOCK_TEST_IMAGES"):
        bill: dict[str, Any] = json.loads((Path(given) / f"penstock-{name}.cdx.json").read_text())
        return bill
    asked = [str(ROOT / "scripts" / "images"), "--where", name]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    parsed: dict[str, Any] = json.loads(Path(done.stdout.split()[1]).with_suffix(".cdx.json").read_text())
    return parsed


def of_kind(bill: dict[str, Any], *kinds: str) -> list[dict[str, Any]]:
    return [c for c in bill["components"] if c["purl"].startswith(tuple(f"pkg:{kind}/" for kind in kinds))]


@OURS
def test_every_distribution_of_python_is_listed_with_the_hashes_that_it_may_have(
    image: Callable[[str], Image], name: str
) -> None:
    installed = json.loads(image(name).run("python3", "-c", LISTED))
    listed = {c["name"]: c for c in of_kind(contents(name), "pypi")}
    assert {n: c["version"] for n, c in listed.items()} == installed
    for distribution, component in listed.items():
        if distribution != "penstock":
            assert component["externalReferences"][0]["hashes"], distribution


@OURS
def test_every_package_of_the_system_is_listed(image: Callable[[str], Image], name: str) -> None:
    installed = image(name).run("dpkg-query", "--show", "--showformat", "${Package} ${Version}\\n").splitlines()
    assert sorted(f"{c['name']} {c['version']}" for c in of_kind(contents(name), "deb")) == sorted(installed)


@OURS
def test_every_jar_is_listed_with_its_hash(image: Callable[[str], Image], name: str) -> None:
    made = image(name)
    jars = {
        str(path)
        for path in made.files()
        if path.suffix == ".jar"
        and (made.root / str(path)[1:]).is_file()
        and not (made.root / str(path)[1:]).is_symlink()
    }
    listed = {c["properties"][0]["value"]: c for c in of_kind(contents(name), "maven", "generic")}
    assert set(listed) == jars
    assert (name == "runtime") is bool(jars)
    for path, component in listed.items():
        done = subprocess.run(["sha256sum", made.root / path[1:]], capture_output=True, text=True, check=True)
        assert component["hashes"] == [{"alg": "SHA-256", "content": done.stdout.split()[0]}]


@OURS
def test_it_says_which_image_it_is_of(image: Callable[[str], Image], name: str) -> None:
    bill = contents(name)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    about = bill["metadata"]["component"]
    assert (about["name"], about["version"]) == (
        f"penstock-{name}",
        image(name).config["Labels"]["org.opencontainers.image.version"],
    )
    assert about["properties"][0]["value"].startswith("sha256:")
