"""Kafka Connect's own validation of connectors and of plugin versions, case by case.

A case of area `validation` is what a worker answers to a configuration: which properties have errors. Penstock must name
the same properties; its messages say more. What a field of the resource owns (`name`, `tasks.max`) is put there.
"""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from penstock import ConfigError
from penstock.resources import Connector
from penstock.version_order import compare
from penstock.versions import Version, VersionRange, newest
from penstock_runtime.discovery import Plugins
from penstock_runtime.plan import plan
from penstock_runtime.worker_file import worker_from

FOLDER: Final = Path(os.environ.get("CONFORMANCE_CASES") or Path(__file__).parent / "cases")
PLUGINS: Final = Plugins(dataclasses.replace(e, version="4.3.1") for e in Plugins.installed().entries)

_NAME: Final = "the name is metadata.name, with Kubernetes' rules, or spec.connectName, which takes any text"
_NULL: Final = "null is refused wherever it stands, under spec.config"
_FILE: Final = "without a file there is standard input in Kafka Connect, which a task pod does not have"
_TASKS_MAX: Final = "spec.tasksMax is a number of the resource, checked with the resource"
_EARLIER: Final = "found when the task starts in Kafka Connect, before it in Penstock"
_TOPIC_RULES: Final = "topic.creation.* is refused until topic rules arrive"
_JSON_HEADERS: Final = "JsonConverter is no header converter yet"
_LATER: Final = "the plugin arrives with a later issue"
DIFFERENT: Final = {
    "validation-filestreamsource-002": _NAME,
    "validation-filestreamsource-003": _NAME,
    "validation-filestreamsource-006": _NAME,
    "validation-filestreamsink-002": _NAME,
    "validation-filestreamsource-019": _FILE,
    "validation-filestreamsource-139": _FILE,
    "validation-filestreamsource-140": _FILE,
    "validation-filestreamsource-023": _NULL,
    "validation-filestreamsource-025": _NULL,
    "validation-filestreamsink-003": _NULL,
    "validation-filestreamsource-027": _TASKS_MAX,
    "validation-filestreamsource-034": _TASKS_MAX,
    "validation-filestreamsource-184": _TASKS_MAX,
    "validation-filestreamsink-047": _TASKS_MAX,
    "validation-filestreamsource-074": _EARLIER,
    "validation-filestreamsource-075": _EARLIER,
    "validation-filestreamsource-096": _EARLIER,
    "validation-filestreamsource-105": _EARLIER,
    "validation-filestreamsource-196": _EARLIER,
    "validation-filestreamsource-083": "aliases take $Key and $Value too",
    "validation-filestreamsource-090": "an empty alias is a problem of the list alone",
    "validation-filestreamsource-057": _JSON_HEADERS,
    "validation-filestreamsource-060": _JSON_HEADERS,
    "validation-filestreamsource-098": _LATER,
    "validation-filestreamsource-099": _LATER,
    "validation-filestreamsource-117": _LATER,
    "validation-filestreamsource-155": _TOPIC_RULES,
    "validation-filestreamsource-157": _TOPIC_RULES,
    "validation-filestreamsource-158": _TOPIC_RULES,
    "validation-filestreamsource-160": _TOPIC_RULES,
    "validation-filestreamsource-162": "a client property that nobody knows is refused, not passed on in silence",
    "validation-filestreamsource-175": "sources deliver exactly once by default, which needs acks=all",
    "validation-filestreamsource-176": "the values of client properties are checked",
    "validation-filestreamsink-054": "the values of client properties are checked",
    "validation-filestreamsource-181": "a variable that cannot be resolved is an error",
    "plugin-version-delegatingclassloader-058": "there is no class path beside the plugin path",
    "plugin-version-delegatingclassloader-060": "one version of a plugin is installed; realms come later",
}
"""Cases that Penstock answers otherwise on purpose, and why."""


def _cases(area: str) -> list[Any]:
    found = [c for p in sorted(FOLDER.glob("*.json")) for c in json.loads(p.read_text()) if c["area"] == area]
    return [
        pytest.param(c, id=c["id"], marks=[pytest.mark.xfail(reason=DIFFERENT[c["id"]], strict=True)] if c["id"] in
                     DIFFERENT else [])
        for c in found if area != "validation" or "errors" in c["expected"]
    ]  # fmt: skip


@pytest.mark.parametrize("case", _cases("validation"))
def test_the_same_properties_have_errors(case: dict[str, Any]) -> None:
    assert _properties_with_errors(case) == {e["name"] for e in case["expected"]["errors"]}


def _properties_with_errors(case: dict[str, Any]) -> set[str]:
    worker = dict(case["input"]["worker"])
    # Standalone workers check no guarantee; distributed ones have it off unless told otherwise.
    standalone = worker.pop("mode") == "standalone"
    worker.setdefault("exactly.once.source.support", "enabled" if standalone else "disabled")
    config = dict(case["config"])
    spec = {"class": config.pop("connector.class"), "connectName": config.pop("name", None), "config": config}
    if "connector.plugin.version" in config:
        spec["version"] = config.pop("connector.plugin.version")
    try:
        spec["tasksMax"] = int(config.pop("tasks.max", "1"))
    except ValueError:
        return {"tasks.max"}
    names = {"spec.class": "connector.class", "spec.version": "connector.plugin.version"}
    try:
        resource = Connector.read({"metadata": {"name": "c"}, "spec": spec})
        plan(resource, worker_from(worker).config, PLUGINS)
    except ConfigError as e:
        return {names.get(p.property, p.property) for p in e.problems}
    return set()


@pytest.mark.parametrize("case", _cases("plugin-version"))
def test_versions_are_read_ordered_and_chosen_alike(case: dict[str, Any]) -> None:
    expected = case["expected"]
    if expected.get("error", {}).get("class") == "InvalidVersionSpecificationException":
        with pytest.raises(ValueError) as caught:  # noqa: PT011 (the whole message is compared)
            _versions(case["input"])
        assert str(caught.value) == expected["error"]["message"]
        return
    found = _versions(case["input"])
    wanted = {k: v for k, v in expected.items() if k != "from"}
    if wanted.get("error", {}).get("class") == "VersionedPluginLoadingException":
        assert f"version range {found['range']}," in wanted["error"]["message"]
        assert found["version"] is None
        return
    assert found == wanted


def _versions(given: dict[str, Any]) -> dict[str, Any]:
    if given["op"] == "compare":
        order = compare(given["a"], given["b"])
        return {"compare": (order > 0) - (order < 0)}
    if given["op"] == "sort":
        return {"order": [v.text for v in sorted(map(Version, given["available"]))]}
    wanted = VersionRange.requested(given["requested"])
    shown = None if wanted is None else str(wanted)
    if given["op"] == "contains":
        return {"range": shown, "contains": {v: wanted is None or v in wanted for v in given["versions"]}}
    return {"range": shown, "version": newest([v or "null" for v in given["available"]], wanted)}
