"""Names in configurations find plugins; what cannot be used says why."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from penstock import (
    API_VERSION,
    ConfigError,
    Connector,
    Converter,
    HeaderConverter,
    Plugin,
    Predicate,
    Problem,
    Record,
    Transform,
)
from penstock_runtime.plugins.discovery import PluginEntry, PluginRef, Plugins, load


class Hoist(Transform):
    variants: ClassVar[tuple[str, ...]] = ("Key", "Value")
    java_names: ClassVar[tuple[str, ...]] = ("org.example.HoistField",)

    def apply(self, record: Record) -> Record | None:
        return record


class Router(Transform):
    def apply(self, record: Record) -> Record | None:
        return record


class Tombstone(Predicate):
    java_names: ClassVar[tuple[str, ...]] = ("org.example.RecordIsTombstone",)

    def test(self, record: Record) -> bool:
        return record.value is None


class TextConverter(Converter):
    java_names: ClassVar[tuple[str, ...]] = ("org.example.StringConverter",)

    def from_connect(self, *args: object) -> bytes | None: ...

    def to_connect(self, *args: object) -> Any: ...


class TextHeaders(HeaderConverter):
    java_names: ClassVar[tuple[str, ...]] = ("org.example.StringConverter",)

    def from_connect(self, *args: object) -> bytes | None: ...

    def to_connect(self, *args: object) -> Any: ...


class FromTheFuture(Transform):
    api_version: ClassVar[int] = API_VERSION + 1

    def apply(self, record: Record) -> Record | None:
        return record


def _fails() -> object:
    raise ModuleNotFoundError("No module named 'psycopg'", name="psycopg")


PLUGINS = Plugins(
    [
        *Plugins.of(
            {
                "Hoist": Hoist,
                "Router": Router,
                "Tombstone": Tombstone,
                "TextConverter": TextConverter,
                "TextHeaders": TextHeaders,
                "Future": FromTheFuture,
            },
            version="1.2",
        ).entries,
        PluginEntry("Broken", "broken.module:Broken", "1", "broken", _fails),
        PluginEntry("NoPlugin", "x:NoPlugin", "1", "x", lambda: int),
        PluginEntry("Twice", "a:Twice", "1", "dist-a", lambda: Router),
        PluginEntry("Twice", "b:Twice", "2", "dist-b", lambda: Router),
    ]
)
TRANSFORM: type[Plugin] = Transform


@pytest.mark.parametrize(
    ("kind", "name", "cls", "variant"),
    [
        (Transform, "Hoist$Value", Hoist, "Value"),
        (Transform, " Hoist$Key ", Hoist, "Key"),
        (Transform, "org.example.HoistField$Key", Hoist, "Key"),
        (Transform, "Router", Router, None),
        (Predicate, "Tombstone", Tombstone, None),
        (Predicate, "org.example.RecordIsTombstone", Tombstone, None),
        (Converter, "TextConverter", TextConverter, None),
        (Converter, "Text", TextConverter, None),
        (Converter, "org.example.StringConverter", TextConverter, None),
        (HeaderConverter, "org.example.StringConverter", TextHeaders, None),
        (HeaderConverter, "TextConverter", TextHeaders, None),
        (Transform, "penstock_runtime_test_nothing.X", None, None),
    ],
)
def test_a_name_finds_its_plugin(kind: type[Plugin], name: str, cls: type[Plugin] | None, variant: str | None) -> None:
    if cls is None:
        with pytest.raises(ConfigError, match="could not be found"):
            PLUGINS.find(kind, name)
        return
    found = PLUGINS.find(kind, name)
    assert (found.cls, found.variant, found.version) == (cls, variant, "1.2")


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (
            Transform,
            "Hoists$Value",
            "Class Hoists$Value could not be found. Did you mean Hoist? Installed: Hoist, Router",
        ),
        (
            Transform,
            "org.other.Hoist",
            "Class org.other.Hoist could not be found. Get its plugin's archive or jars; pass the archive or",
        ),
        (Transform, "Tombstone", "Class Tombstone does not implement the Transform interface; it is a Predicate."),
        (Transform, "Hoist", "Hoist is not the name of a variant. Did you mean Hoist$Key, Hoist$Value?"),
        (Transform, "Hoist$Both", "Hoist$Both is not the name of a variant."),
        (Transform, "Router$Value", "Router has no variant $Value; write Router"),
        (
            Transform,
            "Broken",
            "Broken (broken.module:Broken of distribution broken 1) is installed but cannot be imported: "
            "ModuleNotFoundError: No module named 'psycopg'; install the package that provides the module psycopg",
        ),
        (
            Transform,
            "NoPlugin",
            "NoPlugin (x:NoPlugin of distribution x 1) is not a plugin: it is not a subclass of penstock.Plugin",
        ),
        (Transform, "Future", f"Future needs plugin API {API_VERSION + 1}, but this runtime has {API_VERSION}"),
        (
            Transform,
            "Twice",
            "Twice is ambiguous, since several plugins have that name: a:Twice (dist-a 1), b:Twice (dist-b 2)",
        ),
        (Transform, "json.JSONDecoder", "json.JSONDecoder is not a plugin"),
        (Transform, "json:Nothing", "Class json:Nothing could not be found: the Python module json has no Nothing."),
        (Transform, "", "Class  could not be found."),
    ],
)
def test_a_name_that_finds_none_says_why(kind: type[Plugin], name: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        PLUGINS.find(kind, name, property_name="transforms.a.type")
    (problem,) = caught.value.problems
    assert problem.property == "transforms.a.type"
    start = f"Invalid value {name} for configuration transforms.a.type: " if "could not be found" in message else ""
    assert problem.message.startswith(start + message)


@pytest.mark.parametrize("name", ["Shop", "shop:Shop", "Shop$Value"])
def test_a_plugin_of_the_project_in_this_folder_that_is_not_installed_is_reported_with_the_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    advice = "The pyproject.toml in this folder declares it; install it: python -m pip install --no-deps --editable ."
    (tmp_path / "pyproject.toml").write_text('[project.entry-points."penstock.plugins"]\nShop = "shop:Shop"\n')
    with pytest.raises(ConfigError, match=re.escape(advice)):
        PLUGINS.find(TRANSFORM, name)


@pytest.mark.parametrize("text", ["[project", "project = 7", "[project]\nentry-points = 7"])
def test_a_project_in_this_folder_that_cannot_be_read_is_none(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"^Class Shop could not be found\. Installed"):
        PLUGINS.find(TRANSFORM, "Shop")


def test_another_process_loads_the_same_class() -> None:
    found = Plugins.installed().find(TRANSFORM, "HoistField$Value")
    assert load(found.reference) is found.cls
    assert found.reference == "penstock_plugins.transforms.hoist_field:HoistField"


@pytest.mark.parametrize(
    "path", ["penstock_plugins.transforms.hoist_field:HoistField", "penstock_plugins.transforms.hoist_field.HoistField"]
)
def test_a_path_finds_a_class_and_its_distribution(path: str) -> None:
    found = Plugins.installed().find(TRANSFORM, path + "$Value")
    assert (found.alias, found.distribution, found.variant) == ("HoistField", "penstock", "Value")


def test_a_path_needs_no_entry_point() -> None:
    found = Plugins([]).find(TRANSFORM, "penstock_plugins.transforms.filter:Filter")
    assert (found.alias, found.version) == ("Filter", "undefined")


def test_a_reference_that_cannot_be_loaded_says_why() -> None:
    with pytest.raises(ConfigError, match="cannot be imported: ModuleNotFoundError"):
        load("no_such_module_here:X")


def test_a_listing_holds_what_can_be_used_and_why_the_rest_cannot() -> None:
    listed = {(r.alias if isinstance(r, PluginRef) else r.property): type(r) for r in PLUGINS.every()}
    assert listed["Hoist"] is PluginRef
    assert listed["Broken"] is listed["NoPlugin"] is listed["Future"] is Problem


def test_finding_by_alias_imports_no_other_plugin() -> None:
    code = (
        "import sys; from penstock import Transform; from penstock_runtime.plugins.discovery import Plugins;"
        "Plugins.installed().find(Transform, 'org.apache.kafka.connect.transforms.HoistField$Value');"
        "print([m for m in sys.modules if m.startswith('penstock_plugins.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "hoist_field" in done.stdout
    assert "json_converter" not in done.stdout
    assert "file_source" not in done.stdout


def test_the_connector_kinds_are_distinguished() -> None:
    with pytest.raises(ConfigError, match="does not implement the Connector interface"):
        PLUGINS.find(Connector, "Router")  # type: ignore[type-abstract]
