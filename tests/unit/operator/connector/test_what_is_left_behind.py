"""What the operator leaves in Kubernetes and in Kafka, besides pods and the status."""

from penstock_operator import names
from penstock_operator.kubernetes.kinds import CONFIG_MAP, POD

from ..fake_api_server import Request
from .world.cluster import KEY, UID
from .world.world import World

NAME = "shop.orders-in"


def test_the_request_of_a_job_pod_goes_with_the_pod() -> None:
    world = World()
    world.settle()
    assert len(world.requests) == 1
    maps = world.server.list(CONFIG_MAP, KEY.namespace)
    assert [names.label(m, names.ROLE_LABEL) for m in maps] == ["plan"]


def test_a_connect_name_is_claimed_when_its_tasks_start_and_free_when_the_connector_is_gone() -> None:
    world = World()
    world.settle()
    claim = world.topic.claim(NAME)
    assert claim is not None
    assert (claim.connector_uid, claim.namespace, claim.name) == (UID, KEY.namespace, KEY.name)
    world.delete()
    world.settle()
    assert world.pods == {}
    assert world.topic.claim(NAME) is None
    assert world.reports == {}


def test_a_pod_is_deleted_by_its_uid_so_that_no_other_one_of_its_name_is() -> None:
    world = World()
    uids: dict[str, object] = {}

    def keep(request: Request) -> None:
        if request.method == "DELETE" and request.kind is POD:
            uids[request.name] = (request.body.get("preconditions") or {}).get("uid")

    world.server.before_write = keep
    world.settle()
    uid = world.task(0).uid
    world.change(state="Stopped")
    world.settle()
    assert uids.pop("orders-in-0-1") == uid
    assert None not in uids.values()
