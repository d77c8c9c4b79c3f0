"""A plugin from the image of a PluginVersion: planned, and run in the process of its task and in Spark's workers."""

from pathlib import Path
from typing import Any

import pytest
import regex._regex
from tests.plugin_images import add_distribution, mount

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_model.contracts.plugin_mount import DeclaredClass, PluginMount

from ..pods import Pods, pods, shown
from ..running import PLUGINS, new_name, until
from .test_jobs import STRING, alive, problems

__all__ = ["pods"]

_NATIVE = Path(regex._regex.__file__)
"""Native code under the name of another package: what is imported from the image is compiled."""
_WHERE = """
import os
from acme_native import _regex

assert _regex.__file__.startswith(os.path.dirname(__file__))
"""


def mounted(folder: Path, version: str = "1.0.0", **declared: Any) -> PluginMount:
    source = (PLUGINS / "numbers_source.py").read_text() + _WHERE
    modules: dict[str, str | bytes] = {
        "acme_numbers.py": source,
        "acme_native/__init__.py": "",
        f"acme_native/{_NATIVE.name}": _NATIVE.read_bytes(),
    }
    add_distribution(folder, "acme-numbers", "1.0.0", modules, {"Numbers": "acme_numbers:Numbers"})
    classes = DeclaredClass(alias="Numbers", type="source").model_copy(update=declared)
    return mount(folder, "acme-numbers", version, classes)


def numbers(topic: str, **config: str) -> dict[str, Any]:
    return shown(new_name(), "shop", **{"class": "Numbers", "config": {**STRING, "topic": topic, **config}})


def planned(pods: Pods, resource: dict[str, Any], mounts: PluginMount, **more: Any) -> JobAnswer:
    return pods.answer(Action.PLAN, resource, mounts=(mounts,), **more)


def test_a_plan_has_the_version_of_the_image_and_a_task_runs_it(pods: Pods, tmp_path: Path) -> None:
    image, topic = mounted(tmp_path / "plugin"), pods.lab.topic()
    answer = planned(pods, numbers(topic, count="3"), image, prepare=True)
    assert answer.plan is not None
    assert (answer.plan.class_name, answer.plan.version) == ("Numbers", "1.0.0")
    task = pods.task(alive(answer.plan.tasks[0].with_mounts([image]), answer.epoch))
    report = task.await_report("RUNNING")
    assert report.versions["connector"] == "1.0.0"
    until(lambda: pods.lab.values(topic) == ["0:0", "0:1", "0:2"], what="its records")
    task.process.stop()
    assert task.last_word().exit_code == ExitCode.OK


@pytest.mark.slow
def test_native_code_of_the_image_runs_in_sparks_workers(pods: Pods, tmp_path: Path) -> None:
    image, topic = mounted(tmp_path / "plugin"), pods.lab.topic("numbers", 4)
    resource = numbers(topic, partitions="4", **{"batch.max.records": "2000"})
    answer = planned(pods, resource, image, prepare=True)
    assert answer.plan is not None
    (spec,) = answer.plan.tasks
    task = pods.task(alive(spec.with_mounts([image]), answer.epoch))
    task.await_report("RUNNING")
    task.process.await_batch_on_spark()
    task.process.stop()
    assert task.last_word().exit_code == ExitCode.OK


def test_without_the_image_a_task_fails_for_want_of_its_class_and_runs_no_other(pods: Pods, tmp_path: Path) -> None:
    image = mounted(tmp_path / "plugin")
    answer = planned(pods, numbers(pods.lab.topic()), image, prepare=True)
    assert answer.plan is not None
    task = pods.task(alive(answer.plan.tasks[0], answer.epoch))
    assert task.process.await_exit() == ExitCode.CONFIG_INVALID
    assert "acme_numbers" in str(task.last_word().message)


def test_an_image_that_contradicts_its_declaration_is_refused_when_planned(pods: Pods, tmp_path: Path) -> None:
    resource = numbers(pods.lab.topic())
    for number, (image, told) in enumerate(
        [
            (mounted(tmp_path / "0", version="1.0.1"), "declares acme-numbers 1.0.1, but its image"),
            (mounted(tmp_path / "1", alias="Figures"), "contains the classes [Numbers], not [Figures] as declared"),
            (mounted(tmp_path / "2", type="sink"), "contains Numbers as a source, not a sink as declared"),
        ]
    ):
        answer = planned(pods, resource, image)
        assert answer.outcome is Outcome.INVALID, number
        assert told in problems(answer)[0]
