"""Transactional ids of Kafka Connect's tasks, made known to the first plan here."""

from penstock_model.contracts.incarnation import Incarnation
from penstock_runtime.fencing.foreign_ids import records_with_ids
from penstock_runtime.kafka.status_topic import incarnated_tasks, named_ids


def test_each_task_that_there_was_has_a_record_that_names_its_id() -> None:
    records = records_with_ids([], "in", "connect-cluster", 3)
    assert sorted(incarnated_tasks(records, "in")) == [0, 1, 2]
    assert named_ids(records, "in", 2) == {"connect-cluster-in-2"}


def test_a_record_that_is_there_keeps_what_it_says_and_a_second_import_changes_nothing() -> None:
    before = Incarnation(4, 1, "t", 2, 7, "p").entry("in", 0, ids=["penstock-in-0"])
    once = records_with_ids([before], "in", "connect-cluster", 1)
    assert incarnated_tasks(once, "in")[0] == Incarnation(4, 1, "t", 2, 7, "p")
    assert named_ids(once, "in", 0) == {"penstock-in-0", "connect-cluster-in-0"}
    assert records_with_ids([before, *once], "in", "connect-cluster", 1) == once
