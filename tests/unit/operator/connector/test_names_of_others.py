"""Who owns a name in Kafka; and that a Connector which does not own its name does nothing to it."""

from typing import Any

import pytest

from penstock_model.contracts.task_reports import Claim
from penstock_operator.key import Key
from penstock_operator.name_ownership import (
    Age,
    claimant,
    conflict,
    is_allowed,
    is_claim_of,
    older,
    reserved,
)
from penstock_operator.settings import Release

from .world.world import World

A, B, C = Key("shop", "a"), Key("shop", "b"), Key("stock", "c")
OWNER = Key("stock", "orders")
STATES = ["Running", "Paused", "Stopped"]


def claim(created: str, uid: str, **more: Any) -> Claim:
    release = {"operator": "system/other", "cluster": "one", "installation": "i", **more}
    return Claim(connector_uid=uid, namespace="far", name="orders", created=created, **release)


def refused(**more: Any) -> World:
    spec = {"connectName": "moved", "deletion": {"offsets": "Reset"}, **more.pop("spec", {})}
    world = World(spec=spec, **more)
    world.rival = OWNER
    return world


def has_reset(world: World) -> bool:
    return any(w.action == "ResetOffsets" for w in world.requests.values())


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("finalizer", [False, True], ids=["without-finalizer", "with-one-of-an-older-release"])
def test_a_connector_that_does_not_own_its_name_has_no_finalizer_and_no_pod(state: str, finalizer: bool) -> None:
    world = refused(spec={"state": state}, finalizer=finalizer)
    world.settle()
    assert not world.finalizer
    assert not world.requests
    assert world.condition("Stalled").startswith("True NameConflict: the name moved in Kafka belongs to")
    world.delete()
    world.settle()
    assert not world.requests


@pytest.mark.parametrize("state", STATES)
def test_it_is_released_immediately_when_it_is_deleted_in_the_instant_in_which_it_is_refused(state: str) -> None:
    world = refused(spec={"state": state}, finalizer=True)
    world.delete()
    world.reconcile()
    assert not world.finalizer
    assert not world.requests


def test_one_that_lost_its_name_later_resets_nothing() -> None:
    world = World(spec={"connectName": "moved", "deletion": {"offsets": "Reset"}})
    world.settle()
    assert world.finalizer
    world.rival = OWNER
    world.delete()
    world.settle()
    assert not world.finalizer
    assert not world.pods
    assert not has_reset(world)


@pytest.mark.parametrize("kill_after", range(6))
def test_the_owners_end_does_not_make_a_refused_one_reset_what_the_owner_left(kill_after: int) -> None:
    """The operator may be killed between any two writes, the owner be gone at any of them."""
    world = refused(finalizer=True)
    world.kill_after = kill_after
    world.delete()
    for gone in (False, True):
        world.rival = None if gone else OWNER
        world.settle()
    assert not world.finalizer
    assert not has_reset(world)


def test_one_that_was_refused_and_owns_the_name_now_resets_it() -> None:
    world = refused()
    world.settle()
    world.rival = None
    world.settle()
    assert world.finalizer
    world.delete()
    world.settle()
    assert has_reset(world)


@pytest.mark.parametrize(
    ("spec", "claimed", "resets"),
    [
        pytest.param({"connectName": "moved"}, False, False, id="a-name-of-kafka-connect-under-which-it-never-ran"),
        pytest.param({"connectName": "moved"}, True, True, id="its-status-was-lost-and-its-claim-stands"),
        pytest.param({}, False, True, id="its-own-name"),
    ],
)
def test_what_is_stored_under_a_name_is_reset_by_one_that_ran_under_it(
    spec: dict[str, Any], claimed: bool, resets: bool
) -> None:
    world = World(spec={**spec, "deletion": {"offsets": "Reset"}}, finalizer=True)
    if claimed:
        world.claim()
    world.delete()
    world.settle()
    assert not world.finalizer
    assert has_reset(world) is resets


