"""Given a Connector and what is around it, what follows: the operator's specification in examples."""

import pytest

from penstock_model.contracts.job import Action, JobAnswer, Outcome
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_reports import Report
from penstock_operator.connector.model.decision import CreateJob, CreateTask
from penstock_operator.connector.model.pod_status import JobPod, TaskPod
from penstock_operator.key import Key
from penstock_operator.kubernetes.kinds import POD

from .world.plugins import good
from .world.world import Killed, World

WITH_SECRET = {"config": {"file": "/data/a", "topic": "orders", "password": "${secret:db:password}"}}
FIRST, SECOND = {"db": {"password": "1"}}, {"db": {"password": "2"}}


def running(**spec: object) -> World:
    world = World(spec=spec)
    world.settle()
    assert world.condition("Ready").startswith("True Running"), world.status
    return world


def test_a_new_connector_is_planned_and_prepared_by_one_short_pod_and_then_its_tasks_start() -> None:
    world = World(spec={"tasksMax": 2})
    first = world.reconcile()
    assert [(w.action, w.prepare) for w in first.create if isinstance(w, CreateJob)] == [(Action.PLAN, True)]
    assert world.condition("Ready").startswith("False Planning")
    assert world.condition("Reconciling").startswith("True Planning")
    assert world.condition("Stalled") == "False NotStalled: "
    assert world.condition("ConfigValid").startswith("Unknown")
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-1-1"]
    assert world.condition("Ready") == "True Running: all 2 tasks are Running"
    assert world.condition("Reconciling") == "False NotReconciling: "
    assert world.condition("ConfigValid").startswith("True Valid")
    assert world.status["state"] == "Running"
    assert world.status["taskSummary"] == "2/2"
    assert world.status["connector"] == {"class": "FileStreamSource", "type": "source", "version": "1.4.2"}
    assert not [p for p in world.pods.values() if isinstance(p, JobPod)]


def test_the_incarnation_is_in_status_before_its_pod_is_created() -> None:
    world = World()
    while not any(isinstance(w, CreateTask) for w in world.decide().create):
        world.reconcile()
        world.tick()
    world.kill_before = POD
    with pytest.raises(Killed):
        world.reconcile()
    assert world.status["tasks"][0]["incarnation"] == 1
    assert not [p for p in world.pods.values() if isinstance(p, TaskPod)]
    world.settle()
    assert world.lives == ["orders-in-0-1"]


def test_nothing_is_written_where_nothing_changes() -> None:
    world = running(tasksMax=3)
    writes = world.writes
    for _ in range(10):
        world.advance(600)
        world.reconcile()
    assert world.writes == writes


def test_a_condition_that_another_controller_added_is_kept_and_causes_no_write() -> None:
    world = running()
    before = {c["type"]: c["lastTransitionTime"] for c in world.status["conditions"]}
    theirs = {**world.status["conditions"][0], "type": "example.com/Audited"}
    world.status = {**world.status, "conditions": [theirs, *world.status["conditions"]]}
    writes = world.writes
    world.advance(600)
    world.reconcile()
    assert world.writes == writes
    assert theirs in world.status["conditions"]
    world.change(restart={"maxRestarts": 3})
    world.settle()
    assert before.items() <= {c["type"]: c["lastTransitionTime"] for c in world.status["conditions"]}.items()


@pytest.mark.parametrize(
    "change",
    [
        {"restart": {"maxRestarts": 3}},
        {"deletion": {"offsets": "Keep"}},
    ],
)
def test_a_change_that_tasks_need_not_know_restarts_nothing(change: dict[str, object]) -> None:
    world = running()
    world.change(**change)
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert world.status["observedGeneration"] == 2
    assert world.condition("Ready").startswith("True")


def test_a_changed_configuration_is_planned_while_the_tasks_continue_and_then_restarts_them() -> None:
    world = running()
    world.change(config={"file": "/data/b", "topic": "orders"})
    first = world.reconcile()
    assert [w.prepare for w in first.create if isinstance(w, CreateJob)] == [False]
    assert not first.delete
    assert world.status["state"] == "Running"
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]
    assert world.condition("Ready").startswith("True Running")


