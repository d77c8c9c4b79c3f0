"""The code in the guide for plugin authors runs, and its examples pass the suites that it names."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from penstock import Record
from penstock.testing import run_transform

GUIDE = Path(__file__).parents[2] / "docs" / "plugins.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)


def test_the_transform_of_the_guide_does_what_it_says() -> None:
    names: dict[str, Any] = {}
    exec(blocks()[0], names)
    found = run_transform(names["Shout"], {}, [Record(topic="t", value="hello")])
    assert [r and r.value for r in found] == ["HELLO!"]


def test_the_source_of_the_guide_passes_the_suite_of_the_guide(tmp_path: Path) -> None:
    (tmp_path / "test_numbers.py").write_text("\n".join(blocks()[1:]))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
