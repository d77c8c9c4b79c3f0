"""A task in a pod: target states, reports, and the termination message."""

from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from penstock_model.contracts.pod_identity import PlanEpoch, PodIdentity
from penstock_model.contracts.task_reports import Control, Report, TerminationMessage
from penstock_model.contracts.task_spec import TaskSpec, TaskState
from penstock_runtime.kafka.compacted_topic import StatusWriter
from penstock_runtime.kafka.status_topic import State
from penstock_runtime.process import cgroup, termination_message
from penstock_runtime.process.termination_message import TERMINATION_LOG_VARIABLE
from penstock_runtime.spark.jvm_heap import spark_heap
from penstock_runtime.task.pod.control import order
from penstock_runtime.task.pod.reports import PodReports
from penstock_runtime.task.pod.status_writer import BackgroundStatusWriter
from penstock_runtime.task.pod.target_state import TargetState
from penstock_runtime.task.redactor import redactor_of

LIFE = PodIdentity(
    connector_uid="u", connector_generation=4, epoch=PlanEpoch(generation=7, plan="p"), incarnation=2, token="t"
)
SPEC = TaskSpec(connector="c", task=0, tasks=1, kind="sink", config={}, plugins={}, worker={})


class Kept:
    """Takes the place of the way to the topic."""

    def __init__(self) -> None:
        self.put_after: list[float] = []
        self.reports: list[Report] = []

    def put(self, entries: list[tuple[bytes, bytes]], *, after: float = 0.0) -> None:
        for _, value in entries:
            report = Report.of(value)
            assert report is not None
            self.reports.append(report)
            self.put_after.append(round(after, 3))


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def clock() -> Clock:
    return Clock()


class WallClock:
    now = 5

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def wall() -> WallClock:
    return WallClock()


@pytest.fixture
def reports(kept: Kept, clock: Clock, wall: WallClock) -> PodReports:
    return PodReports(SPEC, LIFE, pod_uid="pod", records=cast("BackgroundStatusWriter", kept), clock=clock, now=wall)


def control(generation: int, state: str, uid: str = "u") -> Control:
    return Control(connector_uid=uid, generation=generation, state=TaskState(state))


# Whom it obeys


@pytest.mark.parametrize(
    ("told", "state", "generation"),
    [
        (control(5, "Paused"), "Paused", 5),
        (control(4, "Paused"), "Running", 4),
        (control(3, "Paused"), "Running", 4),
        (control(9, "Paused", "other"), "Running", 4),
        (None, "Running", 4),
    ],
)
def test_higher_generation_of_pod_identity_and_control_record_wins(
    told: Control | None, state: str, generation: int
) -> None:
    wanted = TargetState.of(LIFE).after(told)
    assert (wanted.state, wanted.generation) == (state, generation)


def test_incarnations_are_ordered_by_plan_then_by_number() -> None:
    later = LIFE.model_copy(update={"incarnation": 3})
    newer = LIFE.model_copy(update={"epoch": PlanEpoch(generation=8, plan="a"), "incarnation": 1})
    assert order(LIFE) < order(later) < order(newer)


# What it reports


def test_a_generation_is_acted_on_when_the_state_is_the_one_that_it_asks_for(reports: PodReports, kept: Kept) -> None:
    reports.state(State.RUNNING)
    reports.target(TargetState("u", 5, TaskState.PAUSED))
    assert [(r.state, r.acted) for r in kept.reports] == [("RUNNING", 4)]
    reports.state(State.PAUSED)
    assert [(r.state, r.acted) for r in kept.reports[1:]] == [("PAUSED", 5)]


def test_pause_revoked_before_it_began_is_confirmed_as_running(reports: PodReports, kept: Kept) -> None:
    reports.state(State.RUNNING)
    reports.target(TargetState("u", 5, TaskState.PAUSED))
    reports.target(TargetState("u", 6, TaskState.RUNNING))
    assert [(r.state, r.acted) for r in kept.reports] == [("RUNNING", 4), ("RUNNING", 6)]


def test_a_pause_that_comes_too_late_for_a_state_is_not_confirmed_by_it(reports: PodReports, kept: Kept) -> None:
    reports.target(TargetState("u", 5, TaskState.PAUSED))
    reports.state(State.RUNNING)
    assert [(r.state, r.acted) for r in kept.reports] == [("RUNNING", 4)]