def test_only_the_tasks_concerned_are_restarted() -> None:
    def only_the_first_reads(connector: object) -> JobAnswer:
        answer = good(connector)  # type: ignore[arg-type]
        assert isinstance(answer, JobAnswer)
        assert answer.plan is not None
        tasks = (answer.plan.tasks[0], *(t.model_copy(update={"config": {}}) for t in answer.plan.tasks[1:]))
        tasks = tuple(t.model_copy(update={"kind": "sink"}) for t in tasks)  # a source's parts may move between tasks
        return answer.model_copy(update={"plan": answer.plan.model_copy(update={"kind": "sink", "tasks": tasks})})

    world = World(spec={"tasksMax": 2}, plugin=only_the_first_reads)
    world.settle()
    world.change(config={"file": "/data/b"})
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-1-1", "orders-in-0-2"]


def test_a_change_of_the_pod_template_replaces_the_pods_without_planning() -> None:
    world = running()
    plans = list(world.plans)
    world.template = "other"
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]
    assert world.plans == plans


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1)])
def test_another_number_of_tasks_starts_only_when_all_old_ones_are_gone_and_shut_out(before: int, after: int) -> None:
    world = running(tasksMax=before)
    world.change(tasksMax=after)
    world.settle()  # the world asserts that nothing is prepared while a task lives
    assert world.status["taskSummary"] == f"{after}/{after}"
    assert [t["id"] for t in world.status["tasks"]] == list(range(after))
    assert world.status["operatorState"]["plan"]["epoch"]["generation"] == 2
    assert len(world.pods) == after


def test_pause_is_sent_to_the_tasks_whose_pods_stay_and_is_reached_when_all_confirm() -> None:
    world = running(tasksMax=2)
    world.change(state="Paused")
    decision = world.reconcile()
    assert decision.control_state == "Paused"
    assert not decision.delete
    assert world.condition("Ready").startswith("False Pausing")
    world.report(world.task(0))
    world.reconcile()
    assert world.condition("Ready") == "False Pausing: 1 of 2 tasks are Paused; waiting for task 1"
    world.settle()
    assert world.condition("Ready").startswith("True Paused")
    assert world.status["state"] == "Paused"
    assert world.lives == ["orders-in-0-1", "orders-in-1-1"]


def test_a_report_of_an_earlier_pause_does_not_count() -> None:
    world = running()
    world.change(state="Paused")
    world.settle()
    old = dict(world.reports)
    world.change(state="Running")
    world.settle()
    world.change(state="Paused")
    world.reconcile()
    world.reports = old
    world.reconcile()
    assert world.condition("Ready").startswith("False Pausing")


def test_a_connector_that_is_created_paused_gets_pods_that_are_paused_from_their_first_moment() -> None:
    world = World(spec={"state": "Paused"})
    world.settle()
    assert world.task(0).state == "Paused"
    assert world.control is None
    assert world.condition("Ready").startswith("True Paused")


def test_stopped_means_no_pods_and_is_reached_when_the_last_is_gone() -> None:
    world = running(tasksMax=2)
    world.change(state="Stopped")
    world.reconcile()
    assert world.status["state"] == "Stopping"
    assert world.condition("Ready").startswith(
        "False Stopping: waiting for pods orders-in-0-1, orders-in-1-1 to terminate"
    )
    world.settle()
    assert not world.pods
    assert world.status["state"] == "Stopped"
    assert world.condition("Ready").startswith("True Stopped")
    assert world.status["replicas"] == 0


def test_a_connector_that_is_stopped_from_the_beginning_costs_one_write_and_no_pod() -> None:
    world = World(spec={"state": "Stopped"})
    world.settle()
    assert (world.writes, world.pods) == (1, {})


def test_resume_after_stopped_needs_no_planning_and_continues_counting_incarnations() -> None:
    world = running()
    world.change(state="Stopped")
    world.settle()
    world.change(state="Running")
    first = world.reconcile()
    assert not any(isinstance(w, CreateJob) for w in first.create)
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]


