"""`make demo-warehouse`, as a user types it."""

import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[3] / "examples" / "warehouse" / "run.py"


@pytest.mark.slow
def test_the_demo_moves_a_table_and_its_count_is_right_also_at_the_second_time(tmp_path: Path) -> None:
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, RUN, "--seconds", "3"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert "orders, 0 missing, 0 duplicated or wrong" in done.stderr
