"""Connectors of Kafka Connect and Strimzi, in each form in which they are found."""

from typing import Any

import pytest

from penstock.errors import Problem
from penstock_cli.manifests.yaml_text import documents
from penstock_cli.migration.documents import found_in
from penstock_cli.migration.found import Found, LeftOut, NoConnector

CONFIG = {"connector.class": "FileStreamSource", "topic": "t"}
INFO = {"name": "in", "config": CONFIG, "tasks": [{"connector": "in", "task": 0}, {"connector": "in", "task": 3}]}


def only(value: Any) -> Found:
    (found,) = found_in("f", value)
    assert isinstance(found, Found), found
    return found


def status(state: str) -> dict[str, Any]:
    return {"name": "in", "connector": {"state": state, "worker_id": "w:1"}, "tasks": [{"id": 1, "state": state}]}


def strimzi(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "in", "namespace": "shop"}
    given = {"class": "X", "config": {"topic": "t"}, **spec}
    return {"apiVersion": "kafka.strimzi.io/v1beta2", "kind": "KafkaConnector", "metadata": metadata, "spec": given}


def test_the_answer_for_one_connector_and_lists_of_them_and_plain_configurations_are_read() -> None:
    assert only({**INFO, "initial_state": "PAUSED"}).form == {"name": "in", "config": CONFIG, "initial_state": "PAUSED"}
    assert [f.form["name"] for f in found_in("f", [INFO, {**INFO, "name": "b"}]) if isinstance(f, Found)] == ["in", "b"]
    assert only({"name": "in", **CONFIG}).form["config"] == {"name": "in", **CONFIG}


def test_without_a_known_state_the_manifest_says_stopped_so_that_nothing_starts_at_an_apply() -> None:
    for value in (INFO, {"name": "in", **CONFIG}):
        found = only(value)
        assert found.form["initial_state"] == "STOPPED"
        assert [str(n) for n in found.notes] == ["state: is not in the input; it is Stopped in the manifest"]


def test_the_kind_is_the_one_that_kafka_connect_reports() -> None:
    assert only({**INFO, "type": "sink"}).kind == "sink"
    assert only(INFO).kind == ""


def test_connectors_whose_names_are_fields_of_the_form_are_read() -> None:
    both = {
        name: {"info": {**INFO, "name": name}, "status": status("STOPPED")} for name in ("config", "connector.class")
    }
    assert [f.name for f in found_in("f", both) if isinstance(f, Found)] == ["config", "connector.class"]


def test_of_a_list_of_strimzi_what_is_no_connector_is_left_out() -> None:
    topic = {"apiVersion": "kafka.strimzi.io/v1beta2", "kind": "KafkaTopic", "metadata": {}, "spec": {}}
    for kind in ("List", "KafkaConnectorList"):
        left_out, found = found_in("f", {"kind": kind, "apiVersion": "v1", "items": [topic, strimzi()]})
        assert left_out == LeftOut("f[0]", "KafkaTopic")
        assert isinstance(found, Found)
        assert found.name == "in"


def test_a_strimzi_secret_of_its_own_namespace_is_another_ones_where_the_connector_moves_to_one() -> None:
    (found,) = found_in("f", strimzi(config={"pw": "${secrets:shop/db:pw}"}), "elsewhere")
    assert isinstance(found, Found)
    assert [n.property for n in found.problems] == ["pw"]


@pytest.mark.parametrize(
    ("state", "initial", "is_live"),
    [("RUNNING", "RUNNING", True), ("PAUSED", "PAUSED", True), ("STOPPED", "STOPPED", False), ("FAILED", None, True)],
)
def test_the_expanded_answer_has_the_state_and_how_many_tasks_there_were(
    state: str, initial: str | None, is_live: bool
) -> None:
    found = only({"in": {"info": INFO, "status": status(state)}})
    assert (found.form.get("initial_state"), found.is_live, found.tasks) == (initial, is_live, 4)
    assert bool(found.notes) is (initial is None)


