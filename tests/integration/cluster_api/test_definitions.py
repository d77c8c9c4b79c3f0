"""The definitions on a real API server: it takes them as they are, and keeps what they promise to GitOps tools."""

import copy
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ..api_servers import ROOT, ApiServer
from ..running import until
from .api import Api, ApiRefused

EXAMPLES = ROOT / "tests" / "unit" / "model" / "resources"
FILES = sorted((ROOT / "crds").glob("*.yaml"))
API_VERSION = "penstock.dev/v1alpha1"
DIGEST = "0123456789abcdef" * 4
Json = dict[str, Any]
PYTHON = {
    "plugin": "files",
    "version": "1.0",
    "image": f"files@sha256:{DIGEST}",
    "classes": [{"alias": "Files", "type": "source"}],
}


def examples(file: str) -> list[Any]:
    found = yaml.safe_load((EXAMPLES / file).read_text())
    return [pytest.param(example, id=example["claim"]) for example in found]


def manifest(resource: Mapping[str, Any], namespace: str) -> Json:
    return {
        "apiVersion": API_VERSION,
        **resource,
        "metadata": {"name": "a", **resource.get("metadata", {}), "namespace": namespace},
    }


def connector(namespace: str, **spec: Any) -> Json:
    return manifest({"kind": "Connector", "spec": {"class": "X", **spec}}, namespace)


