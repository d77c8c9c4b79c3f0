"""A folder with plugins, from the image of a PluginVersion: what is found in it, and what of it is refused."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.plugin_images import add_distribution, mount

from penstock import Connector, Converter, HeaderConverter, Transform
from penstock_model.contracts.plugin_mount import DeclaredClass
from penstock_model.contracts.task_spec import PluginReference
from penstock_runtime.plan.mounted_images import check_classes, check_images, ignored_copies
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.plugins.mounted import FOLDERS_VARIABLE, append_folders, append_inherited_folders

SOURCE = """
from penstock import SourceConnector, Transform

class Clock(SourceConnector):
    java_names = ("org.example.Clock",)
    def source(self, config): ...
    def reader(self, config): ...

class Filter(Transform):
    def apply(self, record): return record
"""
ENTRIES = {"Clock": "acme_clock:Clock", "Filter": "acme_clock:Filter"}
CLOCK = DeclaredClass(alias="Clock", type="source", java_names=("org.example.Clock",))
FILTER = DeclaredClass(alias="Filter", type="transform")


@pytest.fixture(autouse=True)
def _imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    Plugins.installed()  # read once per process, so before a folder is on the path
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv(FOLDERS_VARIABLE, "")
    before = {*sys.modules}
    yield
    for name in {*sys.modules} - before:
        if name.startswith("acme_"):
            del sys.modules[name]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "plugin"
    add_distribution(found, "acme-clock", "1.0.0", {"acme_clock.py": SOURCE}, ENTRIES)
    return found


def used(**more: PluginReference) -> dict[str, PluginReference]:
    return {"connector": PluginReference(reference="acme_clock:Clock", alias="Clock", version="1.0.0"), **more}


def told(found: Any) -> str:
    return "; ".join(map(str, found))


def test_a_class_of_the_image_is_found_in_its_places_with_its_version_and_comes_before_another_of_its_name(
    folder: Path,
) -> None:
    mounted = mount(folder, "acme_clock", "1.0.0", CLOCK, FILTER, places=["connector", "transforms.f"])
    append_folders([mounted.folder])
    plugins = Plugins.installed([mounted])
    for name in ("Clock", "ClockConnector", "org.example.Clock", "acme_clock:Clock"):
        found = plugins.at("connector").find(Connector, name)  # type: ignore[type-abstract]
        assert (found.reference, found.version, found.distribution) == ("acme_clock:Clock", "1.0.0", "acme-clock")
    guarded = plugins.at("transforms.f")
    assert guarded.find(Transform, "Filter").reference == "acme_clock:Filter"  # type: ignore[type-abstract]
    assert guarded.find(Transform, "HoistField$Key").version != "1.0.0"  # type: ignore[type-abstract]
    for other in (plugins.at("transforms.g"), plugins.at("value.converter"), Plugins.installed().at("transforms.f")):
        assert other.find(Transform, "Filter").reference.startswith("penstock_plugins.")  # type: ignore[type-abstract]
    assert not [
        *check_images([mounted]),
        *check_classes(mounted, used(), [mounted.folder]),
        *ignored_copies(mounted, [mounted.folder]),
    ]


def test_a_folder_is_behind_the_runtimes_packages_once_and_other_processes_inherit_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [*sys.path]
    append_folders([str(folder), "/other"])
    append_folders([str(folder)])
    assert sys.path == [*before, str(folder), "/other"]
    assert os.environ[FOLDERS_VARIABLE] == f"{folder}:/other"
    monkeypatch.setattr(sys, "path", [*before])
    append_inherited_folders()
    append_inherited_folders()
    assert sys.path == [*before, str(folder), "/other"]


def test_a_copy_of_what_the_runtime_has_is_not_used_and_is_reported(folder: Path) -> None:
    add_distribution(folder, "penstock", "9.9.9", {"penstock/__init__.py": ""}, {"Cast": "penstock.evil:Cast"})
    mounted = mount(folder, "acme-clock", "1.0.0", CLOCK, FILTER)
    append_folders([mounted.folder])
    plugins = Plugins.installed([mounted]).at("connector")
    assert plugins.find(Transform, "Cast$Key").reference.startswith("penstock_plugins.")  # type: ignore[type-abstract]
    assert not check_images([mounted])
    assert "contains penstock 9.9.9 (the runtime has " in told(ignored_copies(mounted, [mounted.folder]))


@pytest.mark.parametrize(
    ("plugin", "version", "classes", "expected"),
    [
        ("acme-clock", "1.0.1", (CLOCK, FILTER), "declares acme-clock 1.0.1, but its image plugins.example/x@sha256:"),
        ("acme-clock", "1.0.1", (CLOCK, FILTER), "contains acme-clock 1.0.0"),
        ("acme-files", "1.0.0", (CLOCK, FILTER), "spec.plugin and spec.path must refer to acme-files"),
        ("acme-clock", "1.0.0", (CLOCK,), "contains the classes [Clock, Filter], not [Clock] as declared"),
        (
            "acme-clock",
            "1.0.0",
            (CLOCK, FILTER, DeclaredClass(alias="X", type="sink")),
            "not [Clock, Filter, X] as declared",
        ),
    ],
)
def test_an_image_that_holds_something_else_is_refused_with_both(
    folder: Path, plugin: str, version: str, classes: tuple[DeclaredClass, ...], expected: str
) -> None:
    assert expected in told(check_images([mount(folder, plugin, version, *classes)]))


def test_a_path_that_leads_nowhere_or_to_no_distribution_is_refused(tmp_path: Path) -> None:
    assert "has no folder at the path" in told(check_images([mount(tmp_path / "none", "acme-clock", "1.0.0", CLOCK)]))
    (tmp_path / "empty").mkdir()
    assert "contains no Python distribution there" in told(
        check_images([mount(tmp_path / "empty", "a", "1.0.0", CLOCK)])
    )
    (tmp_path / "file").write_text("")
    assert "has no folder at the path" in told(check_images([mount(tmp_path / "file", "a", "1.0.0", CLOCK)]))


def test_a_transform_of_the_image_is_compared_too(folder: Path) -> None:
    predicate = FILTER.model_copy(update={"type": "predicate"})
    mounted = mount(folder, "acme-clock", "1.0.0", CLOCK, predicate, places=["connector", "transforms.f"])
    append_folders([mounted.folder])
    reference = PluginReference(reference="acme_clock:Filter", alias="Filter", version="1.0.0")
    (problem,) = check_classes(mounted, used(**{"transforms.f": reference}), [mounted.folder])
    assert "contains Filter as a transform, not a predicate as declared" in str(problem)


@pytest.mark.filterwarnings("ignore:Implicit None:DeprecationWarning")  # of Python 3.13, for metadata without a name
def test_a_distribution_whose_metadata_cannot_be_read_is_passed_over(folder: Path) -> None:
    (folder / "odd-1.0.dist-info").mkdir()
    (folder / "odd-1.0.dist-info" / "METADATA").write_bytes(b"Name: \xff\xfe\nVersion: 1\n")
    (folder / "none-1.0.dist-info").mkdir()
    assert not check_images([mount(folder, "acme-clock", "1.0.0", CLOCK, FILTER)])


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (CLOCK.model_copy(update={"type": "sink"}), "contains Clock as a source, not a sink as declared"),
        (CLOCK.model_copy(update={"java_names": ()}), "with the javaNames [org.example.Clock], not [] as declared"),
    ],
)
def test_a_class_that_is_otherwise_than_declared_is_refused_with_both(
    folder: Path, declared: DeclaredClass, expected: str
) -> None:
    mounted = mount(folder, "acme-clock", "1.0.0", declared, FILTER)
    append_folders([mounted.folder])
    assert expected in told(check_classes(mounted, used(), [mounted.folder]))


def test_a_plugin_that_the_runtimes_image_has_too_is_refused_since_that_would_run(folder: Path, tmp_path: Path) -> None:
    mounted = mount(folder, "acme-clock", "1.0.0", CLOCK, FILTER)
    baked = tmp_path / "baked"
    add_distribution(baked, "Acme_Clock", "0.9.0", {"acme_clock.py": SOURCE}, ENTRIES)
    sys.path.append(str(baked))
    append_folders([mounted.folder])
    assert "the runtime's image has its own Acme_Clock 0.9.0" in told(check_images([mounted]))
    assert "the module acme_clock is in the runtime's image too" in told(
        check_classes(mounted, used(), [mounted.folder])
    )


def test_a_class_that_several_images_bring_alike_may_come_from_another_one(folder: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    add_distribution(again, "acme-clock", "1.0.0", {"acme_clock.py": SOURCE}, ENTRIES)
    mounted = mount(folder, "acme-clock", "1.0.0", CLOCK, FILTER)
    append_folders([str(again), mounted.folder])
    assert not [*check_classes(mounted, used(), [str(again), mounted.folder])]
    assert "is in the runtime's image too" in told(check_classes(mounted, used(), [mounted.folder]))


def test_a_module_that_the_runtime_has_by_another_distribution_is_reported(folder: Path) -> None:
    add_distribution(folder, "other-yaml", "1.0", {"yaml/__init__.py": "", "acme_own.py": "", "acme/yaml.py": ""})
    mounted = mount(folder, "acme-clock", "1.0.0", CLOCK, FILTER)
    (warning,) = ignored_copies(mounted, [mounted.folder])
    assert "contains module yaml (of other-yaml): these copies are not used" in str(warning)


HEADERS = """
from penstock import Converter, HeaderConverter

class _Values(Converter):
    def from_connect(self, topic, schema, value): ...
    def to_connect(self, topic, data): ...

class Avro(_Values): ...

class Headers(HeaderConverter):
    def from_connect(self, topic, name, schema, value): ...
    def to_connect(self, topic, name, data): ...
"""


def test_a_short_name_means_the_class_of_the_kind_that_is_asked_for(tmp_path: Path) -> None:
    entries = {"AvroConverter": "acme_avro:Avro", "AvroHeaderConverter": "acme_avro:Headers"}
    add_distribution(tmp_path / "p", "acme-avro", "1.0", {"acme_avro.py": HEADERS}, entries)
    places = ["value.converter", "header.converter"]
    mounted = mount(tmp_path / "p", "acme-avro", "1.0", places=places)
    append_folders([mounted.folder])
    plugins = Plugins.installed([mounted])
    found = plugins.at("header.converter").find(HeaderConverter, "Avro")  # type: ignore[type-abstract]
    assert found.alias == "AvroHeaderConverter"
    assert plugins.at("value.converter").find(Converter, "Avro").alias == "AvroConverter"  # type: ignore[type-abstract]
