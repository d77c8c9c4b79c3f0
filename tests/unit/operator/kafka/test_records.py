"""The latest of each record of the status topic."""

import json

import pytest

from penstock_model.connect.status_records import ActiveTopic, Status
from penstock_model.contracts.incarnation import Incarnation
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_reports import Claim, Control, Report, claim_key, control_key, report_key
from penstock_model.contracts.task_spec import TaskState
from penstock_operator.kafka.records import News, Records, connector_of

NAME = "shop.orders-in"


def report(task: int = 0, state: str = "RUNNING", last_record: int | None = None) -> bytes:
    return Report(
        connector=NAME,
        connector_uid="u",
        pod_uid="p",
        task=task,
        epoch=PlanEpoch(generation=1, plan="x"),
        incarnation=1,
        state=state,
        acted=1,
        since=0,
        last_record=last_record,
    ).to_value()


def topic(name: str, connector: str = NAME, task: int = 0, at: int = 7) -> tuple[bytes, bytes]:
    value = {"topic": {"name": name, "connector": connector, "task": task, "discoverTimestamp": at}}
    return f"status-topic-{name}:connector-{connector}".encode(), json.dumps(value).encode()


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (report_key("shop.a", 3), "shop.a"),
        (control_key('Ünïcode "quoted"'), 'Ünïcode "quoted"'),
        (claim_key("shop.a"), "shop.a"),
        (b"status-topic-orders:connector-shop.a", "shop.a"),
        (b"status-topic-orders:connector-odd:connector-name", "odd:connector-name"),
        (b"status-connector-shop.a", "shop.a"),
        (b"status-task-shop.a-12", "shop.a"),
        (b"status-task-with-dashes-in-it-0", "with-dashes-in-it"),
        (b'["penstock-incarnation","shop.a",0]', "shop.a"),
        (b'["penstock-report"', None),
        (b'["penstock-report",7,0]', None),
        (b'["penstock-report"]', None),
        (b"status-task-shop.a", None),
        (b"status-topic-orders", None),
        (b"somebody-elses", None),
        (b"\xff\xfe", None),
        (b"", None),
    ],
)
def test_keys_are_read_as_tasks_and_kafka_connect_write_them(key: bytes, name: str | None) -> None:
    assert connector_of(key) == name


def test_only_a_report_with_nothing_new_but_the_time_of_the_last_record_can_wait() -> None:
    records, key = Records(), report_key(NAME, 0)
    assert records.news(key, report()) is News.OTHER
    records.put(key, report())
    assert records.news(key, report(last_record=60_000)) is News.PROGRESS
    assert records.news(key, report(state="FAILED", last_record=60_000)) is News.OTHER
    assert records.news(key, None) is News.OTHER
    assert records.news(topic("orders")[0], b"{}") is News.TOPICS


def test_only_the_latest_of_a_key_counts_and_only_a_change_is_reported() -> None:
    records = Records()
    assert records.put(report_key(NAME, 0), report()) == NAME
    assert records.put(report_key(NAME, 0), report()) is None
    assert records.put(report_key(NAME, 0), report(state="FAILED")) == NAME
    assert {n: r.state for n, r in records.reports(NAME).items()} == {0: "FAILED"}


def test_reports_come_by_task_and_a_broken_one_not_at_all() -> None:
    records = Records()
    for task in (10, 2, 0):
        records.put(report_key(NAME, task), report(task))
    records.put(report_key(NAME, 1), b"{broken")
    assert list(records.reports(NAME)) == [0, 2, 10]


def test_a_tombstone_removes_and_what_is_empty_leaves_nothing() -> None:
    records = Records()
    records.put(report_key(NAME, 0), report())
    assert records.put(report_key(NAME, 0), None) == NAME
    assert records.put(report_key(NAME, 0), None) is None
    assert not records._connectors


