"""The first task of a Java connector brings the connector's own configuration, and what its tasks were split from."""

from penstock_runtime.java_plugins.running_connector import PlannedConnector

GIVEN = {"name": "c", "tasks.max": "3", "password": "s3cret", "topics": "t.*"}


def planned(*parts: str, given: dict[str, str] | None = None) -> PlannedConnector:
    properties = given or GIVEN
    return PlannedConnector.of(properties, [[{**properties, "assigned": each} for each in parts]])


def test_the_connector_is_found_again_in_its_first_task_whatever_the_task_changes() -> None:
    tasks: list[dict[str, str]] = [{}, GIVEN, {**GIVEN, "task.id": "0", "topics": "t1,t2"}, {"task.id": "0"}]
    for task in tasks:
        made = PlannedConnector.of(GIVEN, [[task]])
        own, found = PlannedConnector.taken_from(made.kept_in(task))
        assert (own, found) == (task, made)


def test_other_tasks_bring_no_connector() -> None:
    assert PlannedConnector.taken_from({"task.id": "1"}) == ({"task.id": "1"}, None)


def test_what_a_task_has_as_its_connector_is_not_kept_twice() -> None:
    kept = planned("a").kept_in({**GIVEN, "assigned": "a"})
    assert [name for name, text in kept.items() if text == "s3cret"] == ["password"]


def test_equal_parts_in_another_order_are_no_change() -> None:
    assert planned("a,b", "c").digest == planned("c,a", "b").digest
    assert planned("a,b", "c").digest != planned("a,b", "c,d").digest


def test_a_password_is_in_no_digest() -> None:
    other = {**GIVEN, "password": "another"}
    assert planned("a", given=other).digest == planned("a").digest
    assert PlannedConnector.of(GIVEN, [[GIVEN]]).digest == ""


def answers(*ids: str, parts: tuple[str, ...] = ("a",)) -> list[list[dict[str, str]]]:
    """Return what a connector gives for each call that makes another id."""
    return [[{**GIVEN, "assigned": each, "transaction.id": made} for each in parts] for made in ids]


def test_a_property_that_is_another_one_at_each_call_is_no_change() -> None:
    made = PlannedConnector.of(GIVEN, answers("1", "2", "3"))
    assert made.random == {"transaction.id"}
    assert made.split(answers("4")[0]) == made.digest
    assert made.dealt(answers("5")[0]) == made.dealt(answers("6")[0])
    assert made.split(answers("4", parts=("a", "b"))[0]) != made.digest
    task = answers("3")[0][0]
    assert PlannedConnector.taken_from(made.kept_in(task)) == (task, made)


def test_what_changed_once_between_calls_is_a_change() -> None:
    made = PlannedConnector.of(GIVEN, answers("1", "2", "2"))
    assert made.random == frozenset()
    assert made.split(answers("3")[0]) != made.digest
    assert made.split(answers("2")[0]) == made.digest
