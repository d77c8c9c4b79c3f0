"""`penstock plugin init` writes a project whose tests pass, and `check` says what keeps a project from being one."""

import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from penstock import ConfigError
from penstock_cli.__main__ import main
from penstock_cli.plugin.classes import InspectedPlugin
from penstock_cli.plugin.new_project import FUNCTIONS, new_project
from penstock_cli.plugin.options import KINDS
from penstock_cli.plugin.taken_names import refuse_taken_names
from penstock_runtime.plan.mounted_images import type_of
from penstock_runtime.plugins.discovery import PluginRef, Plugins

ROOT = Path(__file__).parents[4]


FORMS = [(kind, ()) for kind in ("source", "transform", "sink", "predicate", "converter")]
CLASSES = [(kind, ("--form", "class")) for kind in FUNCTIONS]


@pytest.mark.parametrize(
    ("kind", "form"), [*FORMS[:2], *(pytest.param(*of, marks=pytest.mark.slow) for of in (*FORMS[2:], *CLASSES))]
)
def test_a_new_project_passes_its_tests_and_is_found_good(
    kind: str, form: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plugin", "init", f"acme-{kind}", "--kind", kind, *form]) == 0
    assert main(["plugin", "check", f"acme-{kind}"]) == 0
    printed = capfd.readouterr()
    assert printed.out == f"acme-{kind} 0.1.0: good\n"
    assert f"acme-{kind} 0.1.0: Acme{kind.capitalize()} ({kind}, plugin API 1)" in printed.err
    assert " passed in " in printed.err
    assert not [*tmp_path.rglob("__pycache__")]


@pytest.mark.slow
def test_new_projects_are_clean_in_the_eyes_of_ruff_and_mypy(tmp_path: Path) -> None:
    folders = [new_project(f"acme-{kind}", kind, tmp_path) for kind in KINDS]
    folders += [new_project(f"acme-{kind}-class", kind, tmp_path, form="class") for kind in FUNCTIONS]

    def is_clean(*command: str, cwd: Path) -> None:
        done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False, cwd=cwd)
        assert done.returncode == 0, done.stdout + done.stderr

    for folder in folders:
        is_clean("ruff", "check", "--isolated", "--select=E,F,I,UP,B,ANN,PT,RUF", "--line-length=120", cwd=folder)
        is_clean("ruff", "format", "--isolated", "--line-length=120", "--check", cwd=folder)
    is_clean("mypy", "--strict", "--config-file=", "--cache-dir=", *(str(f / "src") for f in folders), cwd=tmp_path)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Acme", "it must be at most 45 lower-case letters and digits"),
        ("acme/files", "it must be at most 45 lower-case letters and digits"),
        ("-acme", "it must be at most 45 lower-case letters and digits"),
        ("acme_files", "it must be at most 45 lower-case letters and digits"),
        ("acme--files", "it must be at most 45 lower-case letters and digits"),
        ("a" * 46, "it must be at most 45 lower-case letters and digits"),
        ("cast", "the plugin would get the name Cast, which is the name of a built-in plugin"),
        ("hoist-field", "the plugin would get the name HoistField"),
        ("json", "its module json would not be found, since Python's own is imported"),
        ("penstock-kafka", "its module penstock_kafka would not be found, since Penstock's own"),
        ("pydantic", "the runtime has a package of that name"),
        ("class", "class is a Python keyword"),
    ],
)
def test_a_name_that_would_make_trouble_later_is_refused_immediately(name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        new_project(name, "transform", tmp_path)
    assert told in str(raised.value)
    assert not [*tmp_path.iterdir()]


def test_a_kind_that_has_no_function_form_is_reported(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="cannot create a predicate as a function: only a source, sink or transform can be one"
    ):
        new_project("acme", "predicate", tmp_path, form="function")
    assert not [*tmp_path.iterdir()]


def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "notes").write_text("mine")
    (tmp_path / "shop").symlink_to(tmp_path / "elsewhere")
    for name in ("acme", "shop"):
        with pytest.raises(ConfigError, match="already exists; choose another name, or remove it"):
            new_project(name, "sink", tmp_path)
    assert [p.name for p in (tmp_path / "acme").iterdir()] == ["notes"]