def test_failed_task_stays_failed_for_any_target_state(reports: PodReports, kept: Kept) -> None:
    reports.state(State.FAILED, message="m" * 10_000, trace="t")
    reports.target(TargetState("u", 5, TaskState.PAUSED))
    assert [(r.state, r.acted) for r in kept.reports] == [("FAILED", 4), ("FAILED", 5)]
    assert len(str(kept.reports[0].message)) < 2_100


def test_unchanged_reports_are_not_written_again(reports: PodReports, kept: Kept) -> None:
    reports.state(State.RUNNING)
    reports.state(State.RUNNING)
    reports.trouble(None)
    assert len(kept.reports) == 1


def test_trouble_is_reported_at_most_once_a_second(reports: PodReports, kept: Kept, clock: Clock) -> None:
    reports.state(State.RUNNING)
    for n, text in enumerate(("away", None, "away", None, "gone")):
        clock.now = 100 + n * 0.3
        reports.trouble(text)
    assert kept.put_after[1:] == [0.0, 0.7, 0.4, 0.1, 0.8]
    assert kept.reports[-1].trouble == "gone"


def run(reports: PodReports, wall: WallClock, clock: Clock, seconds: int, *, read: int = 0, waits: float = 0.0) -> None:
    """So many seconds, each with a round that reads and delivers records, and waits for a part of it."""
    for _ in range(seconds):
        wall.now, clock.now = wall.now + 1000, clock.now + 1
        reports.waited(waits)
        if read:
            reports.batch(read, read)
        reports.lag(5 if read else 0, None)
        reports.looped(proven=False)


def test_last_record_and_figures_are_reported_once_a_minute_while_records_flow_and_twice_after_them(
    reports: PodReports, kept: Kept, wall: WallClock, clock: Clock
) -> None:
    wall.now = 1_800_000_000_000
    reports.state(State.RUNNING)
    run(reports, wall, clock, 300, read=8, waits=0.25)
    times = [r.last_record for r in kept.reports[1:]]
    assert len(times) == 6  # five minutes touch six of the connector's own
    assert {b - a for a, b in pairwise(times[1:]) if a and b} == {60_000}
    assert [r.figures_at for r in kept.reports[1:]] == times
    last = wall.now
    run(reports, wall, clock, 60, waits=1.0)
    assert [r.last_record for r in kept.reports[7:]] == [last]
    run(reports, wall, clock, 3600, waits=1.0)
    later = kept.reports[8:]
    assert [(r.last_record, r.delivered, r.lag, r.read_rate, r.busy) for r in later] == [(last, 2400, 0, 0.0, 0)]


def test_the_first_record_and_one_after_a_pause_are_reported_immediately_with_their_time(
    reports: PodReports, kept: Kept, wall: WallClock, clock: Clock
) -> None:
    for begun in (1_800_000_000_000, 1_800_000_600_000):
        wall.now = begun
        reports.state(State.RUNNING)
        run(reports, wall, clock, 1, read=1)
        assert kept.reports[-1].last_record == wall.now
        run(reports, wall, clock, 300, waits=1.0)
        assert kept.reports[-1].last_record == begun + 1000


def test_a_report_of_something_else_has_the_time_of_the_last_record(
    reports: PodReports, kept: Kept, wall: WallClock, clock: Clock
) -> None:
    wall.now = 1_800_000_000_000
    reports.state(State.RUNNING)
    run(reports, wall, clock, 7, read=8)
    reports.state(State.PAUSED)
    assert (kept.reports[-1].state, kept.reports[-1].last_record) == ("PAUSED", wall.now)


def test_rate_and_share_of_work_are_those_of_the_time_since_the_figures_before(
    reports: PodReports, kept: Kept, wall: WallClock, clock: Clock
) -> None:
    wall.now = 1_800_000_000_000
    reports.partitions(3)
    reports.state(State.RUNNING)
    run(reports, wall, clock, 300, read=8, waits=0.25)
    first, *_, last = kept.reports[1:]
    assert (first.delivered, first.read_rate, first.busy) == (8, None, None)  # too short to measure
    assert (last.read_rate, last.busy, last.lag, last.partitions) == (8.0, 75, 5, 3)
    reports.state(State.PAUSED)
    assert (kept.reports[-1].read_rate, kept.reports[-1].busy) == (None, None)


