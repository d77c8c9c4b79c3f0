"""The console shows each resource as the watches delivered it last, and nothing that no page needs."""

import asyncio
import threading
from typing import Any

import pytest

from penstock_operator.key import Key
from penstock_operator.kubernetes.kinds import CONNECTOR, PLUGIN_VERSION, POLICY, SECRET
from penstock_operator.web.documents import Documents
from penstock_web.revision import Revision

KEY = Key("shop", "orders")


def event(version: int, type_: str | None = "MODIFIED", uid: str = "u1", **more: Any) -> dict[str, Any]:
    metadata = {"namespace": "shop", "name": "orders", "uid": uid, "resourceVersion": str(version), **more}
    return {"type": type_, "object": {"metadata": metadata, "spec": {"config": {"topic": "t"}}}}


@pytest.fixture
def revision() -> Revision:
    return Revision()


@pytest.fixture
def ended() -> list[str]:
    return []


@pytest.fixture
def documents(revision: Revision, ended: list[str]) -> Documents:
    return Documents(revision.grow, ended.append)


def test_the_latest_version_of_each_kind_is_shown(documents: Documents) -> None:
    for kind in (CONNECTOR, POLICY, PLUGIN_VERSION):
        assert documents.all(kind) == ()
        documents.seen(kind, event(1, None))
        documents.seen(kind, event(2))
        (shown,) = documents.all(kind)
        assert shown["metadata"]["resourceVersion"] == "2"
        assert documents.of(kind, KEY) is shown
        documents.seen(kind, event(3, "DELETED"))
        assert documents.all(kind) == ()
        assert documents.of(kind, KEY) is None


def test_of_secrets_nothing_is_kept(documents: Documents, revision: Revision) -> None:
    documents.seen(SECRET, event(1))
    assert revision.number == 0


def test_a_list_that_brings_nothing_new_is_no_change(documents: Documents, revision: Revision) -> None:
    documents.seen(CONNECTOR, event(1, None))
    before = documents.all(CONNECTOR)
    documents.seen(CONNECTOR, event(1, None))
    assert revision.number == 1
    assert documents.all(CONNECTOR) is before


def test_what_no_page_shows_is_not_kept(documents: Documents) -> None:
    """Nor kubectl's copy of the configuration: nothing would hide the secrets in it."""
    given = event(
        1,
        managedFields=[{"manager": "kubectl"}],
        annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}", "penstock.dev/restart": "a"},
    )
    documents.seen(CONNECTOR, given)
    (shown,) = documents.all(CONNECTOR)
    assert shown["metadata"]["annotations"] == {"penstock.dev/restart": "a"}
    assert "managedFields" not in shown["metadata"]
    assert "managedFields" in given["object"]["metadata"]  # of the others, who get it next


def test_the_end_of_a_connector_is_reported_also_if_the_event_was_missed(
    documents: Documents, ended: list[str]
) -> None:
    documents.seen(CONNECTOR, event(1, uid="u1"))
    documents.seen(CONNECTOR, event(2, uid="u2"))
    assert ended == ["u1"]
    documents.gone(CONNECTOR, KEY)
    documents.gone(CONNECTOR, KEY)
    assert ended == ["u1", "u2"]


def test_those_who_wait_are_woken_in_their_own_loop(revision: Revision) -> None:
    async def wait(begun: threading.Event) -> int:
        waiting = asyncio.create_task(revision.greater_than(0))
        await asyncio.sleep(0)
        begun.set()
        return await waiting

    begun, found = threading.Event(), list[int]()
    thread = threading.Thread(target=lambda: found.append(asyncio.run(wait(begun))))
    thread.start()
    assert begun.wait(10)
    revision.grow()
    thread.join(10)
    assert found == [1]
    revision.grow()  # its loop is closed


def test_who_asks_for_what_has_happened_does_not_wait(revision: Revision) -> None:
    revision.grow()
    assert asyncio.run(revision.greater_than(0)) == 1


def test_who_no_longer_waits_leaves_nothing(revision: Revision) -> None:
    async def run() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await revision.greater_than(0)

    asyncio.run(run())
    assert revision._waiting == []


def test_many_changes_are_counted_together() -> None:
    async def run() -> None:
        revision = Revision(3.0)
        for _ in range(1_000):
            revision.grow()
        assert revision.number == 1
        async with asyncio.timeout(60):
            assert await revision.greater_than(1) == 2

    asyncio.run(run())
