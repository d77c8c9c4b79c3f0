"""Penstock as people install it: from wheels into a separate environment, without access to a checkout."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


class Installation:
    """Environment without a checkout.

    Args:
        folder: folder of the environment.
        home: folder of the user.
    """

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder, self.home = folder, home

    def run(self, *words: str, code: int = 0) -> str:
        """Run a program of the environment, and return what it prints."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "PENSTOCK_TEST"))}
        done = subprocess.run(
            [str(self.folder / "bin" / words[0]), *words[1:]],
            cwd=self.home,
            env={**kept, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == code, done.stdout
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """`pip install '<our wheel>[runtime]'`; the other packages come from pip's index.

    The wheel is named by its file, since an index may have another project of this name.
    """
    folder, wheels = tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("dist")
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(ROOT))
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    (wheel,) = wheels.glob("penstock-*.whl")
    pip(str(folder / "bin" / "python"), "install", f"{wheel}[runtime]")
    return Installation(folder, tmp_path_factory.mktemp("home"))


def pip(python: str, *words: str) -> None:
    done = subprocess.run(
        [python, "-m", "pip", "--disable-pip-version-check", "--quiet", *words],
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def distributions(of: Installation) -> set[str]:
    lines = of.run("python", "-m", "pip", "--disable-pip-version-check", "list", "--format=freeze").splitlines()
    return {line.partition("==")[0].lower() for line in lines}


def test_the_demo_counts_what_it_has_moved(installed: Installation) -> None:
    shown = installed.run("penstock", "demo", "--seconds", "2", "--rate", "300")
    found = re.search(r"orders-in: ([\d,]+) orders", shown)
    assert found, shown
    assert f"topic 'orders' (read_committed): {found[1]} records, 0 missing, 0 duplicated" in shown
    assert f"orders-out.txt: {found[1]} lines, 0 missing, 0 duplicated" in shown


def test_the_installation_has_what_runs_connectors_and_no_tools_of_developers(installed: Installation) -> None:
    found = distributions(installed)
    assert {"pyspark", "pyarrow", "confluent-kafka", "aiohttp", "rich"} <= found
    assert found.isdisjoint({"mypy", "ruff", "pytest", "hypothesis", "import-linter", "kubernetes", "kopf"})
    installed.run("python", "-m", "pip", "--disable-pip-version-check", "check")


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("--version",),
        *(
            (command, "--help")
            for command in ("demo", "run", "validate", "transform", "plugins", "topics", "import", "kafka")
        ),
        ("plugin", "build", "--help"),
        ("offsets", "list", "--help"),
        ("plugins", "FileStreamSource"),
    ],
)
def test_commands_need_no_file_of_a_checkout(installed: Installation, words: Sequence[str]) -> None:
    assert "Traceback" not in installed.run("penstock", *words)


def test_manifests_of_the_demo_are_valid(installed: Installation) -> None:
    files = installed.run("penstock", "demo", "--manifests", "shop").splitlines()
    assert files == ["shop/orders-in.yaml", "shop/orders-out.yaml"]
    shown = installed.run("penstock", "validate", *files)
    assert shown == "orders-in: valid (source, 1 task, exactly once)\norders-out: valid (sink, 1 task)\n"


@pytest.mark.parametrize("kind", ["source", "sink", "transform", "converter", "predicate"])
def test_a_new_plugin_project_passes_its_tests(installed: Installation, kind: str) -> None:
    if "pytest" not in distributions(installed):
        pip(str(installed.folder / "bin" / "python"), "install", "pytest")
    name = f"my-{kind}"
    installed.run("penstock", "plugin", "init", name, "--kind", kind)
    assert re.search(r"\d+ passed", installed.run("python", "-m", "pytest", "-q", name))
