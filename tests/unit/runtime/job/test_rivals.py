"""Detection of others that may run a connector, from the records of the status topic."""

from collections.abc import Sequence

import pytest

from penstock_model.connect.status_records import State, connector_status, task_status
from penstock_model.contracts.incarnation import Incarnation
from penstock_model.contracts.task_reports import Claim, claim_key
from penstock_runtime.job.rivals import Known, known_in

Entry = tuple[bytes, bytes | None]


def rival_in(entries: Sequence[Entry], connector: str) -> str:
    return known_in(entries, connector).rival


def task(connector: str, number: int, state: State) -> Entry:
    return task_status(connector, number, state, worker_id="w:8083", generation=1, version=None)


def of_connector(state: State) -> Entry:
    return connector_status("in", state, worker_id="w:8083", generation=1, version=None)


@pytest.mark.parametrize("state", [State.RUNNING, State.PAUSED, State.RESTARTING])
def test_running_task_or_connector_is_a_rival(state: State) -> None:
    assert f"in is {state} at w:8083; stop `penstock run`, or stop the connector" in rival_in(
        [task("in", 12, state)], "in"
    )
    assert rival_in([of_connector(state)], "in")


def test_stopped_unassigned_failed_or_removed_connector_is_no_rival() -> None:
    states = [task("in", n, s) for n, s in enumerate((State.UNASSIGNED, State.FAILED, State.STOPPED))]
    before = task("in", 3, State.RUNNING)
    assert rival_in([*states, before, (before[0], None), of_connector(State.STOPPED)], "in") == ""
    assert rival_in([], "in") == ""


def test_the_last_record_of_a_key_counts() -> None:
    assert rival_in([task("in", 0, State.RUNNING), task("in", 0, State.UNASSIGNED)], "in") == ""


@pytest.mark.parametrize("other", ["in-0", "i", "xin", "in-"])
def test_task_of_a_connector_with_the_same_prefix_is_no_rival(other: str) -> None:
    assert rival_in([task(other, 0, State.RUNNING)], "in") == ""


def test_invalid_state_is_ignored() -> None:
    assert rival_in([(b"status-task-in-0", b"{"), (b"status-connector-in", b"[]")], "in") == ""


def test_operator_that_claims_the_name_is_a_rival_until_it_releases_it() -> None:
    claim = Claim(
        connector_uid="u",
        namespace="shop",
        name="a",
        created="2026-01-01T00:00:00Z",
        operator="p/p",
        cluster="c",
        installation="i",
    )
    entry = (claim_key("in"), claim.to_value())
    assert "Connector shop/a of operator p/p uses the name in in Kafka" in rival_in([entry], "in")
    assert rival_in([entry], "other") == ""
    assert rival_in([entry, (claim_key("in"), None)], "in") == ""


def test_greatest_generation_is_returned_and_whether_the_connector_is_known() -> None:
    assert known_in([], "in") == Known("", 0, is_unknown=True)
    assert known_in([task("other", 0, State.RUNNING)], "in").is_unknown
    incarnations = [Incarnation(1, 0, "t", 0, generation, "p").entry("in", 0) for generation in (7, 3)]
    assert known_in(incarnations, "in") == Known("", 7, is_unknown=False)
    assert not known_in([task("in", 0, State.UNASSIGNED)], "in").is_unknown
