"""A task that fails, is lost, or cannot start: what follows, and what people are told."""

import pytest

from penstock_model.contracts.job import Action, JobAnswer, JobProblem, Outcome
from penstock_operator.connector.model.decision import CreateTask
from penstock_operator.connector.model.pod_status import TaskPod

from .world.world import World


def running(**spec: object) -> World:
    world = World(spec=spec)
    world.settle()
    return world


def task(world: World, number: int = 0) -> dict[str, object]:
    return dict(world.status["tasks"][number])


def test_a_failed_task_shows_its_error_and_trace_and_waits_with_back_off() -> None:
    world = running(tasksMax=2)
    world.end("orders-in-0-1", 1, message="no such file: /data/a", trace="Traceback ...")
    decision = world.reconcile()
    assert decision.requeue_after == 10
    assert not decision.create
    found = task(world)
    assert (found["state"], found["failures"], found["trace"]) == ("Failed", 1, "Traceback ...")
    assert found["message"] == "no such file: /data/a; failed; restart 1 of 10"
    assert world.status["state"] == "Degraded"
    assert world.condition("Ready") == "False TasksFailed: task 0: no such file: /data/a; failed; restart 1 of 10"
    assert world.condition("Reconciling").startswith("True TasksFailed")
    world.advance(9)
    assert not world.reconcile().create
    world.advance(1)
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-1-1", "orders-in-0-2"]
    assert task(world)["restarts"] == 1
    assert world.condition("Ready").startswith("True Running")


def test_failures_in_a_row_back_off_to_their_limit_and_then_need_a_person() -> None:
    world = running(restart={"maxRestarts": 3, "backoff": {"initial": "10s", "factor": 2, "max": "30s"}})
    waits = []
    for incarnation in range(1, 5):
        world.end(f"orders-in-0-{incarnation}", 1, message="bad")
        decision = world.reconcile()
        waits.append(decision.requeue_after)
        if decision.requeue_after is not None:
            world.advance(decision.requeue_after)
            world.settle(seconds=0)
    assert waits == [10, 20, 30, None]
    assert (
        world.condition("Stalled")
        == "True TasksFailed: task 0: bad; failed after 3 restarts (spec.restart.maxRestarts)"
    )
    assert world.status["state"] == "Failed"
    world.advance(86_400)
    assert not world.reconcile().create


def test_a_task_that_ran_long_enough_resets_its_count() -> None:
    world = running(restart={"maxRestarts": 1, "resetAfter": "30m"})
    for incarnation in (1, 2, 3):
        world.advance(1_800)
        world.end(f"orders-in-0-{incarnation}", 1, message="bad")
        world.settle()
    assert world.lives[-1] == "orders-in-0-4"
    assert task(world)["failures"] == 1


def test_no_restart_where_none_is_wanted() -> None:
    world = running(restart={"policy": "Never"})
    world.end("orders-in-0-1", 1, message="bad")
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert world.condition("Stalled").startswith("True TasksFailed: task 0: bad; ")
    assert "spec.restart.policy is Never" in world.condition("Stalled")


def test_a_task_that_had_failed_for_good_starts_again_after_a_stop_that_is_taken_back_while_its_pod_is_there() -> None:
    world = running(restart={"policy": "Never"})
    world.end("orders-in-0-1", 1, message="bad")
    world.settle()
    world.change(state="Stopped")
    world.reconcile()
    world.change(state="Running")
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]
    assert world.condition("Ready").startswith("True Running")


def test_marks_of_a_pod_that_somebody_changed_keep_its_connector_from_nothing() -> None:
    world = running(tasksMax=2)
    for pod, text in (("orders-in-0-1", "many"), ("orders-in-1-1", "9" * 30)):
        for mark in ("incarnation", "generation"):
            world.mark(pod, mark, text)
    world.change(state="Paused")
    world.settle()
    assert (world.lives, world.status["state"]) == (["orders-in-0-1", "orders-in-1-1"], "Paused")
    world.vanish("orders-in-0-1")
    world.settle()
    assert (world.lives[2:], world.status["state"]) == (["orders-in-0-2"], "Paused")