def test_reset_that_becomes_keep_during_deletion_keeps_and_lets_go() -> None:
    world = World(spec={"deletion": {"offsets": "Reset"}})
    world.settle()
    world.slot = False
    world.delete()
    world.settle(seconds=10)
    assert world.finalizer
    world.change(deletion={"offsets": "Keep"})
    world.settle(seconds=10)
    assert not world.finalizer
    assert not has_reset(world)
    assert {e.message for e in world.events if e.reason == "OffsetsKept"} == {
        "its offsets are kept, as spec.deletion.offsets now requests"
    }


@pytest.mark.parametrize(
    ("connect_name", "allowed", "is_so"),
    [
        pytest.param("shop.a", (), True, id="of-its-own-namespace"),
        pytest.param("shop.other", (), True, id="any-of-its-own-namespace"),
        pytest.param("Orders_In", (), True, id="no-dot"),
        pytest.param("Stock.orders", (), True, id="no-namespace-has-capitals"),
        pytest.param("my_app.orders", (), True, id="nor-underscores"),
        pytest.param(f"{'n' * 64}.orders", (), True, id="nor-64-characters"),
        pytest.param(".orders", (), True, id="nor-none"),
        pytest.param("stock.orders", (), False, id="of-another-namespace"),
        pytest.param("stock.a.b", (), False, id="with-more-dots"),
        pytest.param("stock.", (), False, id="with-nothing-behind-it"),
        pytest.param("7.orders", (), False, id="a-namespace-of-digits"),
        pytest.param("stock.orders", ("shop/stock.orders",), True, id="allowed"),
        pytest.param("stock.orders", ("shop/stock.*",), True, id="allowed-by-pattern"),
        pytest.param("stock.orders", ("*",), True, id="all-allowed"),
        pytest.param("stock.orders", ("stock/stock.orders", "shop/stock.order"), False, id="others-allowed"),
    ],
)
def test_names_that_begin_with_another_namespace_are_for_that_namespace(
    connect_name: str, allowed: tuple[str, ...], is_so: bool
) -> None:
    assert is_allowed(A, connect_name, allowed) is is_so


@pytest.mark.parametrize(("allowed", "told"), [((), "False NameReserved"), (("shop/stock.*",), "True Running")])
def test_a_name_of_another_namespace_is_taken_where_the_release_allows_it(allowed: tuple[str, ...], told: str) -> None:
    world = World(spec={"connectName": "stock.orders"}, values={"allowedConnectNames": allowed})
    world.settle()
    assert world.condition("Ready").startswith(told)


def test_a_reserved_name_is_reported_with_what_to_do() -> None:
    found = reserved(A, "stock.orders", {})
    assert found is not None
    assert found.reason == "NameReserved"
    assert found.message.startswith("spec.connectName: stock.orders belongs to namespace stock")
    assert "shop/stock.orders added to allowedConnectNames" in found.message


@pytest.mark.parametrize(
    ("group", "is_refused"),
    [
        pytest.param("connect-stock.orders", True, id="of-another-namespaces-sink"),
        pytest.param(" connect-stock.orders ", True, id="with-blanks"),
        pytest.param("connect-shop.orders", False, id="of-its-own-namespace"),
        pytest.param("stock.orders", False, id="of-no-connector"),
        pytest.param("", False, id="none"),
    ],
)
def test_nor_can_a_sinks_group_be_that_of_another_namespaces_connector(group: str, is_refused: bool) -> None:
    found = reserved(A, "shop.a", {"consumer.override.group.id": group})
    assert (found is not None) is is_refused
    if found is not None:
        assert found.message.startswith(
            "spec.config.consumer.override.group.id: stock.orders belongs to namespace stock"
        )
    assert reserved(A, "shop.a", {"consumer.override.group.id": group}, ["shop/stock.*"]) is None


