"""Helm, as the test cluster has it."""

import os
import subprocess
from pathlib import Path

import pytest

from .rendering import ROOT, Helm, Rendered, least


@pytest.fixture(scope="session")
def helm_program() -> Path:
    """The one that PENSTOCK_HELM names, or the test cluster's, which is built when it is missing."""
    given = os.environ.get("PENSTOCK_HELM")
    if given:
        return Path(given)
    cluster = ROOT / "tests" / "cluster" / "cluster"
    return Path(subprocess.run([cluster, "path", "helm"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip())


@pytest.fixture
def helm(helm_program: Path, tmp_path: Path) -> Helm:
    return Helm(helm_program, tmp_path)


@pytest.fixture
def rendered(helm: Helm) -> Rendered:
    """The chart with nothing set but what must be."""
    return helm.render(least())