def test_idle_sink_reports_its_figures_once_and_then_no_more(
    reports: PodReports, kept: Kept, wall: WallClock, clock: Clock
) -> None:
    wall.now = 1_800_000_000_000
    reports.state(State.RUNNING)
    run(reports, wall, clock, 3600, waits=1.0)
    assert [(r.delivered, r.lag, r.read_rate, r.busy) for r in kept.reports[1:]] == [(0, 0, 0.0, 0)]


def test_sink_without_partitions_has_no_lag(reports: PodReports, kept: Kept, wall: WallClock, clock: Clock) -> None:
    wall.now = 1_800_000_000_000
    reports.partitions(0)
    reports.state(State.RUNNING)
    for _ in range(200):
        wall.now, clock.now = wall.now + 1000, clock.now + 1
        reports.waited(1.0)
        reports.looped(proven=False)
    assert [(r.partitions, r.lag, r.busy) for r in kept.reports[1:]] == [(0, 0, 0)]


def test_lag_that_is_not_known_any_longer_is_not_reported(
    reports: PodReports, kept: Kept, wall: WallClock, clock: Clock
) -> None:
    wall.now = 1_800_000_000_000
    reports.state(State.RUNNING)
    reports.batch(1, 1)
    assert kept.reports[-1].lag is None
    reports.lag(9, None)
    wall.now, clock.now = wall.now + 60_000, clock.now + 59
    reports.batch(1, 1)
    assert kept.reports[-1].lag == 9
    wall.now, clock.now = wall.now + 60_000, clock.now + 60
    reports.batch(1, 1)
    assert kept.reports[-1].lag is None


def test_task_reports_its_first_proven_round_and_then_that_it_is_steady(
    reports: PodReports, kept: Kept, clock: Clock
) -> None:
    reports.state(State.RUNNING)
    reports.looped(proven=False)
    reports.looped(proven=True)
    for _ in range(40):
        clock.now += 0.1
        reports.looped(proven=True)
    assert [(r.state, r.progress) for r in kept.reports] == [
        ("RUNNING", "none"),
        ("RUNNING", "loop"),
        ("RUNNING", "steady"),
    ]
    assert kept.put_after == [1.0, 0.0, 0.0]  # the second takes the place of the first, if it comes soon


def test_trouble_is_reported_with_the_time_of_the_last_complete_loop(
    reports: PodReports, kept: Kept, wall: WallClock, clock: Clock
) -> None:
    reports.state(State.RUNNING)
    wall.now = 1_800_000_000_000
    reports.looped(proven=False)
    wall.now += 400_000
    reports.trouble("the table is locked")
    assert kept.reports[-1].last_loop == 1_800_000_000_000
    clock.now += 5
    reports.trouble(None)
    assert kept.reports[-1].last_loop is None


def test_what_hinders_a_start_is_reported_before_the_task_runs(reports: PodReports, kept: Kept, clock: Clock) -> None:
    reports.trouble("cannot connect")
    clock.now += 5
    reports.trouble(None)
    reports.state(State.RUNNING)
    assert [(r.state, r.trouble) for r in kept.reports] == [("", "cannot connect"), ("", None), ("RUNNING", None)]


def test_attempts_are_counted_in_the_report_once_a_minute_and_the_last_number_is_reported(
    reports: PodReports, kept: Kept, clock: Clock
) -> None:
    reports.state(State.RUNNING)
    begun = clock.now
    due: dict[float, str | None] = {}  # a report replaces one that waits for the same time
    for attempt in range(1, 8):
        clock.now = begun + (attempt - 1) * 20
        reports.trouble(f"write is retried (attempt {attempt}): no answer")
        due[clock.now + kept.put_after[-1] - begun] = kept.reports[-1].trouble
    attempts = {0.0: 1, 60.0: 3, 120.0: 6, 180.0: 7}
    assert due == {at: f"write is retried (attempt {n}): no answer" for at, n in attempts.items()}


def test_an_end_of_trouble_does_not_wait_for_a_report_of_other_numbers(
    reports: PodReports, kept: Kept, clock: Clock
) -> None:
    reports.state(State.RUNNING)
    for text in ("10 records failed", "40 records failed", None):
        clock.now += 5
        reports.trouble(text)
    assert [(r.trouble, after) for r, after in zip(kept.reports[1:], kept.put_after[1:], strict=True)] == [
        ("10 records failed", 0.0),
        ("40 records failed", 55.0),
        (None, 0.0),
    ]


