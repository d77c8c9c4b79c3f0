"""`penstock plugins`: a plugin that is broken says what is, and who brought it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
from penstock import SinkConnector, Transform
class Half(Transform): pass
class Other: pass
VALUE = 5
"""
ENTRIES = """[penstock.plugins]
Raises = shop_raises:Raises
Exits = shop_exits:Exits
Missing = shop_missing:Missing
NoClass = shop:NoClass
Half = shop:Half
Other = shop:Other
Value = shop:VALUE
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the distribution `shop-plugins`, of which nothing works."""
    (tmp_path / "shop.py").write_text(MODULE)
    (tmp_path / "shop_raises.py").write_text("import no_such_client\n")
    (tmp_path / "shop_exits.py").write_text("raise SystemExit(3)\n")
    info = tmp_path / "shop_plugins-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop-plugins\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    return tmp_path


def penstock(site: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "penstock_runtime.cli", *arguments],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin"},
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "Raises",
            "Raises (shop_raises:Raises of distribution shop-plugins 1.2) is installed but cannot be imported: "
            "ModuleNotFoundError: No module named 'no_such_client'; install what brings the module no_such_client beside it",
        ),
        (
            "Exits",
            "Exits (shop_exits:Exits of distribution shop-plugins 1.2) is installed but cannot be imported: "
            "SystemExit: 3",
        ),
        (
            "Missing",
            "Missing (shop_missing:Missing of distribution shop-plugins 1.2) is installed but cannot be imported: "
            "ModuleNotFoundError: No module named 'shop_missing'; its distribution names a module that is not there",
        ),
        (
            "NoClass",
            "NoClass (shop:NoClass of distribution shop-plugins 1.2) is installed but cannot be imported: "
            "AttributeError: module 'shop' has no attribute 'NoClass'",
        ),
        ("Half", "Half (shop:Half of distribution shop-plugins 1.2) is not complete: it does not define apply"),
        (
            "Other",
            "Other (shop:Other of distribution shop-plugins 1.2) is no plugin: it is no subclass of penstock.Plugin",
        ),
        ("Value", "Value (shop:VALUE of distribution shop-plugins 1.2) is no plugin: it is of type int"),
        (
            "shop_raises:Raises",
            "shop_raises:Raises (shop_raises:Raises of distribution shop-plugins 1.2) is installed but ",
        ),
        ("HoistFeild", "There is no plugin HoistFeild. Did you mean HoistField? penstock plugins lists all."),
        (
            "nowhere.at:All",
            "Class nowhere.at:All could not be found: no plugin has that name, and there is no Python module nowhere.",
        ),
    ],
)
def test_one_that_cannot_be_used_says_why(site: Path, name: str, message: str) -> None:
    done = penstock(site, "plugins", name)
    assert done.returncode == 2
    assert done.stdout.startswith(message)


def test_the_list_holds_what_works_and_then_what_is_broken(site: Path) -> None:
    done = penstock(site, "plugins")
    assert done.returncode == 0
    assert "FileStreamSource" in done.stdout
    assert done.stdout.count("\nbroken: ") == 7


def test_a_configuration_that_names_one_is_refused_with_the_cause(site: Path) -> None:
    (site / "a.json").write_text('{"name": "a", "connector.class": "shop_raises:Raises"}')
    done = penstock(site, "validate", str(site / "a.json"))
    assert done.returncode == 2
    assert "No module named 'no_such_client'" in done.stderr


def test_a_plugin_is_shown_with_the_values_that_its_properties_take(tmp_path: Path) -> None:
    shown = penstock(tmp_path, "plugins", "HeaderFrom").stdout
    assert "  operation  (STRING, required, HIGH; move, copy)\n" in shown
    (found,) = json.loads(penstock(tmp_path, "plugins", "HeaderFrom", "--json").stdout)
    assert {p["name"]: p["validValues"] for p in found["config"]}["operation"] == "move, copy"