def test_a_pod_that_says_no_more_what_it_was_made_from_is_replaced() -> None:
    world = running()
    world.mark("orders-in-0-1", "pod-hash", "")
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]
    assert world.condition("Ready").startswith("True Running")


@pytest.mark.parametrize(
    ("code", "reason", "message", "shown"),
    [
        (
            None,
            "Evicted",
            "The node was low on resource: memory.",
            "Evicted: The node was low on resource: memory; lost",
        ),
        (137, "OOMKilled", "", "OOMKilled: the task used more memory than its limit"),
        (137, "Error", "", "the process was killed by signal 9"),
        (4, "Error", "Spark's JVM is gone", "Spark's JVM is gone"),
        (6, "Error", "The task did not answer its health check", "The task did not answer its health check; lost"),
        (137, "HealthCheckFailed", "", "the task did not answer its health check for minutes"),
    ],
)
def test_a_lost_pod_is_replaced_immediately_the_first_time_and_named_as_what_it_was(
    code: int | None, reason: str, message: str, shown: str
) -> None:
    world = running()
    world.end("orders-in-0-1", code, reason, message)
    decision = world.reconcile()
    assert [w.incarnation for w in decision.create if isinstance(w, CreateTask)] == [2]
    assert shown in str(task(world)["message"])
    assert (task(world)["losses"], task(world).get("failures", 0)) == (1, 0)
    assert any(e.reason == "TaskLost" and shown in e.message for e in world.events)


def test_a_deleted_pod_is_replaced_immediately() -> None:
    world = running()
    world.vanish("orders-in-0-1")
    assert [w.incarnation for w in world.reconcile().create if isinstance(w, CreateTask)] == [2]
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert task(world)["restarts"] == 1


@pytest.mark.parametrize("is_seen_going", [True, False])
def test_a_task_whose_node_is_drained_names_the_eviction(is_seen_going: bool) -> None:
    world = running()
    pod = world.task(0)
    world.evict(pod.name, "EvictionByEvictionAPI")
    if is_seen_going:
        assert not world.reconcile().create
        assert task(world)["reason"] == "EvictionByEvictionAPI"
        world.vanish(pod.name)
    else:
        world.end(pod.name, 0, "Completed")
    assert [w.incarnation for w in world.reconcile().create if isinstance(w, CreateTask)] == [2]
    cause = f"the eviction API removed pod {pod.name} from node node-1, as a drain of the node does"
    assert cause in str(task(world)["message"])
    assert [cause in e.message for e in world.events if e.reason == "TaskLost"] == [True]


def test_a_task_that_ends_unasked_waits_for_the_kubelets_reason() -> None:
    world = running()
    pod = world.task(0)
    world.end_silently(pod.name)
    decision = world.reconcile()
    assert (decision.requeue_after, decision.create) == (10.0, ())
    world.end(pod.name, None, "Evicted", 'Usage of EmptyDir volume "cache" exceeds the limit "10Mi". ')
    assert [w.incarnation for w in world.reconcile().create if isinstance(w, CreateTask)] == [2]
    assert 'Evicted: Usage of EmptyDir volume "cache" exceeds' in str(task(world)["message"])


def test_a_task_that_ends_unasked_is_replaced_though_its_kubelet_gives_no_reason() -> None:
    world = running()
    world.end_silently(world.task(0).name)
    world.reconcile()
    world.advance(10)
    assert [w.incarnation for w in world.reconcile().create if isinstance(w, CreateTask)] == [2]
    assert "exit code 0" in str(task(world)["message"])


def test_losses_in_a_row_back_off_and_are_counted_apart_from_failures() -> None:
    world = running()
    waits = []
    for _ in range(5):
        world.end(world.task(0).name, None, "Evicted")
        decision = world.reconcile()
        waits.append(decision.requeue_after)
        world.advance(decision.requeue_after or 0)
        world.settle(seconds=0)
    assert waits == [None, 1, 2, 4, 8]
    assert task(world)["losses"] == 5
    assert "failures" not in task(world)