@pytest.mark.slow
def test_a_plugin_that_no_suite_tests_is_reported_with_its_suite(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = new_project("acme", "sink", tmp_path)
    (folder / "tests" / "test_acme.py").write_text("def test_nothing() -> None: ...\n")
    assert main(["plugin", "check", str(folder)]) == 2
    assert (
        "penstock: Acme: it has no suite; write a class TestAcme(SinkSuite) with `plugin = acme`"
        in capfd.readouterr().err
    )


@pytest.mark.slow
def test_names_that_mean_something_else_already_are_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = new_project("acme", "source", tmp_path)
    (folder / "tests" / "test_acme.py").write_text("def test_nothing() -> None: ...\n")
    project, module = folder / "pyproject.toml", folder / "src" / "acme" / "__init__.py"
    project.write_text(project.read_text().replace("Acme =", "SqlSource ="))
    more = "".join(
        f'    p{number}: str = prop("{name}", "", doc="Some text.")\n'
        for number, name in enumerate(("connector.class", "transforms", "topics", "transforms.mine", "errors.mine"))
    )
    module.write_text(module.read_text().replace("class AcmeConfig(Config):\n", f"class AcmeConfig(Config):\n{more}"))
    assert main(["plugin", "check", str(folder)]) == 2
    told = capfd.readouterr().err
    assert "4 problems:" in told
    assert "SqlSource: penstock-sql " in told
    assert "which is installed here, has a plugin of that name (penstock_sql" in told
    for name in ("connector.class", "transforms", "transforms.mine"):
        assert f"SqlSource: its property {name} has the name of a property that Penstock reads for every source" in told


@pytest.mark.parametrize(
    ("kind", "name", "is_taken"),
    [
        ("sink", "topics", True),
        ("source", "topics", False),
        ("sink", "tasks.max", True),
        ("source", "producer.override.acks", True),
        ("source", "errors.mine", False),
        ("transform", "type", True),
        ("transform", "topics", False),
        ("converter", "type", False),
        ("predicate", "plugin.version", True),
    ],
)
def test_a_property_is_taken_where_penstock_reads_it(kind: str, name: str, *, is_taken: bool) -> None:
    looked = InspectedPlugin(alias="Acme", type=kind, properties=(name,))
    with pytest.raises(ConfigError, match="a value would be used for both") if is_taken else nullcontext():
        refuse_taken_names("acme", [looked])


def test_no_installed_plugin_has_names_that_are_taken() -> None:
    for ref in Plugins.installed().every():
        assert isinstance(ref, PluginRef)
        properties = tuple(p.name for p in ref.cls.Config.properties())
        refuse_taken_names(
            ref.distribution, [InspectedPlugin(alias=ref.alias, type=type_of(ref.cls), properties=properties)]
        )


@pytest.mark.slow
def test_tests_that_fail_are_reported_and_so_is_that_there_are_none(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = new_project("acme", "predicate", tmp_path)
    test = folder / "tests" / "test_acme.py"
    with test.open("a") as file:
        file.write("\n\ndef test_it_is_perfect() -> None:\n    assert False\n")
    assert main(["plugin", "check", str(folder)]) == 1
    assert "test_it_is_perfect" in capfd.readouterr().err
    test.unlink()
    assert main(["plugin", "check", str(folder)]) == 2
    assert f"cannot check {folder}: it has no tests; " in capfd.readouterr().err


@pytest.mark.slow
def test_one_mistake_is_reported_once_by_the_lines_of_its_author_and_last_of_all_with_the_number_of_its_tests(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = new_project("acme", "source", tmp_path)
    module = folder / "src" / "acme" / "__init__.py"
    module.write_text(module.read_text().replace("place = cursor or 0", "place = cursor.place if cursor else 0"))
    assert main(["plugin", "check", str(folder)]) == 1
    printed = capfd.readouterr().err
    told = "AttributeError: 'int' object has no attribute 'place'"
    assert printed.count(f"E   {told}") == 1
    assert "in acme\n    place = cursor.place if cursor else 0\n" in printed
    assert "penstock/testing" not in printed
    assert re.search(
        rf"= causes of failures =+\n\d+ tests: {told} \(first in tests/test_acme.py::TestAcme::test_", printed
    )
    assert len(printed.splitlines()) < 60


@pytest.mark.slow
def test_what_a_pod_would_refuse_is_reported_after_the_tests_have_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = new_project("acme", "predicate", tmp_path)
    file = folder / "pyproject.toml"
    file.write_text(file.read_text().replace('["penstock"]', '["penstock", "pydantic<2", "psutil<2"]'))
    assert main(["plugin", "check", str(folder)]) == 2
    printed = capfd.readouterr().err
    assert printed.index(" passed in ") < printed.index("2 problems:")
