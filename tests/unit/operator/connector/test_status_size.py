"""A whole status stays within its bytes, whatever is said in it, and says the same when it is made again."""

import json
from typing import Any

import pytest

from penstock_operator.connector.render.status_size import MOST_BYTES, cut, with_short_texts

from .world.world import World


def size(status: dict[str, Any]) -> int:
    return len(json.dumps(status, ensure_ascii=False).encode())


def tasks(count: int, text: str) -> list[dict[str, Any]]:
    versions = {"connector": "1.4.2", "transforms": {"hoist": "4.3.1", "mask": "4.3.1"}}
    return [
        {
            "id": n,
            "restarts": 3,
            "state": "Failed",
            "pod": f"orders-in-{n}-14",
            "podUID": "u" * 36,
            "incarnation": 14,
            "failures": 3,
            "reason": "Failed",
            "message": text,
            "trace": text,
            "since": "2026-11-22T10:00:00Z",
            "retryAt": "2026-11-22T10:00:00Z",
            "startedAt": "2026-11-22T10:00:00Z",
            "versions": versions,
        }
        for n in range(count)
    ]


@pytest.mark.parametrize("letter", ["x", "\n", '"', "ä", "€", "😀"])
def test_300_failed_tasks_with_long_traces_and_everything_else_long_stay_within_300_kib(letter: str) -> None:
    text = letter * 16_000
    status = {
        "tasks": tasks(300, text),
        "operatorState": {
            "plan": {"problems": [text] * 500},
            "job": {"key": "k", "message": text},
            "tasks": [{"id": n, "over": True, "podHash": "l" * 16} for n in range(300)],
        },
        "restartActions": [{"action": "restart", "token": "t", "message": text}] * 10,
        "activeTopics": [{"name": letter * 249, "task": 1, "since": "2026-11-22T10:00:00Z"}] * 200,
        "conditions": [{"type": t, "message": cut(text, 8_000)} for t in ("ConfigValid", "Ready", "Stalled")],
    }
    found = with_short_texts(status)
    assert size(found) <= MOST_BYTES
    assert with_short_texts(found) == found
    last = found["tasks"][-1]
    assert "cut; kubectl logs orders-in-299-14" in last["trace"]
    assert len(found["tasks"]) == 300


def test_the_first_tasks_keep_their_traces_and_the_rest_say_where_to_read_theirs() -> None:
    found = with_short_texts({"tasks": tasks(100, "Traceback " * 300)})["tasks"]
    whole = [len(t["trace"]) == 3_000 for t in found]
    assert whole[0]
    assert whole == sorted(whole, reverse=True)
    assert not whole[-1]
    assert found[-1]["trace"].startswith("Traceback ")


def test_what_is_short_stays_as_it_is() -> None:
    status = {
        "tasks": tasks(3, "no such file: /data/ä"),
        "operatorState": {"plan": {"hash": "h", "problems": ["a: b"]}},
    }
    assert with_short_texts(status) == status


def test_a_text_is_cut_between_letters() -> None:
    assert cut("ä" * 10, 20) == "ä" * 10
    assert cut("ä" * 11, 20) == "ä" * 8 + " ..."


@pytest.mark.slow
def test_a_connector_with_many_failed_tasks_and_warnings_has_a_bounded_status_that_settles() -> None:
    world = World(spec={"tasksMax": 60})
    world.settle()
    for n in range(60):
        world.end(f"orders-in-{n}-1", 1, message="€" * 4_000, trace="😀" * 16_000)
    world.reconcile()
    assert size(world.status) <= MOST_BYTES
    world.reconcile()  # its conditions go by the texts that are kept
    writes = world.status_writes
    world.reconcile()
    assert world.status_writes == writes


def test_a_reference_in_another_operators_form_is_refused_with_the_right_one() -> None:
    world = World(spec={"config": {"file": "/a", "topic": "t", "password": "x${secret:kafka/db-login:password}"}})
    world.settle()
    told = world.condition("ConfigValid")
    assert told.startswith(
        "False ConfigInvalid: config.password: cannot resolve ${secret:kafka/db-login:password}: it "
    )
    assert "write ${secret:db-login:password}, and create the Secret in the Connector's namespace" in told
    assert world.condition("Stalled").startswith("True ConfigInvalid")
