"""What a configuration is refused for, which version of a plugin runs, and which topics are made, case by case."""

from typing import Any

import pytest

from penstock import ConfigError
from penstock_model.connect.topic_creation_rules import TopicRules
from penstock_model.connect.version_order import compare
from penstock_model.connect.versions import Version, VersionRange, choose_version
from penstock_runtime.plan.worker_check import worker_from

from .case_files import Case, cases
from .connectors import planned, worker_of
from .expecting import outcome, refused


@pytest.mark.parametrize("case", cases("validation"))
def test_the_same_properties_have_errors(case: Case) -> None:
    found = outcome(lambda: _validated(case))
    if refused(found, case["expected"]):
        return
    assert found == {e["name"] for e in case["expected"]["errors"]}


def _validated(case: Case) -> set[str]:
    """The properties with errors.

    Raises:
        ConfigError: nothing can be said of single properties: the request itself is wrong.
    """
    given, whole = case["input"], "error" in case["expected"]
    _check_path(given["plugin"], case["config"].get("connector.class"))
    try:
        planned(case["config"], worker_of(given["worker"]))
    except ConfigError as e:
        if whole:
            raise
        return {p.property for p in e.problems}
    return set()


def _check_path(plugin: str, class_name: object) -> None:
    """A request to Kafka Connect names the connector in its path as well; ours have no path.

    Raises:
        ConfigError: it is another one.
    """
    if isinstance(class_name, str) and not _plain(class_name).endswith(_plain(plugin)):
        raise ConfigError(f"{class_name} is not {plugin}")


def _plain(name: str) -> str:
    return name.removesuffix("Connector")


@pytest.mark.parametrize("case", cases("topic-creation"))
def test_topics_are_made_alike(case: Case) -> None:
    worker = worker_from(case["input"].get("worker", {})).config
    rules = outcome(lambda: TopicRules.of(case["config"], enabled=worker.topic_creation_enable))
    if refused(rules, case["expected"]):
        return
    assert rules is None or isinstance(rules, TopicRules)
    groups = [] if rules is None else [group.name for group in rules.groups]
    made = {
        "topic_creation_enabled": rules is not None,
        "groups": groups,
        "topics": [_topic(rules, topic) for topic in case["input"]["topics"]],
    }
    assert made == case["expected"]


def _topic(rules: TopicRules | None, topic: str) -> dict[str, Any]:
    if rules is None:
        return {"topic": topic, "group": None}
    found = rules.group_of(topic)
    return {
        "topic": topic,
        "group": found.name,
        "partitions": found.partitions,
        "replication.factor": found.replication_factor,
        "configs": dict(found.settings),
    }


@pytest.mark.parametrize("case", [c for c in cases("regex") if c.values[0]["source"] == "TopicCreationGroup"])
def test_a_group_takes_the_topics_that_its_patterns_match(case: Case) -> None:
    rules = outcome(lambda: TopicRules.of(case["config"], enabled=True))
    if refused(rules, case["expected"]):
        return
    assert isinstance(rules, TopicRules)
    found = [rules.group_of(topic).name == "g" for topic in case["input"]["topics"]]
    assert found == case["expected"]["results"]


@pytest.mark.parametrize("case", cases("plugin-version"))
def test_versions_are_read_ordered_and_chosen_alike(case: Case) -> None:
    expected = case["expected"]
    error = expected.get("error", {})
    if error.get("class") == "InvalidVersionSpecificationException":
        with pytest.raises(ValueError) as caught:  # noqa: PT011 (the whole message is compared)
            _versions(case["input"])
        assert str(caught.value) == error["message"]
        return
    found = _versions(case["input"])
    if error:
        assert error["class"] == "VersionedPluginLoadingException"
        assert f"version range {found['range']}," in error["message"]
        assert found["version"] is None
        return
    # Where a copy lies is no question here: copies of one version are one image.
    assert found == {name: value for name, value in expected.items() if name != "from"}


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
    everywhere = [*given["available"], *([given["classpath"]] if "classpath" in given else [])]
    found = choose_version([v or "null" for v in everywhere], wanted, packaged=given.get("connector_version"))
    return {"range": shown, "version": found}
