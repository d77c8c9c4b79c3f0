"""Claims about the project as a whole that no tool checks."""

import operator
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import penstock

ROOT = Path(__file__).parents[2]


def natural(name: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def test_the_folder_operator_does_not_shadow_the_standard_library() -> None:
    assert Path(operator.__file__).parent == Path(sysconfig.get_path("stdlib"))
    assert not (ROOT / "operator" / "__init__.py").exists()


def test_the_public_names_of_penstock_are_sorted() -> None:
    assert penstock.__all__ == sorted(penstock.__all__, key=natural)
    assert len(penstock.__all__) == len(set(penstock.__all__))


def test_every_public_name_of_penstock_can_be_imported() -> None:
    missing = [name for name in penstock.__all__ if not hasattr(penstock, name)]
    assert not missing


def test_a_missing_java_is_reported_before_anything_is_fetched(tmp_path: Path) -> None:
    (tmp_path / "bash").symlink_to("/bin/bash")
    done = subprocess.run(
        ["/bin/bash", ROOT / "scripts" / "check-java"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("cannot find Java: ")
    assert "apt-get install openjdk-17-jre-headless" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_pytest_that_lies_next_to_the_interpreter_warns_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it() -> None: ...\n")
    program = Path(sys.executable).with_name("pytest")
    command = [str(program), "-q", "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 passed" in done.stdout