def test_no_number_of_losses_fails_a_task() -> None:
    world = running()
    for _ in range(40):
        world.end(world.task(0).name, None, "Evicted")
        decision = world.reconcile()
        assert (task(world)["state"], world.status["state"]) == ("Pending", "Pending")
        assert world.condition("Stalled") == "False NotStalled: "
        world.advance(decision.requeue_after or 0)
        world.settle(seconds=0)
    assert decision.requeue_after == 300
    assert not [e for e in world.events if "Failed" in e.message]
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def test_a_lost_task_is_pending_with_its_cause_until_it_runs_again() -> None:
    world = running()
    for _ in range(2):
        world.vanish(world.task(0).name)
        decision = world.reconcile()
        cause = "was deleted; lost"
        assert (task(world)["state"], cause in str(task(world)["message"])) == ("Pending", True)
        assert cause in world.condition("Ready")
        world.advance(decision.requeue_after or 0)
        world.reconcile()
        world.reconcile()
        assert (task(world)["state"], cause in str(task(world)["message"])) == ("Pending", True)
        world.settle(seconds=0)
        assert (task(world)["state"], task(world).get("message", "")) == ("Running", "")


@pytest.mark.parametrize(("code", "reason"), [(6, "Error"), (137, "HealthCheckFailed")])
def test_a_task_that_fails_its_health_check_is_lost_and_pending_with_its_cause_and_never_failed(
    code: int, reason: str
) -> None:
    world = running(restart={"policy": "Never"})
    for losses in range(1, 20):
        world.end(world.task(0).name, code, reason, "The task did not answer its health check")
        decision = world.reconcile()
        found = task(world)
        assert (found["state"], found["losses"], found.get("failures", 0)) == ("Pending", losses, 0)
        assert "did not answer its health check" in str(found["message"])
        assert "did not answer its health check" in world.condition("Ready")
        assert losses == 1 or found["reason"] == "HealthCheckFailed"
        world.advance(decision.requeue_after or 0)
        world.settle(seconds=0)
    assert world.condition("Stalled") == "False NotStalled: "


def test_ten_minutes_of_running_begin_the_back_off_of_losses_again() -> None:
    world = running()
    for _ in range(4):
        world.end(world.task(0).name, None, "Evicted")
        world.advance(world.reconcile().requeue_after or 0)
        world.settle(seconds=0)
    world.advance(600)
    world.end(world.task(0).name, None, "Evicted")
    assert world.reconcile().create
    assert task(world)["losses"] == 1


def test_one_lost_task_of_two_degrades_the_connector_and_fails_nothing() -> None:
    world = running(tasksMax=2)
    for _ in range(2):
        world.end(world.task(0).name, 137, "OOMKilled")
        world.reconcile()
        world.settle(seconds=0)
    assert (task(world)["state"], world.status["state"]) == ("Pending", "Degraded")
    assert world.condition("Ready").startswith("False TasksLost: task 0: OOMKilled")


def test_a_pod_that_is_being_deleted_is_replaced_when_it_is_gone() -> None:
    world = running()
    pod = world.task(0)
    world.delete_pod(pod.name)
    assert not world.reconcile().create
    assert task(world)["state"] == "Restarting"
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]


def test_a_pod_on_a_node_that_is_unavailable_is_replaced_after_its_time() -> None:
    world = running()
    pod = world.task(0)
    world.lose_node(pod.name)
    world.delete_pod(pod.name)
    decision = world.reconcile()
    assert (decision.requeue_after, decision.create) == (60, ())
    world.advance(60)
    decision = world.reconcile()
    assert [w.incarnation for w in decision.create if isinstance(w, CreateTask)] == [2]
    assert "node away does not stop pod orders-in-0-1" in str(task(world)["message"])


