"""Fixtures of tests of `kubectl penstock`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ..command import own_log
from .cluster import Cluster


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A program in the place of kubectl."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with own_log():
        yield Cluster.at(tmp_path)
