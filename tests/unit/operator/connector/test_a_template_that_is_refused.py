"""A template that is wrong, or that the platform does not allow (any longer): what lives goes on, and no pod is made."""

from http import HTTPStatus
from typing import Any

import pytest

from penstock_operator.kubernetes.api_errors import Answer
from penstock_operator.kubernetes.kinds import POD

from ..fake_api_answers import failure
from ..fake_api_server import Request
from .world.world import World

HOST = {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]}
WORDS = "spec.template.volumes[host].hostPath: is not an allowed volume type"


class Platform(World):
    """A world whose platform has a level."""

    def __init__(self, spec: dict[str, Any], level: str = "Restricted") -> None:
        super().__init__(spec=spec, values={"podSecurity": {"level": level}})

    def raise_the_level(self) -> None:
        self.values = {"podSecurity": {"level": "Restricted"}}


def running(**spec: Any) -> Platform:
    world = Platform({"template": HOST, **spec}, "Unrestricted")
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    return world


def test_a_new_connector_with_a_template_that_is_refused_gets_no_pod_and_says_why() -> None:
    world = Platform({"template": HOST})
    world.settle()
    assert world.pods == {}
    assert world.condition("Ready").startswith("False ConfigInvalid")
    assert WORDS in world.condition("ConfigValid")
    assert world.condition("Stalled").startswith("True ConfigInvalid")


def test_all_that_is_wrong_is_reported_with_it() -> None:
    world = Platform({"template": HOST, "tasksMax": 0})
    world.settle()
    assert WORDS in world.condition("ConfigValid")
    assert "spec.tasksMax" in world.condition("ConfigValid")


def test_a_level_that_is_raised_ends_no_pod() -> None:
    world = running(tasksMax=2)
    lives = list(world.lives)
    world.raise_the_level()
    world.template = "none of it is in force"
    world.settle()
    assert world.lives == lives
    assert {p.name for p in world.pods.values() if p.leaving is None} == set(lives)
    assert WORDS in world.condition("ConfigValid")
    assert world.status["state"] == "Running"


def test_a_pod_that_is_lost_while_its_template_is_refused_comes_back_once_it_is_mended() -> None:
    world = running(tasksMax=2)
    world.raise_the_level()
    world.settle()
    world.vanish("orders-in-1-1")
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-1-1"]
    assert "task 1 cannot start until the template is corrected" in world.condition("Ready")
    world.change(template={})
    world.settle()
    assert sorted(world.lives[2:]) == ["orders-in-0-2", "orders-in-1-2"]  # the other one had the volume
    assert world.condition("Ready").startswith("True Running")


def test_tasks_are_paused_and_stopped_all_the_same() -> None:
    world = running()
    world.raise_the_level()
    world.change(state="Paused")
    world.settle()
    assert world.control is not None
    assert world.control.state == "Paused"
    world.change(state="Stopped")
    world.settle()
    assert world.pods == {}
    assert world.condition("Ready").startswith("True Stopped")


def test_a_restart_waits_for_a_template_that_pods_may_be_made_from() -> None:
    world = running()
    world.raise_the_level()
    world.annotations = {"penstock.dev/restart": "now"}
    world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert "restartActions" not in world.status
    world.change(template={})
    world.settle()
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]  # another template and the restart at once
    assert world.status["restartActions"][0]["result"] == "Succeeded"


def test_a_template_that_cannot_be_read_ends_no_pod_either() -> None:
    world = World()
    world.settle()
    world.change(template={"hostNetwork": True})
    world.template = "without it"
    decision = world.settle()
    assert world.lives == ["orders-in-0-1"]
    assert decision.create == ()
    assert "spec.template.hostNetwork: is not a field" in world.condition("ConfigValid")


TOO_MUCH = {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}
LESS = 'Invalid value: "2": must be less than or equal to cpu limit of 1'


def asks_for_too_much(request: Request) -> bool:
    resources = request.body["spec"]["containers"][0]["resources"]
    return bool(resources.get("requests", {}).get("cpu") == "2")


def invalid(request: Request) -> Answer | None:
    """The answer for a pod that asks for more than its limit."""
    if not asks_for_too_much(request):
        return None
    field = "spec.containers[0].resources.requests"
    message, cause = f'Pod "{request.name}" is invalid: {field}: {LESS}', {"field": field, "message": LESS}
    return failure(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, POD, request.name, causes=[cause])


def undecodable(request: Request) -> Answer | None:
    """The answer for a pod with a value of another type, which names no position."""
    if not asks_for_too_much(request):
        return None
    wrong = "json: cannot unmarshal string into Go struct field ResourceRequirements.spec.containers.resources.requests"
    message = f'Pod in version "v1" cannot be handled as a Pod: {wrong} of type v1.ResourceList'
    return failure(HTTPStatus.BAD_REQUEST, "BadRequest", message)


@pytest.mark.parametrize(
    ("answer", "told"),
    [(invalid, LESS), (undecodable, "cannot unmarshal string into v1.ResourceList")],
    ids=["Invalid", "BadRequest"],
)
def test_what_only_the_api_server_can_refuse_names_the_field_of_the_template(answer: Any, told: str) -> None:
    world = World(spec={"tasksMax": 1, "template": TOO_MUCH})
    world.validation = answer
    world.settle()
    assert world.condition("ConfigValid") == f"False ConfigInvalid: spec.template.resources.requests: {told}"
    assert world.condition("Stalled").startswith("True ConfigInvalid")
    assert world.lives == []
    world.change(template={})
    world.settle()
    assert world.condition("Ready").startswith("True Running")
    assert world.condition("ConfigValid").startswith("True")


def test_what_the_api_server_finds_wrong_outside_the_template_is_no_fault_of_the_configuration() -> None:
    world = World(spec={"tasksMax": 1, "template": {"nodeSelector": {"disk": "fast"}}})
    cause = {"field": "spec.priorityClassName", "message": "no"}
    world.validation = lambda request: failure(
        HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", "invalid", POD, request.name, causes=[cause]
    )
    world.settle(seconds=60)
    assert world.condition("ConfigValid").startswith("True")
    assert world.condition("Ready").startswith("False Invalid: task 0: invalid")


def test_a_job_pod_that_is_refused_for_the_resources_of_the_release_is_no_fault_of_the_template() -> None:
    world = World(spec={"tasksMax": 1, "template": {"resources": {"limits": {"memory": "2Gi"}}}})
    world.settle()
    cause = {"field": "spec.containers[0].resources.requests", "message": LESS}
    world.job_validation = lambda request: failure(
        HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", "invalid", POD, request.name, causes=[cause]
    )
    world.change(config={"file": "/data/b", "topic": "orders"})
    world.settle(seconds=60)
    assert "Invalid: invalid" in world.condition("Ready")
    assert "spec.template" not in world.condition("ConfigValid")
    world.vanish("orders-in-0-1")
    world.settle(seconds=60)
    assert world.lives == ["orders-in-0-1", "orders-in-0-2"]


def test_a_connector_whose_template_the_api_server_refuses_can_be_stopped_and_deleted() -> None:
    world = World(spec={"tasksMax": 2})
    world.settle()
    world.validation = invalid
    world.change(template=TOO_MUCH, state="Stopped")
    world.settle()
    assert world.condition("Ready").startswith("True Stopped")
    world.change(state="Running")
    world.settle()
    assert LESS in world.condition("Ready")
    world.delete()
    world.settle()
    assert world.pods == {}
