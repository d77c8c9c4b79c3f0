"""Executors of tasks: as many as a task wants within the bounds of its Connector, and a task never waits for one."""

import base64
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from penstock_kafka.records import Entry
from penstock_model.contracts import executor_pod
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.pod_layout import EXECUTOR_VARIABLE
from penstock_model.contracts.task_reports import control_key
from penstock_operator.connector.decide.decide import decide
from penstock_operator.connector.model.decision import Decision
from penstock_operator.connector.model.pod_status import ExecutorPod, Phase
from penstock_operator.connector.model.refused_pods import Refusal
from penstock_operator.connector.render.metrics import figures, undecided
from penstock_operator.kubernetes.api_errors import Answer
from penstock_operator.kubernetes.kinds import POD, SECRET
from penstock_operator.kubernetes.times import timestamp
from penstock_operator.names import EXECUTOR, ROLE_LABEL, label
from penstock_operator.reasons import Reason

from ..fake_api_answers import denied, over_quota
from ..fake_api_server import Request
from .world.plugins import good_with_settings
from .world.world import Killed, World

POD_NAME = "orders-in-0-1"
E0, E1, E2 = (f"{POD_NAME}-e{n}" for n in range(3))


def make(minimum: int = 0, maximum: int = 2, tasks: int = 1, **spec: Any) -> World:
    """A connector whose tasks run, and may have executors."""
    world = new({"min": minimum, "max": maximum}, tasksMax=tasks, **spec)
    world.settle()
    return world


def new(executors: dict[str, Any], *, secrets: dict[str, dict[str, str]] | None = None, **spec: Any) -> World:
    """A connector that nobody has looked at yet."""
    return World({"tasksMax": 1, "spark": {"executors": executors}, **spec}, plugin=good_with_settings, secrets=secrets)


def wants(world: World, number: int | None, task: int = 0, **more: Any) -> None:
    """A task reports that it wants so many executors, all of which that run are connected."""
    running = [e for e in world.executors.values() if e.task == task and e.phase is Phase.RUNNING]
    world.report(world.task(task), **{"executors_wanted": number, "executors": len(running), **more})


def grown(number: int = 2, **more: Any) -> World:
    """A task whose executors are all connected."""
    world = make(**more)
    wants(world, number)
    world.settle()
    wants(world, number)
    world.settle()
    return world