@pytest.mark.parametrize(
    ("group", "allowed", "is_refused"),
    [
        ("${secret:db:group}", (), True),
        ("conn${secret:db:group}", (), True),
        ("connect-${secret:db:group}", (), True),
        ("connect-sto${secret:db:group}", (), True),
        ("connect-stock.${secret:db:group}", (), True),
        ("connect-stock.orders${env:X}", ("shop/stock.orders",), True),
        ("connect-stock.orders${env:X}", ("shop/stock.*",), False),
        ("connect-${env:X}", ("shop/*",), False),
        ("connect-shop.${env:X}", (), False),
        ("connect-My_${env:X}", (), False),
        ("billing-${env:X}", (), False),
    ],
)
def test_a_variable_hides_no_group_of_another_namespaces_connector(
    group: str, allowed: tuple[str, ...], is_refused: bool
) -> None:
    found = reserved(A, "shop.a", {"consumer.override.group.id": group}, allowed)
    assert (found is not None) is is_refused
    if found is not None:
        assert found.reason == "NameReserved"
        assert "begins with connect-shop." in found.message


FIRST, SECOND, THIRD = (
    Age("2026-01-01T00:00:00Z", "u9"),
    Age("2026-01-02T00:00:00Z", "u1"),
    Age("2026-01-02T00:00:00Z", "u2"),
)


@pytest.mark.parametrize(
    ("own", "others", "claimed", "owner"),
    [
        pytest.param(FIRST, {}, None, None, id="alone"),
        pytest.param(FIRST, {B: SECOND}, None, None, id="the-older-keeps-it"),
        pytest.param(SECOND, {B: FIRST}, None, B, id="the-younger-gives-way"),
        pytest.param(THIRD, {B: SECOND}, None, B, id="of-one-second-the-smaller-uid"),
        pytest.param(THIRD, {B: SECOND, C: FIRST}, None, C, id="to-the-oldest"),
        pytest.param(SECOND, {}, ("2026-01-01T00:00:00Z", "x"), "claim", id="to-an-older-claim"),
        pytest.param(SECOND, {}, ("2026-01-03T00:00:00Z", "x"), None, id="not-to-a-younger-claim"),
        pytest.param(THIRD, {B: SECOND}, ("2026-01-01T00:00:00Z", "x"), "claim", id="to-a-claim-older-than-the-oldest"),
        pytest.param(THIRD, {B: FIRST}, ("2026-01-02T00:00:00Z", "x"), B, id="to-the-oldest-before-a-claim"),
    ],
)
def test_the_oldest_owns_a_name(
    own: Age, others: dict[Key, Age], claimed: tuple[str, str] | None, owner: object
) -> None:
    made = None if claimed is None else claim(*claimed)
    assert older(own, others, made) == (made if owner == "claim" else owner)


HERE = Release(name="penstock", namespace="system", cluster="one", installation="i")


@pytest.mark.parametrize(
    ("operator", "cluster", "installation", "is_ours"),
    [
        pytest.param("system/penstock", "one", "i", True, id="ours"),
        pytest.param("system/penstock", "two", "i", False, id="of-another-cluster"),
        pytest.param("system/penstock", "one", "j", False, id="of-another-cluster-with-the-same-id"),
        pytest.param("system/other", "one", "i", False, id="of-another-release"),
    ],
)
def test_a_claim_is_this_releases_in_this_cluster(
    operator: str, cluster: str, installation: str, is_ours: bool
) -> None:
    made = claim("2026-01-01T00:00:00Z", "x", operator=operator, cluster=cluster, installation=installation)
    assert is_claim_of(made, HERE) is is_ours


def test_a_claim_of_another_cluster_is_reported_with_the_way_to_take_it_over() -> None:
    made = claim("2026-01-01T00:00:00Z", "x", operator="system/penstock", cluster="two")
    message = conflict("moved", *claimant(made, HERE)).message
    assert "Connector far/orders of operator system/penstock in cluster two" in message
    assert "set clusterId of this release to two" in message
