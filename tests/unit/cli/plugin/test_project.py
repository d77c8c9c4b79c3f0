"""A project that can be no image of plugins is told so by the key of its pyproject.toml, before anything is built."""

import tomllib
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from penstock import ConfigError
from penstock_cli.__main__ import main
from penstock_cli.plugin import new_project, runtime_image
from penstock_cli.plugin.build import look_at
from penstock_cli.plugin.project import read_project

ROOT = Path(__file__).parents[4]
ENTRY = '[project.entry-points."penstock.plugins"]\nShop = "shop:Shop"\n'


def problems(folder: Path, text: str) -> list[str]:
    (folder / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_project(folder)
    return [str(p) for p in raised.value.problems]


def test_all_that_is_missing_is_reported_together(tmp_path: Path) -> None:
    found = problems(tmp_path, "[project]\ndependencies = ['and?']\n[build-system]\nrequires = ['what?']\n")
    assert [p.partition(" is ")[0] for p in found] == [
        "pyproject.toml: project.name:",
        "pyproject.toml: project.version:",
        'pyproject.toml: project.entry-points."penstock.plugins":',
        "pyproject.toml: project.dependencies: 'and?'",
        "pyproject.toml: build-system.requires: 'what?'",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[project]\nname = 'shop'\nversion = 'one'\n" + ENTRY, "project.version: 'one' is not a version"),
        (
            "[project]\nname = 'PSUtil'\nversion = '1'\n" + ENTRY,
            "project.name: PSUtil is the name of a package of the runtime",
        ),
        ("[project]\nname = 'penstock'\nversion = '1'\n" + ENTRY, "project.name: penstock is the name of a package"),
        ("[tool.poetry]\nname = 'shop'\n", "project: is missing"),
        (
            "[project]\nname = 'shop'\nversion = '1'\nentry-points = 3\n",
            "project.entry-points: Input should be a valid",
        ),
        (
            "build-system = 3\n[project]\nname = 'shop'\nversion = '1'\n" + ENTRY,
            "pyproject.toml: build-system: Input should",
        ),
        (
            "[project]\nname = 'shop'\nversion = 3\n" + ENTRY,
            "project.version: Input should be a valid string, but it is 3",
        ),
        ("[project\n", "is not TOML"),
    ],
)
def test_what_is_wrong_is_reported_at_its_place(text: str, told: str, tmp_path: Path) -> None:
    (found,) = problems(tmp_path, text)
    assert told in found


def test_a_version_that_the_backend_finds_is_the_plugins(tmp_path: Path) -> None:
    folder = new_project.new_project("shop", "transform", tmp_path, form="class")
    file = folder / "pyproject.toml"
    text = file.read_text().replace('version = "0.1.0"', 'dynamic = ["version"] #', 1)
    file.write_text(text + '[tool.hatch.version]\npath = "src/shop/__init__.py"\n')
    with (folder / "src" / "shop" / "__init__.py").open("a") as module:
        module.write('__version__ = "2.5.0"\n')
    assert look_at(folder).version == "2.5.0"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            ("Shop =", "Cast ="),
            'project.entry-points."penstock.plugins": Cast is the name of a built-in transform',
        ),
        (
            ('"shop:Shop"', '"shop:Shopp"'),
            'Shop: project.entry-points."penstock.plugins": Shop = "shop:Shopp" names Shopp, which the module shop does not '
            "have; did you mean Shop?",
        ),
        (('"shop:Shop"', '"shop:Gone"'), "names Gone, which the module shop does not have; available: Shop"),
        (
            ('"shop:Shop"', '"shopp:Shop"'),
            '"shopp:Shop" names the module shopp, which the project does not have; did you mean shop?',
        ),
        (('"shop:Shop"', '"shop.gone:Shop"'), "the module shop.gone, which the project does not have; available: shop"),
        (('"shop:Shop"', '"shop.Shop"'), '"shop.Shop" names only a module; write "module:Name", such as "shop:Shop"'),
        (('"shop:Shop"', '"shop:ShopConfig"'), "is not a plugin: it is not a subclass of penstock.Plugin"),
    ],
)
def test_a_class_that_a_pod_would_refuse_is_refused(
    change: tuple[str, str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = new_project.new_project("shop", "transform", tmp_path, form="class")
    file = folder / "pyproject.toml"
    file.write_text(file.read_text().replace(*change, 1))
    out = tmp_path / "out"
    assert main(["plugin", "build", str(folder), "--image", "plugins.example/shop", "--out", str(out)]) == 2
    assert told in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise SystemExit(3)", "is installed but cannot be imported: SystemExit: 3"),
        (
            "import os; print('so long', flush=True); os._exit(3)",
            "cannot import Shop: its process exited with code 3; its output:\nso long",
        ),
        ("import os; os.kill(os.getpid(), 9)", "cannot import Shop: its process was killed by SIGKILL"),
    ],
)
def test_a_module_that_ends_the_process_is_reported(code: str, told: str, tmp_path: Path) -> None:
    folder = new_project.new_project("shop", "transform", tmp_path, form="class")
    with (folder / "src" / "shop" / "__init__.py").open("a") as module:
        module.write(f"{code}\n")
    with pytest.raises(ConfigError) as raised:
        look_at(folder)
    assert told in str(raised.value)


def test_what_a_module_leaves_running_holds_nothing_up_and_is_ended(tmp_path: Path) -> None:
    folder, left = new_project.new_project("shop", "transform", tmp_path, form="class"), tmp_path / "left"
    with (folder / "src" / "shop" / "__init__.py").open("a") as module:
        module.write("import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\n")
        module.write("import subprocess\nchild = subprocess.Popen(['sleep', '600'])\n")
        module.write(f"open({str(left)!r}, 'w').write(str(child.pid))\n")
    assert [c.alias for c in look_at(folder).classes] == ["Shop"]
    with suppress(psutil.NoSuchProcess):
        psutil.Process(int(left.read_text())).wait(60)


def test_what_is_known_of_the_runtimes_image_is_what_it_is_built_of() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert sorted(runtime_image._OWN_MODULES) == sorted(Path(p).name for p in packages)
    assert settings["build-system"]["requires"] == [new_project.BACKEND]
    major, minor = runtime_image.PYTHON
    assert f"/opt/penstock/lib/python{major}.{minor}/site-packages" in (ROOT / "runtime" / "Dockerfile").read_text()
    assert runtime_image.packages()["penstock"] == settings["project"]["version"]  # type: ignore[index]