def test_a_wrong_configuration_reports_every_problem_together_and_what_runs_continues() -> None:
    world = running()
    world.plugin = lambda connector: ["file", "topic"]
    world.change(config={"file": ""})
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert world.condition("ConfigValid") == "False ConfigInvalid: 2 problems; file: is wrong; topic: is wrong"
    assert world.condition("Ready").startswith("False ConfigInvalid")
    assert world.condition("Stalled").startswith("True ConfigInvalid")
    assert world.condition("Reconciling") == "False NotReconciling: "
    assert world.status["state"] == "Running"
    assert world.status["observedGeneration"] == 2


def test_a_refused_configuration_is_not_planned_again_until_something_changes() -> None:
    world = World(plugin=lambda connector: ["file"])
    world.settle()
    writes = world.writes
    world.advance(3_600)
    assert not world.reconcile().create
    assert world.writes == writes
    world.plugin = good
    world.change(config={"file": "/data/a"})
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def test_a_pod_that_is_lost_under_a_wrong_configuration_is_replaced_from_the_last_good_one() -> None:
    world = running()
    world.plugin = lambda connector: ["file"]
    world.change(config={"file": ""})
    world.settle()
    world.vanish("orders-in-0-1")
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]
    assert world.status["state"] == "Running"
    assert world.condition("Stalled").startswith("True ConfigInvalid")


def test_fields_that_cannot_be_read_are_reported_without_asking_a_pod() -> None:
    world = World(spec={"config": {"connector.class": "X", "file": "/a"}, "tasksMax": 0})
    decision = world.settle()
    assert not world.pods
    assert "spec.config.connector.class: belongs to spec.class" in world.condition("ConfigValid")
    assert "spec.tasksMax" in world.condition("ConfigValid")
    assert decision.state == "Failed"


def test_nothing_is_tried_in_a_namespace_that_is_being_deleted() -> None:
    world = World()
    world.end_namespace()
    decision = world.settle()
    assert not decision.create
    assert world.condition("Ready").startswith("False NamespaceTerminating")


def test_a_spark_setting_that_would_break_exactly_once_is_refused_with_its_reason() -> None:
    world = World(spec={"spark": {"conf": {"spark.task.maxFailures": 9, "spark.driver.memory": "2g"}}})
    world.settle()
    assert not world.pods
    told = world.condition("ConfigValid")
    assert told.startswith(
        "False ConfigInvalid: spec.spark.conf.spark.task.maxFailures: cannot be set: Spark would repeat"
    )


def test_a_missing_secret_is_waited_for_and_named_with_all_else_that_is_wrong() -> None:
    world = World(spec=WITH_SECRET)
    world.settle()
    assert not world.pods
    missing = "Secret db is missing (password of spec.config refers to it)"
    assert world.condition("Ready") == f"False SecretMissing: {missing}; file: is wrong"
    assert world.condition("Stalled") == "False NotStalled: "  # apply order within one commit is not guaranteed
    world.secrets = FIRST
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def test_a_secret_that_goes_missing_is_reported_and_what_runs_continues() -> None:
    world = World(spec=WITH_SECRET, secrets=FIRST)
    world.settle()
    world.secrets = {}
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert world.status["state"] == "Running"
    assert world.condition("Ready").startswith("False SecretMissing")
    world.secrets = FIRST
    world.settle()
    assert world.lives == ["orders-in-0-1"]


def test_a_changed_secret_restarts_the_tasks() -> None:
    world = World(spec=WITH_SECRET, secrets=FIRST)
    world.settle()
    world.secrets = SECOND
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]


def test_a_changed_secret_is_ignored_where_that_is_asked() -> None:
    world = World(spec={**WITH_SECRET, "onSecretChange": "Ignore"}, secrets=FIRST)
    world.settle()
    world.secrets = SECOND
    world.settle()
    assert world.lives == ["orders-in-0-1"]