@pytest.mark.parametrize("value", [7, "x", {}, {"kind": "Pod"}, {"a": {"status": {}}}, None, {"tasks": 7}])
def test_what_is_no_connector_is_reported(value: Any) -> None:
    assert list(found_in("f", value)) == [NoConnector("f")]


@pytest.mark.parametrize("form", ["*{0}", "{{kind: List, items: *{0}}}"])
def test_lists_within_a_list_are_one_problem_however_many_aliases_multiply_them(form: str) -> None:
    lines = ["a0: &l0 [1, 2]"]
    lines += (f"a{n}: &l{n} [{', '.join([form.format(f'l{n - 1}')] * 9)}]" for n in range(1, 60))
    text = "\n".join([*lines, "kind: List", "apiVersion: v1", "items: *l59"])
    (document,) = documents(text)
    (problem,) = found_in("f", document.value)
    assert isinstance(problem, Problem)
    assert problem.message.startswith("has nested lists")


def test_connectors_next_to_a_list_within_a_list_are_read() -> None:
    found, problem = found_in("f", [[INFO], INFO])
    assert isinstance(found, Found)
    assert isinstance(problem, Problem)


@pytest.mark.parametrize(
    ("field", "flaw"),
    [
        ("apiVersion", "has no apiVersion"),
        ("metadata", "has no metadata or no spec"),
        ("spec", "has no metadata or no spec"),
    ],
)
def test_an_incomplete_resource_of_strimzi_is_a_problem(field: str, flaw: str) -> None:
    assert list(found_in("f", {k: v for k, v in strimzi().items() if k != field})) == [Problem("f", flaw)]


def test_a_strimzi_resource_has_its_namespace_state_version_tasks_and_secrets() -> None:
    secret = "${secrets:shop/db:pw} and ${secrets:other-name:pw}"
    found = only(strimzi(tasksMax=3, state="stopped", version="1.2", config={"pw": secret}))
    assert found.form == {
        "name": "in",
        "config": {
            "connector.class": "X",
            "tasks.max": 3,
            "connector.plugin.version": "1.2",
            "pw": "${secret:db:pw} and ${secret:other-name:pw}",
        },
        "initial_state": "STOPPED",
    }
    assert (found.namespace, found.is_live, found.notes) == ("shop", False, ())


def test_a_strimzi_secret_of_another_namespace_stays_and_is_reported() -> None:
    found = only(strimzi(config={"pw": "${secrets:other/db:pw}"}))
    assert found.form["config"]["pw"] == "${secrets:other/db:pw}"
    assert [n.property for n in found.problems] == ["pw"]


@pytest.mark.parametrize(
    ("auto", "restart"),
    [
        (None, {"policy": "Never"}),
        ({"enabled": False, "maxRestarts": 3}, {"policy": "Never"}),
        ({"enabled": True}, {}),
        ({"enabled": True, "maxRestarts": 3}, {"maxRestarts": 3}),
        ({"enabled": True, "maxRestarts": -1}, {}),
        ({"enabled": "false"}, {"policy": "Never"}),
    ],
)
def test_restarts_of_strimzi_are_off_unless_they_are_enabled(auto: Any, restart: Any) -> None:
    assert only(strimzi(autoRestart=auto)).restart == restart


def test_strimzi_pause_is_used_if_state_is_not_set() -> None:
    assert only(strimzi(pause=True)).form["initial_state"] == "PAUSED"
    assert only(strimzi(pause=True, state="running")).form["initial_state"] == "RUNNING"


def test_strimzi_features_that_penstock_lacks_are_reported() -> None:
    resource = strimzi(listOffsets={}, mystery=1)
    resource["metadata"]["annotations"] = {"strimzi.io/restart": "true", "mine": "x"}
    assert [n.property for n in only(resource).notes] == [
        "spec.listOffsets",
        "spec.mystery",
        "metadata.annotations.strimzi.io/restart",
    ]


