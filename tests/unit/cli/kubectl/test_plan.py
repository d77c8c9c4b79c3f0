"""`kubectl penstock plan`: the changes of an edit, and the tasks that it restarts."""

from typing import Any

import pytest

from penstock_cli.kubectl.plan import changes_of, effect_of

BEFORE: dict[str, Any] = {
    "class": "Datagen",
    "tasksMax": 2,
    "state": "Running",
    "config": {"rate": 10, "database.password": "first"},
}


def edited(**changes: Any) -> dict[str, Any]:
    return {**BEFORE, **changes}


def test_properties_are_compared_one_by_one_and_a_number_equals_its_text() -> None:
    after = edited(tasksMax=3, config={"rate": "10", "topic": "orders", "database.password": "first"})
    assert changes_of(BEFORE, after) == [("config.topic", "-", "orders"), ("tasksMax", "2", "3")]


def test_a_changed_password_is_named_and_not_shown() -> None:
    after = edited(config={"rate": 10, "database.password": "second"})
    assert changes_of(BEFORE, after) == [("config.database.password", "[hidden]", "[hidden]")]


@pytest.mark.parametrize(
    ("changes", "effect"),
    [
        ({"state": "Paused"}, "tasks pause, without a restart"),
        ({"state": "Stopped", "tasksMax": 5}, "all tasks end"),
        ({"tasksMax": 5}, "all tasks restart, if the plugin makes another number of tasks"),
        (
            {"config": {}},
            "tasks whose configuration changes are replaced after validation; if it fails, all keep running",
        ),
        ({"template": {"labels": {"a": "b"}}}, "tasks are replaced with the new pod template"),
        ({"topicCreationPolicyRef": {"name": "p"}}, "tasks are replaced one by one, if the rules change"),
        ({"restart": {"maxRestarts": 1}, "deletion": {}}, "no task restarts"),
    ],
)
def test_the_effect_is_that_of_the_documentation(changes: dict[str, Any], effect: str) -> None:
    after = edited(**changes)
    assert effect_of(changes_of(BEFORE, after), BEFORE, after) == effect


def test_a_stopped_connector_starts_or_stays_stopped() -> None:
    stopped, running = edited(state="Stopped"), edited(state="Running", tasksMax=3)
    assert effect_of(changes_of(stopped, running), stopped, running).startswith("tasks start; ")
    still = edited(state="Stopped", tasksMax=3)
    assert "no task runs" in effect_of(changes_of(stopped, still), stopped, still)