def test_another_set_of_tasks_does_not_wait_for_ever_for_a_node_that_is_unavailable() -> None:
    world = running(tasksMax=2)
    pod = world.task(0)
    world.lose_node(pod.name)
    world.change(tasksMax=3)
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert world.status["taskSummary"] == "3/3"


def test_what_is_not_to_be_reached_is_tried_for_ever_and_reported() -> None:
    world = running(restart={"maxRestarts": 1})
    for _ in range(15):
        world.end(world.task(0).name, 5, message="Kafka at b:1 cannot be reached: connection refused")
        world.reconcile()
        assert (
            world.condition("Ready") == "False Unavailable: task 0: Kafka at b:1 cannot be reached: connection refused"
        )
        world.advance(60)
        world.settle(seconds=0)
    world.settle()
    assert world.condition("Ready").startswith("True Running")


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("ImagePullBackOff", "Back-off pulling image x"),
        ("Unschedulable", "0/1 nodes are available: 1 Insufficient memory."),
    ],
)
def test_a_pod_that_cannot_start_reports_why(reason: str, message: str) -> None:
    world = running()
    world.vanish("orders-in-0-1")
    world.reconcile()
    pod = world.task(0)
    world.hinder(pod.name, reason, message)
    world.reconcile()
    assert world.condition("Ready").startswith(f"False {reason}: task 0: {message.removesuffix('.')}; ")
    assert (task(world)["state"], task(world)["reason"]) == ("Pending", reason)


def test_a_pod_that_the_api_server_refuses_reports_why() -> None:
    world = running()
    world.vanish("orders-in-0-1")
    world.refuses = lambda name: True
    world.reconcile()
    found = world.reconcile()
    assert (found.create, found.requeue_after) == ((), 2.0)
    told = 'False AdmissionDenied: task 0: admission webhook "policy.example" denied the request: no'
    assert world.condition("Ready") == told
    world.now += 2
    assert world.reconcile().create  # it is tried again
    assert world.condition("Ready") == told


def test_a_refused_pod_is_tried_immediately_for_another_template_and_when_a_restart_is_asked_for() -> None:
    world = running()
    world.vanish("orders-in-0-1")
    world.refuses = lambda name: True
    world.reconcile()
    assert not world.reconcile().create
    world.template = "another"
    assert world.reconcile().create
    assert not world.reconcile().create
    world.annotations = {"penstock.dev/restart-tasks": "a 0"}
    assert world.reconcile().create


def test_a_refused_pod_has_its_pauses_while_template_and_configuration_change_together() -> None:
    world = running()
    world.unpullable = ("runtime:1",)  # so that no job pod answers
    world.refuses = lambda name: True
    world.vanish("orders-in-0-1")
    world.change(config={"file": "/data/b"}, template={"nodeSelector": {"disk": "fast"}})
    begun = world.now
    for _ in range(30):
        world.reconcile()
        world.tick()
    assert world.now == begun
    assert world.tries[1:] == ["orders-in-0-2"]
    world.now += 2
    world.reconcile()
    assert world.tries[1:] == ["orders-in-0-2"] * 2


@pytest.mark.parametrize("end", ["deleted", "stopped"])
def test_a_pod_that_has_ended_and_is_kept_by_somebody_elses_finalizer_is_waited_for_until_its_time_is_over(
    end: str,
) -> None:
    world = running(deletion={"offsets": "Reset"})
    world.hold("orders-in-0-1")
    world.lose_node("orders-in-0-1")
    world.delete_pod("orders-in-0-1")
    world.end("orders-in-0-1", 0, "Completed")
    if end == "deleted":
        world.delete()
        world.settle(seconds=300)
        assert not world.finalizer
        assert not any(e.reason == "OffsetsKept" for e in world.events)
    else:
        world.change(state="Stopped")
        world.settle(seconds=300)
        assert world.condition("Ready").startswith("True Stopped")