def test_the_configuration_of_a_strimzi_resource_does_not_override_its_fields() -> None:
    config = {"connector.class": "Other", "tasks.max": 9, "name": "other", "topic": "t"}
    found = only(strimzi(tasksMax=2, config=config))
    assert found.form["config"] == {"connector.class": "X", "tasks.max": 2, "topic": "t"}
    assert [str(c) for c in found.changes] == [
        "spec.config.connector.class: is ignored, as in Strimzi: spec.class is used",
        "spec.config.tasks.max: is ignored, as in Strimzi: spec.tasksMax is used",
        "spec.config.name: is ignored, as in Strimzi: metadata.name is used",
    ]


def test_secrets_of_one_other_namespace_are_one_problem_with_its_remedy() -> None:
    config = {"user": "${secrets:db/login:user}", "password": "${secrets:db/login:pw}"}
    resource = strimzi(config=config)
    del resource["metadata"]["namespace"]
    assert [str(p) for p in only(resource).problems] == [
        "user, password: name a Secret of namespace db, but a Connector can use only those of its own namespace; import "
        "with --namespace db"
    ]
    (found,) = found_in("f", resource, "db")
    assert isinstance(found, Found)
    assert (found.problems, found.form["config"]["password"]) == ((), "${secret:login:pw}")


def test_a_connector_of_ibm_event_streams_is_read_as_strimzis() -> None:
    resource = strimzi(tasksMax=2)
    resource["apiVersion"] = "eventstreams.ibm.com/v1beta2"
    resource["metadata"]["labels"] = {"eventstreams.ibm.com/cluster": "my-connect"}
    found = only(resource)
    assert (found.cluster, found.resource) == ("my-connect", "kafkaconnector.eventstreams.ibm.com")
    assert found.form["config"]["tasks.max"] == 2


def confluent(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "pages", "namespace": "confluent"}
    given = {"class": "X", "taskMax": 4, "connectClusterRef": {"name": "connect"}, "configs": {"topic": "t"}, **spec}
    return {"apiVersion": "platform.confluent.io/v1beta1", "kind": "Connector", "metadata": metadata, "spec": given}


def test_a_connector_of_confluent_for_kubernetes_is_read() -> None:
    found = only(confluent(configs={"topic": "t", "tasks.max": "1"}, mystery=1))
    assert found.form == {
        "name": "pages",
        "config": {"connector.class": "X", "tasks.max": 4, "topic": "t"},
        "initial_state": "RUNNING",
    }
    assert (found.namespace, found.is_live, found.restart) == ("confluent", True, {})
    assert [str(c) for c in found.changes] == ["spec.configs.tasks.max: is ignored: spec.taskMax takes precedence"]
    assert [n.property for n in found.notes] == ["spec.mystery"]
    assert only(confluent(name="Pages_V2")).name == "Pages_V2"


@pytest.mark.parametrize(
    ("policy", "restart"),
    [
        ({"type": "Never"}, {"policy": "Never"}),
        ({"type": "OnFailure", "maxRetry": 3}, {"maxRestarts": 3}),
        ({"type": "OnFailure"}, {}),
    ],
)
def test_restarts_of_confluent_for_kubernetes_are_on_unless_they_are_never(policy: Any, restart: Any) -> None:
    assert only(confluent(restartPolicy=policy)).restart == restart


def test_other_resources_are_left_out_with_their_kind() -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    assert list(found_in("f", config_map)) == [LeftOut("f", "ConfigMap")]


def test_a_configuration_as_it_is_put_gets_the_name_of_its_url() -> None:
    (found,) = found_in("f", CONFIG, None, "orders")
    assert isinstance(found, Found)
    assert found.name == "orders"
    (found,) = found_in("f", INFO, None, "orders")
    assert isinstance(found, Found)
    assert found.name == "in"
