"""The images that `make images` has built from what is in this checkout, or those in the folder PENSTOCK_TEST_IMAGES."""

import os
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from .unpacked import Image, unpack

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Image]:
    """Give an image by its short name: runtime, operator or kafka."""
    if os.geteuid() != 0:
        pytest.skip("unpacking images and entering them needs root")

    @cache
    def unpacked(name: str) -> Image:
        if given := os.environ.get("PENSTOCK_TEST_IMAGES"):
            (archive,) = Path(given).glob(f"penstock-*{name}.tar")
            return unpack(archive, tmp_path_factory.mktemp(name))
        asked = [str(ROOT / "scripts" / "images"), "--where", name]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.fail(done.stderr.strip())
        return unpack(Path(done.stdout.split()[1]), tmp_path_factory.mktemp(name))

    return unpacked