def of_status(world: World, task: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = world.status["tasks"][task].get("executors", {})
    return found


def test_a_connector_without_executors_has_pods_as_before_and_no_secret() -> None:
    world = World({"tasksMax": 1})
    world.settle()
    spec = world.manifest(POD_NAME)["spec"]
    assert [p["name"] for p in spec["containers"][0]["ports"]] == ["metrics"]
    assert "PENSTOCK_POD_IP" not in {e["name"] for e in spec["containers"][0]["env"]}
    assert world.spark_secrets == {}
    assert world.condition("ExecutorsReady") == "absent"


def test_a_task_and_its_executors_share_a_secret_that_belongs_to_the_tasks_pod() -> None:
    world = make()
    ((name, secret),) = world.spark_secrets.items()
    value = base64.b64decode(secret["data"]["secret"]).decode()
    assert len(bytes.fromhex(value)) == 32
    assert secret["immutable"] is True
    assert [o["uid"] for o in secret["metadata"]["ownerReferences"]] == [world.task(0).uid]
    volumes = world.manifest(POD_NAME)["spec"]["volumes"]
    assert [v["secret"]["secretName"] for v in volumes if v["name"] == "penstock-spark"] == [name]
    ports = world.manifest(POD_NAME)["spec"]["containers"][0]["ports"]
    assert [p["containerPort"] for p in ports] == [9404, 7077, 7078, 7079]


def test_executors_come_when_a_task_wants_them_and_go_when_it_does_not() -> None:
    world = make(maximum=2)
    wants(world, 0)
    world.settle()
    assert world.executors == {}
    assert world.condition("ExecutorsReady") == "absent"
    wants(world, 2)
    for _ in range(2):
        world.reconcile()
        world.advance(2)
    assert sorted(world.executors) == [E0, E1]
    assert world.condition("ExecutorsReady").startswith("False Starting: task 0: 0 of 2 executors are ready: ")
    assert world.condition("Ready").startswith("True Running")
    world.settle()
    wants(world, 2)
    world.settle()
    assert world.condition("ExecutorsReady") == "True Connected: 2 of 2 executors are ready"
    assert of_status(world) == {"wanted": 2, "ready": 2}
    wants(world, 0)
    world.settle()
    assert world.executors == {}
    assert world.condition("ExecutorsReady") == "absent"
    assert of_status(world) == {}


@pytest.mark.parametrize(("wish", "count"), [(0, 0), (1, 1), (2, 2), (9, 3), (None, 0)])
def test_the_connector_bounds_what_a_task_wants(wish: int | None, count: int) -> None:
    world = make(minimum=1, maximum=3)
    wants(world, wish)
    world.settle()
    assert len(world.executors) == count


def test_the_executor_with_the_highest_number_goes_first() -> None:
    world = grown(3, maximum=3)
    wants(world, 1)
    world.settle()
    assert sorted(world.executors) == [E0]


def test_an_executor_knows_its_master_and_has_the_image_of_the_task_but_neither_its_secrets_nor_its_resources() -> None:
    template = {"nodeSelector": {"disk": "fast"}, "labels": {"team": "a"}, "resources": {"limits": {"memory": "9Gi"}}}
    config = {"file": "/data/a", "topic": "orders", "password": "${secret:db:password}"}
    executors = {"max": 1, "resources": {"requests": {"cpu": "1500m", "memory": "3Gi"}, "limits": {"memory": "3Gi"}}}
    world = new(executors, template=template, config=config, secrets={"db": {"password": "x"}})
    world.settle()
    wants(world, 1)
    world.settle()
    pod = world.manifest(E0)
    (container,) = pod["spec"]["containers"]
    env = {e["name"]: e for e in container["env"]}
    assert executor_pod.ExecutorPod.from_json(env[EXECUTOR_VARIABLE]["value"]).master == "spark://10.1.0.7:7077"
    assert executor_pod.ExecutorPod.from_json(env[EXECUTOR_VARIABLE]["value"]).cores == 2
    assert env["PENSTOCK_POD_IP"]["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"
    assert container["command"] == ["python3", "-m", "penstock_runtime.executor"]
    assert container["image"] == world.manifest(POD_NAME)["spec"]["containers"][0]["image"]
    assert container["resources"] == {
        "requests": {"cpu": "1500m", "memory": "3Gi"},
        "limits": {"memory": "3Gi"},
    }
    assert [v["secret"]["secretName"] for v in pod["spec"]["volumes"] if "secret" in v] == [world.task(0).spark_secret]
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["spec"]["restartPolicy"] == "Never"
    assert pod["spec"]["nodeSelector"] == {"disk": "fast"}
    assert pod["metadata"]["labels"]["team"] == "a"
    assert [o["uid"] for o in pod["metadata"]["ownerReferences"]] == [world.task(0).uid]


def test_executors_are_neither_replicas_of_the_connector_nor_pods_of_its_tasks() -> None:
    world = grown(2)
    assert world.status["replicas"] == 1
    assert "role=task" in world.status["labelSelector"]
    assert {label(world.manifest(name), ROLE_LABEL) for name in world.executors} == {EXECUTOR}
    assert [t["pod"] for t in world.status["tasks"]] == [POD_NAME]


def test_the_report_of_another_pod_changes_no_executors() -> None:
    world = grown(2)
    stale = world.reports[0].model_copy(update={"executors_wanted": 0, "pod_uid": "another"})
    world.reports = {0: stale}
    world.reconcile()
    assert sorted(world.executors) == [E0, E1]


def test_a_paused_task_has_the_executors_that_it_wants() -> None:
    world = grown(2)
    world.change(state="Paused")
    world.settle()
    wants(world, 1)
    world.settle()
    assert sorted(world.executors) == [E0]


def test_an_executor_that_was_deleted_is_replaced_at_once_under_another_name() -> None:
    world = grown(2)
    world.advance(2)
    world.delete_pod(E0)
    world.reconcile()
    assert sorted(world.executors) == [E0, E1, E2]
    world.settle()
    assert sorted(world.executors) == [E1, E2]


def test_an_executor_on_a_lost_node_is_replaced_and_nothing_waits_for_it() -> None:
    world = grown(2)
    world.lose_node(E1)
    world.delete_pod(E1)
    world.settle()
    assert sorted(world.executors) == [E0, E1, E2]
    assert world.condition("Ready").startswith("True Running")


def only(world: World) -> ExecutorPod:
    """The one executor that is not being deleted."""
    (found,) = [e for e in world.executors.values() if e.leaving is None]
    return found


def test_an_executor_that_ends_is_replaced_at_first_immediately_and_then_after_pauses_that_grow() -> None:
    world = grown(1, maximum=1)
    pauses = []
    for _ in range(5):
        world.end(only(world).name, 137, "OOMKilled")
        begun = world.now
        while only(world).ended is not None:
            again = world.reconcile().requeue_after
            if again and only(world).ended is not None:
                world.now += again
        pauses.append(world.now - begun)
        world.start(only(world).name)
    assert pauses == [0, 1, 2, 4, 8]
    assert only(world).quick_ends == 5


def test_each_of_many_executors_that_end_at_once_keeps_its_pause() -> None:
    world = grown(30, maximum=30)
    for name in world.executors:
        world.end(name, 137, "OOMKilled")
    world.settle(seconds=1)
    assert [e.quick_ends for e in world.executors.values()] == [1] * 30


def test_a_pod_that_ended_and_is_not_gone_yet_does_not_delay_its_successor() -> None:
    world = grown(1, maximum=1)
    world.end(E0, 1)
    world.hold(E0)
    world.reconcile()
    assert sorted(world.executors) == [E0, E1]
    assert only(world).quick_ends == 1


def test_an_executor_that_ran_for_long_is_replaced_immediately() -> None:
    world = grown(1, maximum=1)
    for _ in range(2):
        world.advance(3_600)
        world.end(only(world).name, 1)
        world.reconcile()
        assert only(world).ended is None
        world.settle()
    assert only(world).quick_ends == 1


def test_the_status_names_why_an_executor_died_until_its_successor_runs() -> None:
    world = grown(1, maximum=1)
    world.end(E0, 137, "OOMKilled")
    wants(world, 1, executors=0)
    world.reconcile()
    world.reconcile()
    message = world.condition("ExecutorsReady")
    assert message.startswith(
        f"False OOMKilled: task 0: 0 of 1 executors are ready: pod {E1} is starting, and replaces one that ended"
    )
    assert "spec.spark.executors.resources.limits.memory" in world.condition("ExecutorsReady")
    assert world.condition("Ready").startswith("True Running")
    world.settle()
    wants(world, 1)
    world.settle()
    assert world.condition("ExecutorsReady").startswith("True")


@pytest.mark.parametrize(
    ("reason", "message"),
    [("Unschedulable", "0/3 nodes are available"), ("ImagePullBackOff", "back-off pulling image")],
)
def test_the_status_names_why_an_executor_does_not_start(reason: str, message: str) -> None:
    world = make(maximum=1)
    wants(world, 1)
    world.reconcile()
    world.hinder(E0, reason, message)
    world.reconcile()
    assert world.condition("ExecutorsReady").startswith(f"False {reason}: task 0: 0 of 1 executors are ready: pod {E0}")
    assert message in of_status(world)["message"]
    assert world.condition("Ready").startswith("True Running")
    assert (reason, "Executors") in {(e.reason, e.action) for e in world.events}


def test_a_process_of_an_executor_that_the_kernel_killed_is_named_although_the_container_ended_in_order() -> None:
    world = grown(1, maximum=1)
    world.end(E0, ExitCode.LOST, "Error", "the kernel killed a process of the executor", reported="OOMKilled")
    wants(world, 1, executors=0)
    world.reconcile()
    world.reconcile()
    assert world.condition("ExecutorsReady").startswith("False OOMKilled: task 0: 0 of 1 executors are ready: ")
    assert only(world).quick_ends == 1


def test_the_status_says_what_to_do_when_the_secret_of_running_tasks_was_deleted() -> None:
    world = make(maximum=1)
    wants(world, 1)
    world.reconcile()
    secret = world.task(0).spark_secret
    world.hinder(E0, "ContainerCreating", "")
    world.advance(10)
    note = f'MountVolume.SetUp failed for volume "penstock-spark" : secret "{secret}" not found'
    regarding = {"kind": "Pod", "uid": world.manifest(E0)["metadata"]["uid"]}
    own = {"type": "Warning", "regarding": regarding, "deprecatedLastTimestamp": timestamp(world.now)}
    metadata = {"name": "first", "namespace": "shop"}
    kind = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": metadata}
    world.server.add({**kind, **own, "reason": "FailedMount", "note": note})
    world.reconcile()
    message = world.condition("ExecutorsReady")
    assert message.startswith(f"False PodNotStarting: task 0: 0 of 1 executors are ready: pod {E0} does not start: ")
    assert message.endswith("annotate `restart-tasks` to start the task with a new one")


def shared(world: World, *, gives: bool) -> Decision:
    """The decision while the executors of the namespace make room for the pod of another Connector."""
    facts = world.facts()
    pods = replace(facts.pods, without_room="another-0-1", gives_room=gives)
    return decide(replace(facts, pods=pods), world.pod_hash)


def test_executors_make_room_in_a_quota_for_the_pod_of_another_connector() -> None:
    world = grown(2)
    decision = shared(world, gives=True)
    assert [e.name for e in decision.executors.delete] == [E0, E1]
    assert decision.executors.state is not None
    assert decision.executors.state.reason == "QuotaExceeded"
    assert decision.executors.state.message.endswith("executors make room in a ResourceQuota for pod another-0-1")
    assert decision.executors.requeue_after == 10


def test_executors_make_room_for_their_own_pods_while_others_make_it_for_another_connector() -> None:
    world = grown(2)
    refused = Refusal("QuotaExceeded", "exceeded quota", again_at=world.now + 2)
    facts = world.facts()
    pods = replace(facts.pods, refusals={"sink-1-1": refused}, without_room="another-0-1", gives_room=False)
    decision = decide(replace(facts, pods=pods), world.pod_hash)
    assert [e.name for e in decision.executors.delete] == [E0, E1]
    assert decision.executors.state is not None
    assert decision.executors.state.message.endswith("for pod sink-1-1")


def test_only_one_connector_makes_room_at_a_time_and_the_others_keep_what_they_have() -> None:
    world = grown(2, maximum=4)
    wants(world, 4)
    decision = shared(world, gives=False)
    assert not decision.executors.has_actions
    assert decision.executors.requeue_after == 10


def test_executors_are_created_in_steps_which_double_so_that_others_get_some_of_a_quota() -> None:
    world = make(minimum=2, maximum=20)
    wants(world, 20)
    counts = []
    while len(world.executors) < 20:
        again = world.reconcile().requeue_after
        counts.append(len(world.executors))
        world.reconcile()  # such as for the event of a new pod
        assert len(world.executors) == counts[-1]
        world.advance(again or 0)
    assert counts == [2, 4, 8, 16, 20]


def refuse(world: World, answer: Answer, *names: str) -> None:
    """Let the API server refuse these objects."""
    world.executor_validation = lambda request: answer if request.name in names else None


def test_a_quota_that_has_room_for_one_executor_hinders_nothing_and_is_named() -> None:
    world = make(maximum=2, tasks=2)
    refuse(world, over_quota(POD, E1), E1)
    for _ in range(2):
        for task in range(2):
            wants(world, 2, task)
        world.settle(seconds=3)
    assert sorted(e.name for e in world.executors.values()) == [E0, "orders-in-1-1-e0", "orders-in-1-1-e1"]
    message = world.condition("ExecutorsReady")
    assert message.startswith(f"False QuotaExceeded: task 0: 1 of 2 executors are ready: pod {E1} is refused: ")
    assert "exceeded quota" in message
    assert of_status(world, 1) == {"wanted": 2, "ready": 2}
    assert world.condition("Ready").startswith("True Running")
    world.annotations = {"penstock.dev/restart-tasks": "a 1"}
    world.settle(seconds=1)
    assert world.task(1).incarnation == 2
    world.executor_validation = lambda request: None
    world.settle()
    assert sorted(e.name for e in world.executors.values() if e.task == 0) == [E0, E1]


def test_a_refused_executor_is_tried_ever_more_seldom_and_costs_one_request_each_time() -> None:
    world = make(maximum=100)
    tries = []

    def refuses(request: Request) -> Answer | None:
        tries.append(request.name)
        return denied("admission webhook denied the request: no")

    world.executor_validation = refuses
    wants(world, 100)
    world.settle(seconds=60)
    assert tries == [E0] * 5  # after 2, 4, 8 and 16 s
    assert world.condition("ExecutorsReady").startswith("False AdmissionDenied: task 0: 0 of 100 executors are ready")


def test_many_executors_are_created_in_several_runs() -> None:
    world = make(maximum=50)
    wants(world, 50)
    assert len(world.reconcile().executors.create) <= 20
    world.settle()
    assert len(world.executors) == 50


def test_executors_make_room_in_a_quota_for_the_pods_of_tasks_and_jobs() -> None:
    world = grown(2)
    full = over_quota(POD, "x")
    world.job_validation = lambda request: full if len(world.executors) > 0 else None
    world.change(config={"file": "/data/b", "topic": "orders"})
    world.settle()
    assert world.plans[-1].tasks[0].config["file"] == "/data/b"
    assert world.condition("Ready").startswith("True Running")
    assert world.executors == {}


def test_executors_make_room_for_the_pod_of_a_task_that_finds_no_node() -> None:
    world = grown(2, tasks=2)
    world.end("orders-in-1-1", 137)
    while world.task(1).incarnation == 1:
        world.reconcile()
    world.hinder("orders-in-1-2", "Unschedulable", "0/3 nodes are available")
    world.reconcile()
    assert sorted(world.executors) == [E0, E1]
    again = world.reconcile().requeue_after
    assert again is not None
    assert again <= 30
    world.settle(seconds=40)
    assert world.executors == {}
    text = "False Unschedulable: task 0: 0 of 2 executors are ready: executors make room on the nodes for pod orders-in-1-2"
    assert world.condition("ExecutorsReady") == text
    world.start("orders-in-1-2")
    world.settle()
    assert sorted(world.executors) == [E0, E1]


def test_the_pod_of_a_task_that_waits_for_its_refused_secret_says_so() -> None:
    world = new({"max": 1})
    world.executor_validation = lambda r: denied("no Secret here") if r.kind is SECRET else None
    world.settle(seconds=1)
    assert "for its executors: no Secret here" in world.condition("Ready")
    world.executor_validation = lambda r: None
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert len(world.spark_secrets) == 1


def test_secret_is_created_later_if_the_operator_was_killed_before() -> None:
    world = new({"max": 1})
    world.kill_before = SECRET
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert len(world.spark_secrets) == 1


def test_a_pod_does_not_wait_for_kafka_to_get_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    world = new({"max": 1})
    world.kill_before = SECRET
    with suppress(Killed):
        while True:
            world.reconcile()
            world.tick()
    write, found = world.topic.write, list[int]()

    def watched(entries: Sequence[Entry], timeout: float = 5.0) -> None:
        if control_key("shop.orders-in") in {key for key, _ in entries}:
            found.append(len(world.spark_secrets))
        write(entries, timeout)

    monkeypatch.setattr(world.topic, "write", watched)
    world.change(state="Paused")
    world.reconcile()
    assert found == [1]


@pytest.mark.parametrize("kill", range(12))
def test_the_operator_killed_between_any_two_writes_comes_to_the_same_executors(kill: int) -> None:
    world = make(maximum=2)
    world.kill_after = world.writes + kill
    for number in (2, 2, 1):
        wants(world, number)
        world.settle()
    world.end(POD_NAME, 137)
    world.settle()
    wants(world, 2)
    world.settle()
    assert sorted(world.executors) == ["orders-in-0-2-e0", "orders-in-0-2-e1"]
    owners = {s["metadata"]["ownerReferences"][0]["name"] for s in world.spark_secrets.values()}
    assert owners == world.pods.keys() - world.executors.keys()


def test_metrics_count_executors_that_are_wanted_and_ready_also_while_nothing_can_be_decided() -> None:
    world = grown(2)
    wants(world, 2, executors=1)
    world.reconcile()
    assert figures(world.facts(), world.decide()).executors == (2, 1)
    assert undecided(world.document, Reason.API_SERVER_UNAVAILABLE).executors == (2, 1)
    without = World()
    without.settle()
    assert figures(without.facts(), without.decide()).executors is None


def test_a_restarted_operator_writes_nothing_about_executors_that_are_there() -> None:
    world = grown(2)
    before = world.writes
    world.start_operator()
    world.settle()
    assert world.writes == before


def test_executors_and_secret_go_with_a_pod_that_ended_and_the_next_one_gets_others() -> None:
    world = grown(2)
    (secret,) = world.spark_secrets
    world.end(POD_NAME, 137)
    world.settle()
    assert POD_NAME in world.pods  # for its log
    assert world.executors == {}
    assert len(world.spark_secrets.keys() - {secret}) == 1
    wants(world, 2)
    world.settle()
    assert sorted(world.executors) == ["orders-in-0-2-e0", "orders-in-0-2-e1"]


@pytest.mark.parametrize("change", [{"state": "Stopped"}, {"spark": {}}, {"tasksMax": 2}])
def test_nothing_is_left_of_executors_whose_task_ends_for_a_change(change: dict[str, Any]) -> None:
    world = grown(2)
    world.change(**change)
    world.settle()
    assert world.executors == {}
    assert E0 not in "".join(world.spark_secrets)
    assert world.condition("ExecutorsReady") == "absent"


def test_nothing_is_left_of_a_connector_that_is_deleted() -> None:
    world = grown(2)
    world.delete()
    world.settle()
    while world.tick():
        pass
    assert world.executors == {}
    assert world.spark_secrets == {}


def test_executors_of_a_pod_that_does_not_exist_are_deleted() -> None:
    world = grown(1)
    world.edit_pod(E0, lambda pod: pod["metadata"]["ownerReferences"][0].update(uid="another"))
    assert [e.name for e in world.decide().executors.delete] == [E0]


def test_a_change_of_bounds_or_resources_replaces_the_tasks() -> None:
    world = grown(1)
    world.change(spark={"executors": {"min": 0, "max": 3}})
    world.settle()
    assert world.task(0).incarnation == 2
    assert world.executors == {}


def test_no_executor_is_created_from_a_template_that_is_refused() -> None:
    world = grown(1, template={"nodeSelector": {"disk": "fast"}})
    world.change(template={"hostNetwork": True})
    world.settle()
    wants(world, 2)
    world.settle()
    assert sorted(world.executors) == [E0]
    wants(world, 0)
    world.settle()
    assert world.executors == {}


def test_a_connector_that_cannot_use_executors_says_so() -> None:
    world = make()
    wants(world, None, executors=None, executors_trouble="FileStreamSource reads on one machine only")
    world.settle()
    message = "False Unused: task 0: FileStreamSource reads on one machine only"
    assert world.condition("ExecutorsReady") == message
    assert world.condition("Ready").startswith("True Running")


def test_a_task_says_why_it_cannot_use_executors_that_run() -> None:
    world = grown(2)
    wants(world, 2, executors=0, executors_trouble="their Spark is another one")
    world.settle()
    message = "False Hindered: task 0: 0 of 2 executors are ready: their Spark is another one"
    assert world.condition("ExecutorsReady") == message


def test_a_task_says_why_it_does_not_use_executors_that_are_all_connected() -> None:
    world = grown(2)
    wants(world, 2, executors_trouble="Batches fail on executors")
    world.settle()
    message = "False Hindered: task 0: 2 of 2 executors are ready: Batches fail on executors"
    assert world.condition("ExecutorsReady") == message


def test_an_executor_that_still_starts_is_the_reason_before_the_trouble_of_a_task_without_executors() -> None:
    world = make(maximum=1)
    wants(world, 1)
    world.reconcile()
    wants(world, 1, executors_trouble="no executor has been connected for 60 s")
    world.reconcile()
    assert world.condition("ExecutorsReady").startswith(
        f"False Starting: task 0: 0 of 1 executors are ready: pod {E0} has been starting since "
    )


def test_executors_that_wait_for_a_backlog_are_ready_although_there_is_no_session_to_connect_to() -> None:
    world = make(minimum=1)
    wants(world, 1)
    world.settle()
    wants(world, 1, executors=0)
    world.settle()
    assert world.condition("ExecutorsReady") == "True Connected: 1 of 1 executors are ready"


def test_executors_for_a_backlog_are_ready_when_they_are_connected() -> None:
    world = make()
    wants(world, 1)
    world.settle()
    wants(world, 1, executors=0)
    world.settle()
    assert world.condition("ExecutorsReady") == (
        "False Starting: task 0: 0 of 1 executors are ready: executors are starting, or are not connected to the task yet"
    )


def test_no_secret_is_deleted_but_the_one_that_the_operator_made() -> None:
    world = new({"max": 1}, secrets={"passwords": {"db": "x"}})
    world.settle()
    before = world.server.get(SECRET, "shop", "passwords")
    assert before is not None

    def mount(pod: dict[str, Any]) -> None:
        (volume,) = (v for v in pod["spec"]["volumes"] if v["name"] == "penstock-spark")
        volume["secret"]["secretName"] = "passwords"

    world.edit_pod(POD_NAME, mount)
    world.end(POD_NAME, 137)
    world.settle()
    assert world.server.get(SECRET, "shop", "passwords") == before


def test_executors_of_an_earlier_connector_keep_no_later_one_waiting() -> None:
    world = World({"tasksMax": 1})
    labels = {ROLE_LABEL: EXECUTOR, "penstock.dev/connector": "orders-in", "penstock.dev/connector-uid": "earlier"}
    labels |= {"app.kubernetes.io/managed-by": "penstock", "penstock.dev/operator": "penstock-system.penstock"}
    metadata = {"name": E0, "namespace": "shop", "labels": labels, "ownerReferences": [{"kind": "Pod", "uid": "shop"}]}
    world.server.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other", "uid": "shop"}})
    world.server.add({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": []}})
    world.settle()
    assert world.condition("Ready").startswith("True Running")