def holds(whole: Any, part: Any) -> bool:
    """Whether everything of `part` is in `whole`."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(k in whole and holds(whole[k], v) for k, v in part.items())
    return bool(whole == part)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_a_definition_comes_back_as_it_is_in_its_file(api: Api, file: Any) -> None:
    crd = yaml.safe_load(file.read_text())
    assert api.get(crd)["spec"] == crd["spec"]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_a_definition_is_accepted_without_reservation(api: Api, file: Any) -> None:
    conditions = {c["type"]: c["status"] for c in api.get(yaml.safe_load(file.read_text()))["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}  # NonStructuralSchema would stand here


@pytest.mark.parametrize("example", examples("accepted.yaml"))
def test_the_server_accepts_what_the_model_accepts(api: Api, namespace: str, example: Json) -> None:
    resource = manifest(example["resource"], namespace)
    stored = api.apply(resource)
    assert holds(stored, resource)
    assert stored["status"] == {"observedGeneration": -1}


@pytest.mark.parametrize("example", examples("accepted.yaml"))
def test_applying_again_changes_nothing(api: Api, namespace: str, example: Json) -> None:
    resource = manifest(example["resource"], namespace)
    first, second, third = (api.apply(resource) for _ in range(3))
    # The server stores a new resource before it fills in the status, so the second apply writes what was read already.
    del first["metadata"]["resourceVersion"]
    assert third == second
    del second["metadata"]["resourceVersion"]
    assert second == first


@pytest.mark.parametrize("example", examples("refused.yaml"))
def test_the_server_refuses_what_the_model_refuses(api: Api, namespace: str, example: Json) -> None:
    with pytest.raises(ApiRefused) as refused:
        api.apply(manifest(example["resource"], namespace))
    assert (example.get("both") or example["server"]) in str(refused.value)


@pytest.mark.parametrize("example", examples("refused_by_the_model_only.yaml"))
def test_the_server_leaves_to_the_operator(api: Api, namespace: str, example: Json) -> None:
    assert holds(api.apply(manifest(example["resource"], namespace))["spec"], example["stored"])


def test_a_part_that_is_left_out_is_filled_up_with_all_defaults(api: Api, namespace: str) -> None:
    stored = api.apply(connector(namespace))
    assert stored["spec"] == {
        "class": "X",
        "tasksMax": 1,
        "state": "Running",
        "onSecretChange": "Restart",
        "restart": {
            "policy": "OnFailure",
            "maxRestarts": 10,
            "backoff": {"initial": "10s", "factor": 2, "max": "10m"},
            "resetAfter": "30m",
        },
        "rollout": {"canaryTasks": 1, "canaryDuration": "5m"},
        "deletion": {"offsets": "Keep"},
        "spark": {"start": "OnDemand", "idleTimeout": "10m"},
    }


def test_a_part_that_is_begun_is_filled_up(api: Api, namespace: str) -> None:
    stored = api.apply(connector(namespace, restart={"maxRestarts": 3, "backoff": {"initial": "1s"}}))
    assert stored["spec"]["restart"] == {
        "policy": "OnFailure",
        "maxRestarts": 3,
        "backoff": {"initial": "1s", "factor": 2, "max": "10m"},
        "resetAfter": "30m",
    }


def test_a_value_keeps_its_type(api: Api, namespace: str) -> None:
    config = {"text": "1", "whole": 1, "flag": False, "empty": ""}
    assert api.apply(connector(namespace, config=config))["spec"]["config"] == config


def test_two_managers_share_a_configuration_property_by_property(api: Api, namespace: str) -> None:
    api.apply(connector(namespace, config={"a": 1, "b": 2}), manager="one")
    api.apply(connector(namespace, config={"c": True}), manager="two")
    assert api.apply(connector(namespace, config={"a": 1}), manager="one")["spec"]["config"] == {"a": 1, "c": True}


@pytest.mark.parametrize(
    ("before", "after"),
    [({}, {"connectName": "b"}), ({"connectName": "a"}, {"connectName": "b"}), ({"connectName": "a"}, {})],
    ids=["set", "changed", "removed"],
)
def test_the_name_in_kafka_cannot_change(api: Api, namespace: str, before: Json, after: Json) -> None:
    created = api.create(connector(namespace, **before))
    changed = connector(namespace, **after)
    changed["metadata"]["resourceVersion"] = created["metadata"]["resourceVersion"]
    with pytest.raises(ApiRefused, match=r"spec.connectName: Forbidden: is immutable, because offsets"):
        api.replace(changed)


def test_a_connector_with_a_name_in_kafka_can_change_otherwise(api: Api, namespace: str) -> None:
    api.apply(connector(namespace, connectName="a"))
    assert api.apply(connector(namespace, connectName="a", tasksMax=2))["metadata"]["generation"] == 2


def test_a_version_of_plugins_never_changes(api: Api, namespace: str) -> None:
    version = manifest({"kind": "PluginVersion", "spec": PYTHON}, namespace)
    api.apply(version)
    for change in (
        {"version": "1.1"},
        {"image": f"other@sha256:{DIGEST}"},
        {"path": "/other"},
        {"classes": [{"alias": "F", "type": "sink"}]},
    ):
        with pytest.raises(ApiRefused, match="is immutable, because tasks rely on it"):
            api.apply({**version, "spec": {**PYTHON, **change}})
    version["metadata"]["labels"] = {"team": "shop"}
    assert api.apply(version)["metadata"]["labels"] == {"team": "shop"}


@pytest.fixture
def before_java(api: Api, namespace: str) -> Iterator[Callable[[], None]]:
    """The definition of PluginVersions as it was before there were Java plugins; call it to upgrade."""
    (file,) = (f for f in FILES if f.stem.startswith("pluginversions"))
    known: Json = yaml.safe_load(file.read_text())
    older = copy.deepcopy(known)
    spec = older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del spec["properties"]["runtime"]
    spec["required"] = ["plugin", "version", "image", "classes"]
    spec["x-kubernetes-validations"] = spec["x-kubernetes-validations"][:1]
    path = f"/apis/{API_VERSION}/namespaces/{namespace}/pluginversions"
    asked = manifest({"kind": "PluginVersion", "metadata": {"name": "asked"}, "spec": PYTHON}, namespace)

    def in_force(definition: Json, *, has_runtime: bool) -> None:
        api.apply(definition, manager="kubectl")
        until(lambda: ("runtime" in api.call("POST", path, asked, dryRun="All")["spec"]) == has_runtime)

    in_force(older, has_runtime=False)
    yield lambda: in_force(known, has_runtime=True)
    in_force(known, has_runtime=True)


def test_a_version_of_plugins_of_an_earlier_release_is_no_other_one_after_the_upgrade(
    api_server: ApiServer, api: Api, namespace: str, before_java: Callable[[], None], tmp_path: Path
) -> None:
    """Neither GitOps tools nor the rule that it never changes see a difference where defaults have come."""
    version = manifest({"kind": "PluginVersion", "spec": PYTHON}, namespace)
    file = tmp_path / "version.yaml"
    file.write_text(yaml.safe_dump({**version, "metadata": {**version["metadata"], "name": "by-kubectl"}}))
    api_server.kubectl("apply", "--filename", str(file))
    api.apply(version)
    before_java()
    api_server.kubectl("diff", "--filename", str(file))  # fails where there is a difference
    assert "unchanged" in api_server.kubectl("apply", "--filename", str(file))
    file.write_text(yaml.safe_dump(version))
    api_server.kubectl("diff", "--server-side", "--field-manager", "test", "--filename", str(file))
    applied = api.apply(version)
    assert (applied["metadata"]["generation"], applied["spec"]["runtime"]) == (1, "Python")
    assert api.merge(version, {"metadata": {"labels": {"team": "shop"}}})["metadata"]["labels"] == {"team": "shop"}
    with pytest.raises(ApiRefused, match="is immutable, because tasks rely on it"):
        api.merge(version, {"spec": {"runtime": "Java", "plugin": None, "version": None}})


def test_kubectl_shows_what_runs_the_plugins_and_where_they_are(
    api_server: ApiServer, api: Api, namespace: str
) -> None:
    api.apply(manifest({"kind": "PluginVersion", "spec": PYTHON}, namespace))
    java = {"runtime": "Java", "image": f"connect@sha256:{DIGEST}", "path": "/kafka/connect"}
    api.apply(manifest({"kind": "PluginVersion", "metadata": {"name": "b"}, "spec": java}, namespace))
    head, *lines = api_server.kubectl("get", "pplugin", "--namespace", namespace, "--output", "wide").splitlines()
    assert head.split() == [
        "NAME",
        "PLUGIN",
        "VERSION",
        "RUNTIME",
        "READY",
        "REASON",
        "PATH",
        "USED",
        "BY",
        "IMAGE",
        "AGE",
    ]
    assert lines[0].split()[:4] == ["a", "files", "1.0", "Python"]
    assert lines[1].split()[:3] == ["b", "Java", "/kafka/connect"]


def test_a_scale_sets_the_most_tasks_and_shows_the_pods_that_there_are(api: Api, namespace: str) -> None:
    own = connector(namespace)
    api.apply(own)
    seen = {"replicas": 1, "labelSelector": "penstock.dev/connector=a"}
    api.apply({**without_spec(own), "status": {"observedGeneration": 1, **seen}}, part="status")
    scale = api.get(own, "scale")
    assert (scale["spec"]["replicas"], scale["status"]) == (1, {"replicas": 1, "selector": seen["labelSelector"]})
    api.merge(own, {"spec": {"replicas": 3}}, part="scale")
    assert api.get(own)["spec"]["tasksMax"] == 3
    with pytest.raises(ApiRefused, match=r"spec.tasksMax"):
        api.merge(own, {"spec": {"replicas": 0}}, part="scale")


def without_spec(resource: Json) -> Json:
    return {name: value for name, value in resource.items() if name != "spec"}


def test_a_status_is_written_by_server_side_apply_and_raises_no_generation(api: Api, namespace: str) -> None:
    own = connector(namespace)
    generation = api.apply(own)["metadata"]["generation"]
    status = whole_status()
    stored = api.apply({**without_spec(own), "status": status}, manager="penstock", part="status")
    assert stored["status"] == status
    assert stored["metadata"]["generation"] == generation
    again = api.apply({**without_spec(own), "status": status}, manager="penstock", part="status")
    assert again["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]


def test_what_a_status_no_longer_says_goes(api: Api, namespace: str) -> None:
    own = connector(namespace)
    api.apply(own)
    status = whole_status()
    api.apply({**without_spec(own), "status": status}, manager="penstock", part="status")
    less = copy.deepcopy(status)
    del less["tasks"][1], less["conditions"][1], less["operatorState"]["job"]
    stored = api.apply({**without_spec(own), "status": less}, manager="penstock", part="status")
    assert stored["status"] == less


def test_a_condition_of_another_manager_stays(api: Api, namespace: str) -> None:
    own = connector(namespace)
    api.apply(own)
    ours, theirs = condition("Ready"), condition("Audited")
    api.apply({**without_spec(own), "status": {"conditions": [theirs]}}, manager="auditor", part="status")
    stored = api.apply({**without_spec(own), "status": {"conditions": [ours]}}, manager="penstock", part="status")
    assert {c["type"] for c in stored["status"]["conditions"]} == {"Ready", "Audited"}


def test_kubectl_shows_what_a_connector_does(api_server: ApiServer, api: Api, namespace: str) -> None:
    own = connector(namespace)
    api.apply(own)
    api.apply({**without_spec(own), "status": whole_status()}, manager="penstock", part="status")
    head, line = api_server.kubectl("get", "pconn", "--namespace", namespace).splitlines()
    assert head.split() == ["NAME", "CLASS", "STATE", "TASKS", "READY", "REASON", "LAST", "RECORD", "VERSION", "AGE"]
    *values, last_record, version, _ = line.split()
    assert (values, version) == (["a", "X", "Running", "2/2", "True", "Running"], "1.4.2")
    assert last_record[-1] in "smhdy"
    wide = api_server.kubectl("get", "pconn", "--namespace", namespace, "--output", "wide").splitlines()[0]
    assert wide.split()[3:4] + wide.split()[9:10] == ["DESIRED", "TOPICS"]


def test_kubectl_finds_all_resources_by_their_category_and_short_names(
    api_server: ApiServer, api: Api, namespace: str
) -> None:
    api.apply(connector(namespace))
    policy = {"kind": "TopicCreationPolicy", "spec": {"default": {"partitions": 3}}}
    api.apply(manifest(policy, namespace))
    found = api_server.kubectl("get", "penstock", "--namespace", namespace, "--output", "name").split()
    assert found == ["connector.penstock.dev/a", "topiccreationpolicy.penstock.dev/a"]
    assert (
        api_server.kubectl("get", "ptopic,pplugin", "--namespace", namespace, "--output", "name").split() == found[1:]
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("connector", "A connector, which moves records"),
        ("connector.spec", "The maximum number of tasks"),
        ("connector.spec", "Paused: tasks remain but move no records"),
        ("connector.spec.config", "flat properties"),
        ("connector.spec.restart", "maxRestarts"),
        (
            "connector.spec.restart.backoff",
            "The delay before the first restart (a duration such as 90s or 1h30m). Default: 10s.",
        ),
        ("connector.spec.template", "strategic merge patch"),
        ("connector.status.tasks", "consecutive lost pods"),
        ("topiccreationpolicy.spec.groups", "The topics of the group"),
        ("pluginversion.spec.image", "by digest"),
    ],
)
def test_kubectl_explains(api_server: ApiServer, path: str, text: str) -> None:
    told = " ".join(api_server.kubectl("explain", path, "--api-version", API_VERSION).split())
    assert text in told


def condition(kind: str) -> Json:
    return {
        "type": kind,
        "status": "True",
        "reason": "Running",
        "message": "",
        "lastTransitionTime": "2026-01-31T12:00:00Z",
        "observedGeneration": 1,
    }


def whole_status() -> Json:
    since = "2026-01-31T12:00:00Z"
    versions = {
        "connector": "1.4.2",
        "keyConverter": "1.0",
        "valueConverter": "1.3.0",
        "headerConverter": "1.0",
        "transforms": {"hoist": "1.1.0"},
        "predicates": {"tombstone": "1.1.0"},
    }
    running = {"state": "Running", "since": since, "restarts": 0, "incarnation": 1, "versions": versions}
    lost = {
        "reason": "OOMKilled",
        "message": "out of memory",
        "failures": 1,
        "losses": 2,
        "unavailable": 1,
        "retryAt": since,
    }
    return {
        "observedGeneration": 1,
        "state": "Running",
        "conditions": [condition("Ready"), condition("ConfigValid")],
        "connector": {"class": "X", "type": "source", "version": "1.4.2", "pluginVersion": "files-1.4.2"},
        "tasks": [
            {
                "id": 0,
                "pod": "a-0-1",
                "podUID": "u",
                "startedAt": since,
                "lastRecordTime": since,
                "lastLoopTime": since,
                **running,
            },
            {"id": 1, "pod": "a-1-1", "trace": "...", **running, **lost, "state": "Restarting"},
        ],
        "lastRecordTime": since,
        "taskSummary": "2/2",
        "replicas": 2,
        "labelSelector": "penstock.dev/connector=a",
        "activeTopics": [{"name": "orders", "task": 0, "since": since}],
        "activeTopicCount": 1,
        "offsetsActions": [{"token": "1", "action": "alter", "result": "Succeeded", "message": "done", "at": since}],
        "restartActions": [
            {"token": "1", "action": "restart-tasks", "tasks": [0], "result": "Succeeded", "message": "", "at": since}
        ],
        "operatorState": {
            "plan": {
                "hash": "0123abcd",
                "epoch": {"generation": 3, "plan": "p"},
                "fence": "f",
                "refused": "r",
                "problems": ["spec.config.file: is missing"],
            },
            "job": {"key": "plan", "attempts": 2, "retryAt": since, "reason": "Deadline", "message": "took too long"},
            "tasks": [{"id": 0, "podHash": "0123abcd"}, {"id": 1, "over": True}],
            "offsetsActions": [{"content": "x"}],
        },
    }


@pytest.fixture
def next_definition(api: Api) -> Iterator[Json]:
    """That of Connectors in a group of this test, where a version may be added."""
    made: Json = yaml.safe_load((ROOT / "crds" / "connectors.penstock.dev.yaml").read_text())
    made["metadata"]["name"], made["spec"]["group"] = "connectors.next.example.com", "next.example.com"
    made["spec"]["names"] |= {"shortNames": ["nextconn"], "categories": []}
    api.apply(made)
    yield made
    api.delete(made)


def test_a_version_with_the_same_fields_takes_over_stored_objects(
    api: Api, namespace: str, next_definition: Json
) -> None:
    """The path to `v1` in docs/api.md: served and stored, objects rewritten, `v1alpha1` removed."""
    group = next_definition["spec"]["group"]
    old = {**connector(namespace, tasksMax=3, config={"a": "b"}), "apiVersion": f"{group}/v1alpha1"}

    def taken(manifest: Json) -> Json | None:
        try:
            return api.apply(manifest)
        except ApiRefused:  # not served yet
            return None

    before = until(lambda: taken(old))
    before = api.merge(old, {"status": {"state": "Running", "operatorState": {"plan": {"hash": "x"}}}}, "status")
    (alpha,) = next_definition["spec"]["versions"]
    stable = {**copy.deepcopy(alpha), "name": "v1"}
    next_definition["spec"]["versions"] = [{**alpha, "storage": False}, stable]
    api.apply(next_definition)
    new = {**old, "apiVersion": f"{group}/v1"}

    def read() -> Json | None:
        try:
            return api.get(new)
        except ApiRefused:
            return None

    found = until(read)
    assert (found["spec"], found["status"]) == (before["spec"], before["status"])
    api.replace(found)  # as `kubectl replace` does
    assert api.get(next_definition)["status"]["storedVersions"] == ["v1alpha1", "v1"]
    next_definition["spec"]["versions"] = [stable]
    with pytest.raises(ApiRefused, match="storedVersions"):
        api.apply(next_definition)
    api.merge(next_definition, {"status": {"storedVersions": ["v1"]}}, "status")
    api.apply(next_definition)
    assert api.get(new)["spec"] == before["spec"]
