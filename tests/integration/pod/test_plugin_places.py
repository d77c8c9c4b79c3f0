"""Plugins of one connector from the images of several PluginVersions: planned together, and run in one process (KIP-891)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.plugin_images import add_distribution

from penstock_model.connect.plugin_chain import asked_plugins
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources.plugin_offers import offered
from penstock_model.resources.version_selection import resolve_plugins

from ..pods import Pods, pods, shown
from ..running import PLUGINS, new_name, until
from .test_jobs import alive, problems

__all__ = ["pods"]

_STAMP = """
from penstock import Transform

class Stamp(Transform):
    def apply(self, record):
        return record.replace(value=f"{record.value} {VERSION}")
"""
_MARK = """
from penstock import Converter

class Mark(Converter):
    def from_connect(self, topic, schema, value):
        return f"{VERSION}({value})".encode()

    def to_connect(self, topic, data):
        return None, data
"""


class Images:
    """PluginVersions of a source with a transform beside it, and of a converter; the folders that their images hold."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._documents: list[dict[str, Any]] = []
        numbers = (PLUGINS / "numbers_source.py").read_text()
        for version in ("1.0.0", "1.1.0", "2.0.0"):
            of_numbers = {"acme_numbers.py": numbers, "acme/stamp.py": f'VERSION = "{version}"\n{_STAMP}'}
            entries = {"Numbers": "acme_numbers:Numbers", "Stamp": "acme.stamp:Stamp"}
            self.add("acme-numbers", version, of_numbers, entries, Numbers="source", Stamp="transform")
            mark = {"acme/mark.py": f'VERSION = "{version}"\n{_MARK}'}
            self.add("acme-mark", version, mark, {"MarkConverter": "acme.mark:Mark"}, MarkConverter="converter")

    def folder(self, plugin: str, version: str) -> Path:
        return self._folder / f"{plugin}-{version}"

    def add(
        self, plugin: str, version: str, modules: Mapping[str, str], entries: Mapping[str, str], **types: str
    ) -> None:
        add_distribution(self.folder(plugin, version), plugin, version, modules, entries)
        spec = {
            "plugin": plugin,
            "version": version,
            "image": f"plugins.example/{plugin}@sha256:{version.encode().hex().rjust(64, '0')}",
            "classes": [{"alias": alias, "type": kind} for alias, kind in types.items()],
        }
        self._documents.append({"metadata": {"name": f"{plugin}-{version}"}, "spec": spec})

    def mounts(self, resource: Mapping[str, Any]) -> tuple[PluginMount, ...]:
        """What the operator resolves, with the folders of this machine."""
        spec = resource["spec"]
        asked = asked_plugins(spec["class"], spec.get("version"), spec["config"], {})
        found = resolve_plugins(asked, offered(self._documents))
        assert not found.problems
        return tuple(m.model_copy(update={"folder": str(self.folder(m.plugin, m.version))}) for m in found.mounts)


@pytest.fixture
def images(tmp_path: Path) -> Images:
    return Images(tmp_path)


def connector(topic: str, **config: str) -> dict[str, Any]:
    given = {
        "topic": topic,
        "count": "2",
        "key.converter": "StringConverter",
        "value.converter": "Mark",
        "value.converter.plugin.version": "1.0.0",
        "transforms": "f",
        "transforms.f.type": "Stamp",
        "transforms.f.plugin.version": "[1.1.0]",
    }
    return shown(new_name(), "shop", **{"class": "Numbers", "version": "[1.0,2.0)", "config": {**given, **config}})


def planned(pods: Pods, resource: dict[str, Any], mounts: tuple[PluginMount, ...], **more: Any) -> JobAnswer:
    return pods.answer(Action.PLAN, resource, mounts=mounts, **more)


@pytest.mark.scenario("config-mixed-versions")
def test_connector_transform_and_converter_run_in_the_versions_that_each_asks_for(pods: Pods, images: Images) -> None:
    topic = pods.lab.topic()
    resource = connector(topic)
    mounts = images.mounts(resource)
    answer = planned(pods, resource, mounts, prepare=True)
    assert answer.plan is not None, answer.problems
    assert answer.plan.version == "1.1.0"
    task = pods.task(alive(answer.plan.tasks[0].with_mounts(mounts), answer.epoch))
    versions = task.await_report("RUNNING").versions
    assert {p: versions[p] for p in ("connector", "value.converter", "transforms.f")} == {
        "connector": "1.1.0",
        "value.converter": "1.0.0",
        "transforms.f": "1.1.0",
    }
    until(lambda: pods.lab.values(topic) == ["1.0.0(0:0 1.1.0)", "1.0.0(0:1 1.1.0)"], what="its records")
    task.process.stop()
    assert task.last_word().exit_code == ExitCode.OK


def test_images_that_contradict_each_other_are_refused_when_planned_and_nothing_of_them_is_imported(
    pods: Pods, images: Images, tmp_path: Path
) -> None:
    trace = tmp_path / "imported"
    beside = {"acme_common.py": f"open({str(trace)!r}, 'w').close()"}
    add_distribution(images.folder("acme-numbers", "1.1.0"), "acme-common", "1.0", beside)
    add_distribution(images.folder("acme-mark", "1.0.0"), "acme-common", "2.0", beside)
    for folder, module in (("acme-numbers-1.1.0", "acme_numbers.py"), ("acme-mark-1.0.0", "acme/mark.py")):
        file = tmp_path / folder / module
        file.write_text(f"import acme_common\n{file.read_text()}")
    resource = connector(pods.lab.topic())
    answer = planned(pods, resource, images.mounts(resource))
    assert answer.outcome is Outcome.INVALID
    (told,) = problems(answer)
    assert told.startswith(
        "value.converter: the PluginVersion acme-mark-1.0.0 contains acme-common 2.0, and the PluginV"
    )
    assert "acme-numbers-1.1.0 contains acme-common 1.0; " in told
    assert not trace.exists()


def test_the_image_of_a_converter_is_compared_with_its_declaration_too(pods: Pods, images: Images) -> None:
    resource = connector(pods.lab.topic())
    of_numbers, of_mark = images.mounts(resource)
    answer = planned(pods, resource, (of_numbers, of_mark.model_copy(update={"version": "1.0.1"})))
    (told,) = problems(answer)
    assert told.startswith("value.converter: the PluginVersion acme-mark-1.0.0 declares acme-mark 1.0.1, but its image")