def test_the_younger_of_two_connectors_with_one_name_in_kafka_gives_way() -> None:
    world = running()
    world.rival = Key("shop", "older")
    world.settle()
    assert not world.pods
    assert world.condition("Stalled").startswith(
        "True NameConflict: the name shop.orders-in in Kafka belongs to Connector shop/older"
    )
    world.rival = None
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def test_an_unavailable_kafka_while_planning_is_reported_and_retried() -> None:
    world = World(
        plugin=lambda c: JobAnswer(id="", action=Action.PLAN, outcome=Outcome.UNAVAILABLE, message="no broker at b:1")
    )
    world.settle(seconds=30)
    assert world.condition("Ready") == "False Unavailable: no broker at b:1"
    assert (
        world.condition("ConfigValid") == "Unknown NotChecked: the configuration is not checked yet: no broker at b:1"
    )
    assert world.condition("Reconciling").startswith("True")
    assert world.status["operatorState"]["job"]["attempts"] >= 3
    world.plugin = good
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert "job" not in world.status


def test_no_more_short_pods_than_may_live_concurrently() -> None:
    world = World()
    world.slot = False
    decision = world.reconcile()
    assert not decision.create
    assert decision.queued
    assert "waiting for its turn" in world.condition("Ready")


def test_a_job_pod_on_a_node_that_is_unavailable_is_replaced_and_does_not_keep_the_connector_from_stopping() -> None:
    world = World()
    world.reconcile()
    (name,) = world.pods
    world.lose_node(name)
    world.delete_pod(name)
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    world.change(state="Stopped")
    world.settle()
    assert world.condition("Ready").startswith("True Stopped")
    assert list(world.pods) == [name]


def test_a_plugin_that_asks_for_no_task_leaves_a_running_connector_without_tasks() -> None:
    def none(connector: object) -> JobAnswer:
        answer = good(connector)  # type: ignore[arg-type]
        assert isinstance(answer, JobAnswer)
        assert answer.plan is not None
        return answer.model_copy(update={"plan": answer.plan.model_copy(update={"tasks": ()})})

    world = World(plugin=none)
    world.settle()
    assert world.condition("Ready") == "True Running: the connector's plugin requests no tasks"
    assert world.status["taskSummary"] == "0/0"


def test_records_and_pods_of_an_earlier_connector_of_the_same_name_are_out_of_the_way_first() -> None:
    world = World()
    report = Report(
        connector="shop.orders-in",
        connector_uid="earlier",
        pod_uid="u",
        task=0,
        epoch=PlanEpoch(generation=1, plan="p"),
        incarnation=9,
        state="RUNNING",
        acted=1,
        since=1,
    )
    world.reports = {0: report}
    world.add_foreign_pod("orders-in-0-9")
    assert not world.reconcile().create
    assert "orders-in-0-9" in world.condition("Ready")
    world.vanish("orders-in-0-9")
    assert world.reconcile().forget
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def test_a_restart_that_was_handled_is_not_repeated_however_many_others_follow() -> None:
    """The annotation stays where it is, in Git perhaps; or goes, which asks for nothing."""
    world = World(spec={"tasksMax": 2}, annotations={"penstock.dev/restart": "A"})
    world.settle()
    for n in range(15):
        world.annotations = {**world.annotations, "penstock.dev/restart-tasks": f"t{n} 0"}
        world.settle()
    world.annotations = {"penstock.dev/restart-tasks": "t14 0"}
    for n in range(15):
        world.annotations = {"penstock.dev/restart-tasks": f"u{n} 0"}
        world.settle()
    assert len(world.status["restartActions"]) == 10
    assert [name for name in world.lives if name.startswith("orders-in-1-")] == ["orders-in-1-1"]
    assert len(world.lives) == 1 + 31


def test_old_plans_are_removed_but_for_the_one_before() -> None:
    world = running()
    for letter in "bcdef":
        world.change(config={"file": f"/data/{letter}"})
        world.settle()
    assert len(world.plans) == 2
