"""Fixtures of tests of `kubectl penstock`."""

from pathlib import Path

import pytest

from .cluster import Cluster


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A program in the place of kubectl."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return Cluster.at(tmp_path)