def test_stopped_is_reported_once_the_pods_that_have_ended_are_gone() -> None:
    world = running()
    world.change(state="Stopped")
    world.reconcile()
    world.end("orders-in-0-1", 0, "Completed")
    world.reconcile()
    assert world.condition("Ready").startswith("False Stopping")
    assert "orders-in-0-1" in world.condition("Ready")
    world.vanish("orders-in-0-1")
    world.reconcile()
    assert world.condition("Ready").startswith("True Stopped")


def test_an_offsets_reset_that_cannot_even_begin_is_no_reset() -> None:
    world = running(deletion={"offsets": "Reset"})
    problem = JobProblem(property="bootstrap.servers", message="${secret:kafka:servers} cannot be resolved")
    world.resetting = JobAnswer(id="", action=Action.RESET_OFFSETS, outcome=Outcome.INVALID, problems=(problem,))
    world.delete()
    world.settle(seconds=300)
    assert world.finalizer
    assert "cannot be resolved" in world.condition("Ready")
    world.settle(seconds=600)
    assert not world.finalizer
    kept = [e.message for e in world.events if e.reason == "OffsetsKept"]
    assert "${secret:kafka:servers} cannot be resolved" in kept[0]


def test_trouble_of_a_running_task_is_reported_and_passes() -> None:
    world = running()
    world.report(world.task(0), trouble="Kafka is away")
    world.reconcile()
    assert world.status["state"] == "Running"
    assert world.condition("Ready") == "False Hindered: task 0: Kafka is away"
    world.report(world.task(0))
    world.reconcile()
    assert world.condition("Ready").startswith("True Running")


def test_without_kafka_the_last_report_of_the_tasks_is_kept_and_is_called_unknown() -> None:
    world = running()
    world.topic.trouble = "connection refused"
    world.reconcile()
    world.advance(30)
    world.reconcile()
    assert world.status["state"] == "Running"
    assert all(world.condition(c).startswith("Unknown KafkaUnavailable") for c in ("Ready", "Reconciling", "Stalled"))


def test_a_failed_task_gets_another_chance_with_another_configuration() -> None:
    world = running(restart={"maxRestarts": 0})
    world.end("orders-in-0-1", 1, message="bad")
    world.settle()
    world.change(config={"file": "/data/b"})
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert "failures" not in task(world)


def test_the_last_ended_pod_is_kept_for_its_log_and_no_other() -> None:
    world = running()
    for _ in range(4):
        world.end(world.task(0).name, None, "Evicted")
        world.settle()
    assert sorted(p.name for p in world.pods.values() if isinstance(p, TaskPod)) == ["orders-in-0-4", "orders-in-0-5"]


def test_a_restart_is_carried_out_once_per_token() -> None:
    world = running(tasksMax=2)
    world.annotations = {"penstock.dev/restart": "monday"}
    world.settle()
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-1-1", "orders-in-0-2", "orders-in-1-2"]
    assert [(a["action"], a["token"], a["result"]) for a in world.status["restartActions"]] == [
        ("restart", "monday", "Succeeded")
    ]
    world.annotations = {"penstock.dev/restart": "tuesday"}
    world.settle()
    world.annotations = {"penstock.dev/restart": "monday"}  # Git is rolled back: nothing is done again
    world.settle()
    assert len(world.lives) == 6


def test_a_restart_also_plans_a_refused_configuration_again() -> None:
    world = World(plugin=lambda connector: ["file"])
    world.settle()
    world.plugin = World().plugin
    world.annotations = {"penstock.dev/restart": "1"}
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def test_named_tasks_are_restarted() -> None:
    world = running(tasksMax=3)
    world.annotations = {"penstock.dev/restart-tasks": "t1 0,2"}
    world.settle()
    assert world.lives[3:] == ["orders-in-0-2", "orders-in-2-2"]


def test_only_failed_tasks_are_restarted() -> None:
    world = running(tasksMax=2, restart={"maxRestarts": 0})
    world.end("orders-in-1-1", 1, message="bad")
    world.settle()
    world.annotations = {"penstock.dev/restart-failed": "t1"}
    world.settle()
    assert world.lives[2:] == ["orders-in-1-2"]