def test_control_and_claim_are_read() -> None:
    records = Records()
    control = Control(connector_uid="u", generation=3, state="Paused")
    claim = claim_of("orders-in", "u")
    records.put(control_key(NAME), control.to_value())
    records.put(claim_key(NAME), claim.to_value())
    assert (records.control(NAME), records.claim(NAME)) == (control, claim)
    assert (records.control("another"), records.claim("another")) == (None, None)


def test_of_several_records_of_a_topic_the_earliest_counts_until_it_is_forgotten() -> None:
    """Each task of a connector records a topic that it uses first; only the set of names is news."""
    key, first = topic("orders", at=7)
    _, later = topic("orders", task=1, at=9)
    _, earlier = topic("orders", task=2, at=5)
    records = Records()
    assert records.put(key, first) == NAME
    assert records.put(key, later) is None
    assert records.put(key, b"{}") is None
    assert records.active_topics(NAME) == [ActiveTopic("orders", 0, 7)]
    assert records.put(key, earlier) == NAME
    assert records.active_topics(NAME) == [ActiveTopic("orders", 2, 5)]
    assert records.put(key, None) == NAME
    assert records.put(key, later) == NAME
    assert records.active_topics(NAME) == [ActiveTopic("orders", 1, 9)]


def test_active_topics_come_by_name() -> None:
    records = Records()
    for name in ("b", "a"):
        records.put(*topic(name))
    records.put(b"status-topic-c:connector-" + NAME.encode(), b"{}")
    assert records.active_topics(NAME) == [ActiveTopic("a", 0, 7), ActiveTopic("b", 0, 7)]


def state(word: str, worker: str = "w") -> bytes:
    return json.dumps(
        {"state": word, "trace": "x" * 1000, "worker_id": worker, "generation": 3, "version": None}
    ).encode()


def test_states_of_kafka_connect_are_known_without_their_traces_and_those_of_tasks_wake_nobody() -> None:
    records = Records()
    task, connector = b"status-task-shop.orders-in-0", b"status-connector-shop.orders-in"
    assert records.put(task, state("RUNNING")) is None
    assert records.put(connector, state("RUNNING")) == NAME
    assert records.states(NAME) == {task: Status("RUNNING", "w", 3), connector: Status("RUNNING", "w", 3)}
    assert records.names() == records.all_names() == []
    assert records.keys(NAME) == [connector, task]
    assert records.put(task, None) is None
    assert records.states(NAME).keys() == {connector}


def test_a_connectors_state_wakes_only_where_it_is_another() -> None:
    records = Records()
    connector = b"status-connector-shop.orders-in"
    assert records.put(connector, None) is None
    assert records.put(connector, state("STOPPED")) == NAME
    assert records.put(connector, state("STOPPED", "another")) is None
    assert records.put(connector, b"{broken") == NAME
    assert records.keys(NAME) == [connector]
    assert records.put(connector, None) == NAME


def test_names_are_those_with_records_of_ours() -> None:
    records = Records()
    records.put(*topic("orders", "kafka-connects-own"))
    records.put(claim_key(NAME), b"{}")
    assert records.names() == [NAME]
    assert sorted(records.all_names()) == ["kafka-connects-own", NAME]


def test_two_states_of_a_name_are_compared_by_what_a_reader_sees() -> None:
    one, other = Records(), Records()
    one.put(report_key(NAME, 0), report())
    assert not one.same(other, NAME)
    other.put(b"status-connector-shop.orders-in", b"{}")
    other.put(report_key(NAME, 0), report())
    assert one.same(other, NAME)
    assert one.same(other, "neither")


def claim_of(name: str, uid: str) -> Claim:
    return Claim(
        connector_uid=uid,
        namespace="shop",
        name=name,
        created="",
        operator="ns/penstock",
        cluster="c",
        installation="i",
    )


