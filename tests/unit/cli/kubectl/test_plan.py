"""`kubectl penstock plan`: the changes of an edit, and the tasks that it restarts."""

from typing import Any

import pytest

from penstock_cli.kubectl.plan_changes import Change, changes_of, effect_of

BEFORE: dict[str, Any] = {
    "class": "Datagen",
    "tasksMax": 2,
    "state": "Running",
    "config": {"rate": 10, "database.password": "first"},
}


def edited(**changes: Any) -> dict[str, Any]:
    return {**BEFORE, **changes}


def connector(spec: dict[str, Any], **annotations: str) -> dict[str, Any]:
    named = {f"penstock.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}
    return {"metadata": {"name": "orders", "namespace": "shop", "annotations": named}, "spec": spec}


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[Change]:
    return changes_of(connector(before), connector(after))


def test_properties_are_compared_one_by_one_and_a_number_equals_its_text() -> None:
    after = edited(tasksMax=3, config={"rate": "10", "topic": "orders", "database.password": "first"})
    assert changed(BEFORE, after) == [("config.topic", "-", "orders"), ("tasksMax", "2", "3")]


def test_a_changed_password_is_named_and_not_shown() -> None:
    after = edited(config={"rate": 10, "database.password": "second"})
    assert changed(BEFORE, after) == [("config.database.password", "[hidden]", "[hidden]")]


@pytest.mark.parametrize(
    ("changes", "effect"),
    [
        ({"state": "Paused"}, "tasks pause, without a restart"),
        ({"state": "Stopped", "tasksMax": 5}, "all tasks stop"),
        ({"tasksMax": 5}, "all tasks restart, if the plugin returns a different number of tasks"),
        ({"autoscaling": {"max": 5}}, "all tasks restart, if their number is not within the limits"),
        (
            {"config": {}},
            "tasks whose configuration changes are replaced after validation; if it fails, all keep running",
        ),
        (
            {"limits": {"recordsPerSecond": 5}},
            "tasks whose configuration changes are replaced after validation; if it fails, all keep running",
        ),
        ({"template": {"labels": {"a": "b"}}}, "tasks are replaced with the new pod template"),
        ({"topicCreationPolicyRef": {"name": "p"}}, "tasks are replaced one by one, if the rules change"),
        ({"restart": {"maxRestarts": 1}, "deletion": {}}, "no task restarts"),
    ],
)
def test_the_effect_is_that_of_the_documentation(changes: dict[str, Any], effect: str) -> None:
    after = edited(**changes)
    assert effect_of(changed(BEFORE, after), BEFORE, after) == effect


def test_a_stopped_connector_starts_or_stays_stopped() -> None:
    stopped, running = edited(state="Stopped"), edited(state="Running", tasksMax=3)
    assert effect_of(changed(stopped, running), stopped, running).startswith("tasks start; ")
    still = edited(state="Stopped", tasksMax=3)
    assert "no task runs" in effect_of(changed(stopped, still), stopped, still)


def test_all_effects_of_an_edit_are_reported() -> None:
    template = {"labels": {"a": "b"}}
    after = edited(tasksMax=3, config={}, template=template, topicCreationPolicyRef={"name": "p"})
    effect = effect_of(changed(BEFORE, after), BEFORE, after)
    assert [part.partition(",")[0] for part in effect.split("; ")] == [
        "all tasks restart",
        "tasks whose configuration changes are replaced after validation",
        "if it fails",
        "tasks are replaced one by one",
        "tasks are replaced with the new pod template",
    ]


SECRETS: dict[str, Any] = {
    "spark": {"conf": {"spark.ssl.keyPassword": "s3cret", "spark.executor.memory": "2g"}},
    "java": {"options": ["-Xss1m", "-Djavax.net.ssl.trustStorePassword=s3cret"]},
    "template": {
        "imagePullSecrets": [{"name": "registry"}],
        "env": [
            {"name": "DB_PASSWORD", "value": "s3cret"},
            {"name": "PROXY", "value": "http://me:s3cret@proxy:3128"},
            {"name": "LEVEL", "value": "high"},
            {"name": "API_TOKEN", "valueFrom": {"secretKeyRef": {"name": "api", "key": "password"}}},
        ],
        "initContainers": [
            {"name": "sidecar", "args": ["--password", "s3cret"], "env": [{"name": "PASS", "value": "s3cret"}]}
        ],
    },
}


@pytest.mark.parametrize("is_added", [True, False])
def test_secrets_in_any_field_are_not_shown(*, is_added: bool) -> None:
    states = [BEFORE, edited(**SECRETS)]
    changes = changed(*(states if is_added else reversed(states)))
    assert "s3cret" not in str(changes)
    shown = {c.field: (c.after if is_added else c.before) for c in changes}
    assert shown == {
        "java.options.0": "-Xss1m",
        "java.options.1": "[hidden]",
        "spark.conf.spark.executor.memory": "2g",
        "spark.conf.spark.ssl.keyPassword": "[hidden]",
        "template.env.API_TOKEN.valueFrom.secretKeyRef.key": "password",
        "template.env.API_TOKEN.valueFrom.secretKeyRef.name": "api",
        "template.env.DB_PASSWORD.value": "[hidden]",
        "template.env.LEVEL.value": "high",
        "template.env.PROXY.value": "[hidden]",
        "template.initContainers.sidecar.args.0": "--password",
        "template.initContainers.sidecar.args.1": "[hidden]",
        "template.initContainers.sidecar.env.PASS.value": "[hidden]",
        "template.imagePullSecrets.registry.name": "registry",
    }


def test_fields_are_compared_leaf_by_leaf() -> None:
    before, after = (
        edited(limits={"recordsPerSecond": 5}),
        edited(limits={"recordsPerSecond": 6}, onSecretChange="Ignore"),
    )
    assert changed(before, after) == [("limits.recordsPerSecond", "5", "6"), ("onSecretChange", "-", "Ignore")]


@pytest.mark.parametrize(
    ("annotations", "effect"),
    [
        ({"restart": "r2"}, "all tasks restart"),
        ({"restart_failed": "r2"}, "failed tasks restart"),
        ({"log_level": "DEBUG"}, "the log level changes, without a restart"),
        ({"reset_offsets": "r1"}, "offsets are reset if the connector is stopped"),
        ({"list_offsets": "l1", "other": "x"}, "offsets are listed"),
        ({"other": "x"}, "no task restarts"),
    ],
)
def test_annotations_have_their_effect(annotations: dict[str, str], effect: str) -> None:
    changes = changes_of(connector(BEFORE), connector(BEFORE, **annotations))
    assert len(changes) == len(annotations)
    assert effect_of(changes, BEFORE, BEFORE) == effect
    assert (
        effect_of(changes_of(connector(BEFORE, restart="r1"), connector(BEFORE)), BEFORE, BEFORE) == "no task restarts"
    )


def test_a_restart_of_a_stopped_connector_restarts_nothing() -> None:
    stopped = edited(state="Stopped")
    changes = changes_of(connector(stopped), connector(stopped, restart="r1", alter_offsets="a1 {}"))
    assert effect_of(changes, stopped, stopped) == "offsets are altered if the connector is stopped"


def test_labels_are_compared_since_they_select_policies() -> None:
    before, after = connector(BEFORE), connector(BEFORE)
    before["metadata"]["labels"], after["metadata"]["labels"] = {"team": "shop"}, {"team": "stock", "tier": "1"}
    changes = changes_of(before, after)
    assert changes == [("labels.team", "shop", "stock"), ("labels.tier", "-", "1")]
    assert effect_of(changes, BEFORE, BEFORE) == "tasks are replaced one by one, if the rules change"