def test_a_task_that_does_not_exist_is_refused_with_what_there_is() -> None:
    world = running(tasksMax=2)
    world.annotations = {"penstock.dev/restart-tasks": "t1 0,7"}
    world.settle()
    action = world.status["restartActions"][0]
    assert (action["result"], action["message"]) == ("Refused", '7: no such task; write "<token> 0,2" (tasks are 0, 1)')
    assert len(world.lives) == 2


def test_a_restart_of_a_stopped_connector_does_nothing_and_says_so() -> None:
    world = World(spec={"state": "Stopped"}, annotations={"penstock.dev/restart": "1"})
    world.settle()
    assert world.status["restartActions"][0]["result"] == "Refused"
    world.change(state="Running")
    world.settle()
    assert world.lives == ["orders-in-0-1"]


def test_a_deleted_connector_without_reset_is_released_immediately() -> None:
    world = running()
    assert not world.finalizer
    world.delete()
    world.settle()
    assert not world.pods


def test_reset_on_deletion_holds_the_connector_until_its_offsets_are_reset() -> None:
    world = running(deletion={"offsets": "Reset"})
    assert world.finalizer
    world.delete()
    world.reconcile()
    assert world.finalizer
    world.settle()
    assert not world.finalizer
    assert not world.pods
    assert any(w.action == "ResetOffsets" for w in world.requests.values())


def test_keep_takes_the_finalizer_off_again() -> None:
    world = running(deletion={"offsets": "Reset"})
    world.change(deletion={"offsets": "Keep"})
    world.settle()
    assert not world.finalizer


def test_a_connector_is_let_go_when_its_offsets_cannot_be_reset_in_time() -> None:
    world = running(deletion={"offsets": "Reset"})
    world.slot = False
    world.delete()
    world.settle(seconds=599)
    assert world.finalizer
    world.advance(3_600)
    world.reconcile()
    assert not world.finalizer
    assert any(e.reason == "OffsetsKept" for e in world.events)


def test_an_operator_that_was_unavailable_for_long_tries_a_reset_before_it_releases_a_connector() -> None:
    world = running(deletion={"offsets": "Reset"})
    world.delete()
    world.advance(1_200)
    world.settle(seconds=300)
    assert not world.finalizer
    assert not any(e.reason == "OffsetsKept" for e in world.events)


def test_a_namespace_that_ends_is_not_held_up() -> None:
    world = running(deletion={"offsets": "Reset"})
    world.end_namespace()
    world.delete()
    world.settle(seconds=10)  # until a pod is refused, the operator does not know
    assert not world.finalizer


def starting(cpu: str) -> World:
    """A world whose task's process has started, and does not report yet."""
    world = World(spec={"tasksMax": 1, "template": {"resources": {"limits": {"cpu": cpu}}}})
    world.report_news = lambda pod, reports: False  # type: ignore[method-assign]
    world.settle(seconds=20)
    return world


def test_a_start_that_a_small_cpu_limit_makes_slow_is_named_as_such_until_it_is_over() -> None:
    world = starting("10m")
    world.advance(40)
    world.reconcile()
    assert world.condition("Ready").startswith(
        "False Starting: task 0: the task has been starting for more than 30 s because of its CPU limit of 10m; "
        "raise spec.template.resources.limits.cpu"
    )
    del world.report_news
    world.settle()
    assert world.condition("Ready").startswith("True Running")


def test_a_task_that_has_started_and_moved_no_record_yet_blames_no_limit() -> None:
    world = starting("10m")
    world.advance(40)
    world.reconcile()
    world.report(world.task(0), progress="none")
    world.reconcile()
    assert world.condition("Ready") == "False Starting: task 0: it has started; its first records are pending"


def test_a_slow_start_with_enough_cpu_blames_no_limit() -> None:
    world = starting("1")
    world.advance(60)
    world.reconcile()
    assert "CPU" not in world.condition("Ready")