def test_names_are_found_by_who_claims_them_for_as_long_as_that_is_so() -> None:
    def claimed(name: str, uid: str) -> bytes:
        return claim_of(name, uid).to_value()

    records = Records()
    records.put(claim_key("a"), claimed("one", "u1"))
    records.put(claim_key("b"), claimed("one", "u2"))
    records.put(claim_key("c"), b"not a claim")
    assert set(records.claimed("shop", "one", "")) == {"a", "b"}
    assert set(records.claimed("", "", "u2")) == {"b"}
    records.put(claim_key("a"), claimed("two", "u3"))
    assert set(records.claimed("shop", "one", "u3")) == {"a", "b"}
    assert set(records.claimed("shop", "two", "")) == {"a"}
    records.put(claim_key("c"), claimed("two", "u4"))
    for name in "abc":
        records.put(claim_key(name), None)
    assert not records.claimed("shop", "one", "u1")
    assert not records._claimed


def test_incarnation_records_are_carried_reported_to_nobody_and_never_removed() -> None:
    records = Records()
    record = Incarnation(1, 0, "t", 2, 7, "p").entry(NAME, 0)
    assert records.put(*record) is None
    assert records.put(record[0], None) is None
    assert records.carried(NAME) == [record]
    assert not records.keys(NAME)
    assert not records.names()
    assert not records.all_names()


def test_a_task_is_carried_its_own_record_and_its_control_records() -> None:
    records = Records()
    lives = [Incarnation(1, 0, "t", 2, 7, "p").entry(NAME, task) for task in range(3)]
    told = control_key(NAME), Control(connector_uid="u", generation=1, state=TaskState.PAUSED).to_value()
    for key, value in (*lives, told, (report_key(NAME, 1), report(1))):
        records.put(key, value)
    assert records.carried(NAME, 1) == [lives[1], told]
    assert records.carried(NAME) == lives
    assert records.carried("shop.other") == ()


@pytest.mark.parametrize("value", [b"{broken", b"[]", b"7", b'{"incarnation":"x"}', b"null"])
def test_an_incarnation_that_cannot_be_read_stops_nobody(value: bytes) -> None:
    records = Records()
    key, good = Incarnation(1, 0, "t", 2, 7, "p").entry(NAME, 0)
    records.put(key, good)
    records.put(key, value)
    records.put(key, good)
    assert records.carried(NAME) == [(key, good)]


DEEP = b"[" * 100_000
"""Nobody's JSON: what reads it runs out of stack."""


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b'["penstock-incarnation","x",0]', DEEP),
        (b'["penstock-report",' + DEEP, b"{}"),
        (b"status-task-x-0", DEEP),
        (b"status-connector-x", b'{"state":"RUNNING","worker_id":"w","generation":Infinity}'),
        (b"status-topic-t:connector-x", DEEP),
        (b"status-topic-t:connector-x", b'{"topic":{"name":"t","task":Infinity,"discoverTimestamp":1}}'),
    ],
    ids=["incarnation", "key", "deep state", "infinite generation", "deep topic", "infinite task"],
)
def test_no_record_of_anybody_ends_the_reading_for_others(key: bytes, value: bytes) -> None:
    records = Records()
    for _ in range(2):  # the second one of a key is compared with the first
        records.put(key, value)
    records.put(report_key(NAME, 0), report())
    records.active_topics("x")
    assert NAME in records.names()


def test_the_greatest_standing_is_that_of_the_greatest_incarnation_of_any_task() -> None:
    records = Records()
    assert records.epoch(NAME) is None
    records.put(*Incarnation(3, 0, "t", 1, 7, "a@mark").entry(NAME, 0))
    records.put(*Incarnation(0, 0, "", 1, 8, "b@mark").entry(NAME, 1))
    records.put(*Incarnation(9, 0, "t", 1, 9, "c").entry("shop.other", 1))
    records.put(b'["penstock-incarnation","shop.orders-in",2]', b'{"generation": "many"}')
    records.put(b'["penstock-incarnation","shop.orders-in",3]', b"not json")
    assert records.epoch(NAME) == PlanEpoch(generation=8, plan="b@mark")
    records.put(*Incarnation(4, 0, "t", 1, 7, "a@mark").entry(NAME, 1))  # an old life writes late
    assert records.epoch(NAME) == PlanEpoch(generation=8, plan="b@mark")