def test_a_lag_that_grows_is_reported_when_that_begins_and_ends(reports: PodReports, kept: Kept) -> None:
    reports.state(State.RUNNING)
    for text in (None, "from 1 to 2", "from 2 to 3", None, None):
        reports.lag(7, text)
    assert [r.lagging for r in kept.reports] == [None, "from 1 to 2", None]


def test_the_time_of_a_state_is_when_it_began(kept: Kept) -> None:
    times = iter((10, 20))
    reports = PodReports(SPEC, LIFE, pod_uid="p", records=cast("BackgroundStatusWriter", kept), now=lambda: next(times))
    reports.state(State.RUNNING)
    reports.target(TargetState("u", 5, TaskState.RUNNING))
    reports.state(State.PAUSED)
    assert [r.since for r in kept.reports] == [10, 10, 20]


def test_last_record_of_each_key_is_written_once_kafka_is_back() -> None:
    from threading import Event

    from penstock.errors import RetriableError

    back, written = Event(), []

    class Writer:
        def write(self, topic: str, entries: Any, *, timeout: float) -> None:
            if not back.is_set():
                raise RetriableError("away")
            written.extend(entries)

        def close(self) -> None: ...

    background = BackgroundStatusWriter(lambda: cast("StatusWriter", Writer()), "t")
    background.put([(b"a", b"1"), (b"b", b"1")])
    assert not background.flush(0.05)
    background.put([(b"a", b"2")])
    back.set()
    assert background.flush(10)
    assert written == [(b"b", b"1"), (b"a", b"2")]
    background.close()
    background.put([(b"a", b"3")])
    assert background.flush(1)
    assert len(written) == 2


# What it says last


def test_termination_message_is_bounded_for_any_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TERMINATION_LOG_VARIABLE, str(tmp_path / "word"))
    termination_message.write(
        TerminationMessage(exit_code=1, message="boom " + "x" * 200_000, trace="y" * 200_000, trouble="z" * 9_000)
    )
    text = (tmp_path / "word").read_bytes()
    word = TerminationMessage.of(text)
    assert len(text) <= 4096
    assert word is not None
    assert str(word.message).startswith("boom xxx")


def test_without_kubernetes_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TERMINATION_LOG_VARIABLE, raising=False)
    termination_message.write(TerminationMessage(exit_code=0))
    assert not Path("/dev/termination-log").exists()


# Limits


@pytest.mark.parametrize(
    ("files", "cores", "memory"),
    [
        ({"cpu.max": "150000 100000\n", "memory.max": "1073741824\n"}, 2, 1 << 30),
        ({"cpu.max": "max 100000\n", "memory.max": "max\n"}, None, None),
        (
            {
                "cpu/cpu.cfs_quota_us": "50000",
                "cpu/cpu.cfs_period_us": "100000",
                "memory/memory.limit_in_bytes": "536870912",
            },
            1,
            512 << 20,
        ),
        (
            {
                "cpu/cpu.cfs_quota_us": "-1",
                "cpu/cpu.cfs_period_us": "100000",
                "memory/memory.limit_in_bytes": "9223372036854771712",
            },
            None,
            None,
        ),
        ({}, None, None),
    ],
)
def test_limits_are_read_from_either_version_of_control_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], cores: int | None, memory: int | None
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert (cgroup.cpu_limit(tmp_path), cgroup.memory_limit(tmp_path)) == (cores, memory)


@pytest.mark.parametrize(
    ("files", "kills"),
    [
        ({"memory.events": "low 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n"}, 1),
        ({"memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"}, 3),
        ({"memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n"}, None),
        ({}, None),
    ],
)
def test_kills_for_memory_are_counted_by_either_version_of_control_groups(
    tmp_path: Path, files: dict[str, str], kills: int | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert cgroup.oom_kills(tmp_path) == kills


def test_heap_and_queues_are_shares_of_the_memory_limit() -> None:
    mib = 1 << 20
    assert [spark_heap(m) // mib for m in (None, 512 * mib, 4 << 30, 64 << 30)] == [471, 471, 1024, 4096]
    assert [cgroup.queue(m, 3) // mib for m in (None, 128 * mib, 768 * mib, 8 << 30)] == [64, 8, 32, 64]


# Secrets


def test_mounted_secrets_are_masked_even_if_the_configuration_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "password").write_text("hunter22\n")
    redact = redactor_of({"a": "${secret:no:such}"}, {"sasl.password": "literal-one"}, tmp_path)
    assert redact("hunter22 literal-one") == "${secret:db:password} [hidden]"
