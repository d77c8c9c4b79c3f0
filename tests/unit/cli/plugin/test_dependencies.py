"""What a plugin needs comes with its image, for the runtime's Python, unless the runtime has it."""

from collections.abc import Mapping, Sequence
from importlib.metadata import distributions, packages_distributions
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from penstock import ConfigError
from penstock_cli.__main__ import main
from penstock_cli.plugin.build import look_at
from penstock_cli.plugin.examined import problems_of
from penstock_cli.plugin.installed import Installed, install
from penstock_cli.plugin.runtime_image import packages

from .wheels import wheel

PROJECT = """
[project]
name = "shop-plugins"
version = "1.2"
dependencies = [{}]
[project.entry-points."penstock.plugins"]
Shop = "shop:Shop"
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[tool.hatch.build.targets.wheel]
packages = ["shop"]
"""
PLUGIN = """
import {}
from penstock import Transform

class Shop(Transform):
    def apply(self, record):
        return record
"""


def project(folder: Path, *needs: str, imports: str = "penstock") -> Path:
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "__init__.py").write_text(PLUGIN.format(imports))
    (folder / "pyproject.toml").write_text(PROJECT.format(", ".join(f"'{text}'" for text in needs)))
    return folder


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All that pip can fetch."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def refused(project: Path) -> Sequence[str]:
    with pytest.raises(ConfigError) as raised:
        look_at(project, architecture="amd64")
    return [str(problem) for problem in raised.value.problems]


def test_the_image_brings_what_the_runtime_has_not_and_what_that_needs(index: Path, tmp_path: Path) -> None:
    wheel(index, "shop-client", "3.1", needs=["shop-types>=1", "pydantic>=2", "rich[jupyter]; extra == 'pretty'"])
    wheel(index, "shop-types", "1.4")
    contents = look_at(project(tmp_path / "project", "penstock", "shop-client>=3", imports="shop_client, shop_types"))
    assert contents.brought == {"shop-client": "3.1", "shop-types": "1.4"}
    assert [*contents.left_out] == ["penstock"]


@pytest.mark.parametrize(
    ("architecture", "machine"), [("amd64", "x86_64"), pytest.param("arm64", "aarch64", marks=pytest.mark.slow)]
)
def test_native_code_is_that_for_the_python_and_the_machine_of_the_runtime(
    architecture: str, machine: str, index: Path, tmp_path: Path
) -> None:
    tags = [f"{python}-{python}-manylinux_2_28_{m}" for python in ("cp311", "cp312") for m in ("x86_64", "aarch64")] + [
        f"cp311-cp311-manylinux_2_40_{machine}",
        "cp311-cp311-macosx_14_0_arm64",
        f"cp311-cp311-musllinux_1_2_{machine}",
    ]
    for tag in tags:
        wheel(index, "shop-native", "2.0", tag=tag)
    (tmp_path / "scratch").mkdir()
    found = install(project(tmp_path / "project", "shop-native"), tmp_path / "scratch", architecture)
    assert (found.folder / "shop_native.py").read_text() == f"TAG = 'cp311-cp311-manylinux_2_28_{machine}'\n"


def test_a_dependency_without_a_wheel_for_that_python_is_reported_by_its_name(index: Path, tmp_path: Path) -> None:
    wheel(index, "shop-native", "2.0", tag="cp312-cp312-manylinux_2_28_x86_64")
    (problem,) = refused(project(tmp_path / "project", "shop-native"))
    assert "for the runtime, which is CPython 3.11 on Linux" in problem
    assert "No matching distribution found for shop-native" in problem


def test_what_clashes_with_the_runtime_is_refused_by_name_all_of_it(tmp_path: Path) -> None:
    problems = refused(project(tmp_path / "project", "penstock>=99", "pydantic<2", "psutil"))
    assert [p.partition(", but")[0] for p in problems] == [
        "project.dependencies: shop-plugins 1.2 needs penstock>=99",
        "project.dependencies: shop-plugins 1.2 needs pydantic<2",
    ]


def test_what_a_dependency_needs_and_the_runtime_has_otherwise_is_refused_by_name(index: Path, tmp_path: Path) -> None:
    wheel(index, "shop-client", "3.1", needs=["pydantic<2"])
    (problem,) = refused(project(tmp_path / "project", "shop-client"))
    assert "shop-client 3.1 depends on pydantic<2" in problem


def test_an_extra_of_what_the_runtime_has_is_brought_without_it(index: Path, tmp_path: Path) -> None:
    wheel(index, "email-validator", "2.3")
    contents = look_at(project(tmp_path / "project", "pydantic[email]", imports="email_validator"))
    assert contents.brought == {"email-validator": "2.3"}


def test_native_code_of_the_project_itself_must_be_the_runtimes(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built = wheel(index, "shop-plugins", "1.2", tag="cp312-cp312-linux_x86_64")
    assert main(["plugin", "build", str(built), "--image", "plugins.example/shop", "--out", str(tmp_path)]) == 2
    assert (
        "shop_plugins-1.2-cp312-cp312-linux_x86_64.whl is built for another Python or machine"
        in capsys.readouterr().err
    )


def found_in(folder: Path, wheels: Mapping[str, Sequence[str]]) -> Installed:
    """As if pip had installed these, the first of which is the project."""
    for name, needs in wheels.items():
        info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        requires = "".join(f"Requires-Dist: {text}\n" for text in needs)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{requires}")
        (info / "entry_points.txt").write_text("[penstock.plugins]\nShop = shop:Shop\n")
    held = {d.name: d for d in distributions(path=[str(folder)])}
    own, *brought = wheels
    return Installed(folder, folder / "none.whl", held[own], {n: held[n] for n in brought}, ())  # type: ignore[misc]


def test_what_pip_leaves_out_since_it_runs_on_another_python_is_reported(tmp_path: Path) -> None:
    needs = {"shop": ["one"], "one": ["backport; python_version < '3.12'", "two; sys_platform == 'win32'", "psutil<1"]}
    problems = [str(p) for p in problems_of(found_in(tmp_path / "target", needs), "amd64")]
    assert [p.partition(",")[0] for p in problems] == [
        "project.dependencies: one 1.0 needs backport on the runtime's Python 3.11",
        "project.dependencies: one 1.0 needs psutil<1",
    ]


def test_the_packages_of_the_runtime_have_one_module_each_which_has_their_name() -> None:
    others = packages().keys() - {"penstock"}
    modules = {m: {canonicalize_name(d) for d in of} for m, of in packages_distributions().items()}
    assert {canonicalize_name(m) for m, of in modules.items() if of & others and m != "__pycache__"} == others


@pytest.mark.parametrize("module", ["json", "pydantic", "penstock_kafka"])
def test_a_module_that_another_hides_is_refused(module: str, tmp_path: Path) -> None:
    found = found_in(tmp_path / "target", {"shop": []})
    (found.folder / f"{module}.py").write_text("")
    (found.folder / "shop-1.0.dist-info" / "RECORD").write_text(f"{module}.py,,\n")
    (problem,) = problems_of(found, "amd64")
    assert problem.message.startswith(f"the module {module} would not be used, since ")
