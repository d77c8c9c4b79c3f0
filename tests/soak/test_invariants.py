"""The invariants see what they are for: each breach is told, and nothing else."""

import json
import random

import pytest

from . import invariants
from .invariants import Counters, Sample, Standstill
from .plan import Action, plan
from .rounds import WORLDS


def broken(*texts: str) -> str:
    return "\n".join(texts)


def test_exactly_once_holds_for_each_record_once_in_order() -> None:
    assert invariants.exactly_once({0: [0, 1, 2], 1: [0]}, {0: 3, 1: 1}) == []


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([0, 1, 3], "1 lost (2)"),
        ([0, 1, 1, 2, 3], "1 again"),
        ([0, 2, 1, 3], "out of order"),
        ([0, 1, 2], "1 lost (3)"),
        ([], "4 lost (0 to 3)"),
        ([0, 1, 2, 3, 4], "1 that were never written (4)"),
    ],
)
def test_exactly_once_reports_what_is_lost_comes_again_or_is_out_of_order(found: list[int], told: str) -> None:
    (text,) = invariants.exactly_once({7: found}, {7: 4})
    assert text.startswith("stream 7: of 4 records ")
    assert told in text


def test_a_stream_that_nobody_wrote_is_reported() -> None:
    assert "nobody wrote" in broken(*invariants.exactly_once({0: [0], 3: [0]}, {0: 1}))


def test_at_least_once_takes_records_that_come_again_and_no_gap() -> None:
    assert invariants.at_least_once({0: [0, 1, 2, 1, 2, 3]}, {0: 4}) == []
    assert "1 lost (1)" in broken(*invariants.at_least_once({0: [0, 2, 0, 2]}, {0: 3}))
    assert "out of order" in broken(*invariants.at_least_once({0: [0, 2, 1, 2]}, {0: 3}))


def test_only_what_may_be_lost_is_lost_and_all_of_it_is_counted() -> None:
    def may_be(stream: int, number: int) -> bool:
        return number == 2

    assert invariants.only_lost({0: [0, 1, 3]}, {0: 4}, may_be, 1) == []
    assert invariants.only_lost({0: [0, 1, 2, 3]}, {0: 4}, may_be, 0) == []
    assert "1 lost that fit (1)" in broken(*invariants.only_lost({0: [0, 2, 3]}, {0: 4}, may_be, 1))
    assert "1 again" in broken(*invariants.only_lost({0: [0, 1, 1, 3]}, {0: 4}, may_be, 1))
    assert invariants.only_lost({0: [0, 1, 1, 0, 3]}, {0: 4}, may_be, 1, once=False) == []
    assert "out of order" in broken(*invariants.only_lost({0: [1, 0, 1, 3]}, {0: 4}, may_be, 1, once=False))
    assert "2 are counted" in broken(*invariants.only_lost({0: [0, 1, 3]}, {0: 4}, may_be, 2))


def test_what_is_committed_and_not_written_is_reported() -> None:
    assert invariants.committed_is_written({0: 2}, {0: {0, 1, 2}}) == []
    assert "offset 3 is committed, 1 not written" in broken(*invariants.committed_is_written({0: 3}, {0: {0, 2}}))
    assert "0 to 1 not written" in broken(*invariants.committed_is_written({5: 2}, {}))


def test_a_group_that_is_not_at_the_end_is_reported() -> None:
    assert invariants.no_lag({0: 4}, {0: 4, 1: 0}) == []
    assert "stands at 3" in broken(*invariants.no_lag({0: 3}, {0: 4}))
    assert "stands at None" in broken(*invariants.no_lag({}, {0: 4}))


def test_a_standstill_counts_only_while_there_is_work_that_nobody_hinders() -> None:
    still = Standstill(10)
    assert still.take(Sample(0, 5, work=True, hindered=False)) == []
    assert still.take(Sample(9, 5, work=True, hindered=False)) == []
    assert still.take(Sample(10, 6, work=True, hindered=False)) == []
    assert still.take(Sample(30, 6, work=True, hindered=True)) == []
    assert still.take(Sample(39, 6, work=False, hindered=False)) == []
    assert still.take(Sample(49, 6, work=True, hindered=False)) == []
    assert "nothing moved for 11 s" in broken(*still.take(Sample(50, 6, work=True, hindered=False)))


def test_counters_that_do_not_add_up_are_reported() -> None:
    assert invariants.counters_agree("0", Counters(read=10, written=7, failures=1, dropped=2)) == []
    assert invariants.counters_agree("0", Counters(read=10, written=7, failures=2, dropped=2))


def test_a_gap_is_reported_and_an_end_that_is_missing_is_not() -> None:
    assert invariants.no_gap({0: [0, 1, 0, 1, 2], 1: []}) == []
    assert "1 lost (1)" in broken(*invariants.no_gap({0: [0, 2, 0, 2]}))


def test_clients_that_were_not_closed_are_reported() -> None:
    assert invariants.clients_are_closed({"7 task": 4, "8 worker": 0}) == []
    assert "9 Kafka clients: 7 task" in broken(*invariants.clients_are_closed({"7 task": 9}))


def test_groups_that_are_nobodys_and_members_that_have_not_left_are_reported() -> None:
    assert invariants.groups_are_ours({"connect-c": 0}, {"connect-c"}) == []
    assert invariants.groups_are_ours({}, {"connect-c"}) == []
    assert "group left: other" in broken(*invariants.groups_are_ours({"other": 0}, {"connect-c"}))
    assert "has 1 members" in broken(*invariants.groups_are_ours({"connect-c": 1}, {"connect-c"}))


def test_what_is_left_is_named() -> None:
    assert invariants.nothing_left([], []) == []
    assert len(invariants.nothing_left(["7 java"], ["penstock-scratch-x"])) == 2
    assert len(invariants.nothing_left([], [f"{n}" for n in range(100)])) == 6


def line(message: str, logger: str = "penstock_runtime.engine", **more: str) -> str:
    return json.dumps({"logger": logger, "message": message, **more})


def test_logs_with_a_secret_a_trace_or_other_text_are_reported() -> None:
    trace = "Traceback (most recent call last):\n ..."
    clean = [line("all is well"), line("The task has failed: x", "penstock_runtime.task", trace=trace)]
    assert invariants.logs_are_clean(clean, ["geheim"]) == []
    for bad in (
        line("login geheim failed"),
        "Segmentation fault",
        line("odd", trace=trace),
        line('cimpl.KafkaException: KafkaError{code=_FATAL,val=-150,str="x"}'),
    ):
        assert invariants.logs_are_clean([*clean, bad], ["geheim"]), bad


def test_words_of_java_are_all_right_where_it_writes_itself_and_secrets_are_not() -> None:
    assert invariants.logs_are_clean(["WARNING: incubating"], ["geheim"], others_write=True) == []
    assert invariants.logs_are_clean(["WARNING: geheim"], ["geheim"], others_write=True)


def test_what_is_printed_line_by_line_is_one_entry_which_may_be_known() -> None:
    printed = [line("Traceback (most recent call last):", "output.stderr"), line("  in known.py", "output.stderr")]
    (told,) = invariants.logs_are_clean(printed, [])
    assert "in known.py" in told
    assert invariants.logs_are_clean(printed, [], accepted=["known.py"]) == []


# The plan


def test_a_seed_gives_the_same_plan_again_and_another_seed_another() -> None:
    actions = [Action(f"{n}", lasts=(0, n)) for n in range(9)]
    first = plan(7, "w", 60, actions)
    assert first == plan(7, "w", 60, actions)
    assert first != plan(8, "w", 60, actions)
    assert first != plan(7, "v", 60, actions)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_every_action_of_a_world_comes_and_ends_within_the_time(world: type) -> None:
    actions = [a for a in world.actions if a.awaits is None]  # type: ignore[attr-defined]
    for seed in range(20):
        steps = plan(seed, "w", 600, world.actions)  # type: ignore[attr-defined]
        assert {s.action for s in steps} == {a.name for a in actions}
        assert all(s.at + s.lasts <= 600.1 for s in steps)
        assert [s.at for s in steps] == sorted(s.at for s in steps)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_a_world_can_do_each_of_its_actions(world: type) -> None:
    names = ["do_" + a.name.replace(" ", "_") for a in world.actions]  # type: ignore[attr-defined]
    assert [n for n in names if not callable(getattr(world, n, None))] == []


def test_breaches_of_random_losses_and_doubles_are_always_found() -> None:
    chance = random.Random(1)
    for _ in range(200):
        numbers = list(range(50))
        place = chance.randrange(50)
        lost = [n for n in numbers if n != place]
        again = [*numbers[:place], place, *numbers[place:]]
        assert invariants.exactly_once({0: lost}, {0: 50})
        assert invariants.at_least_once({0: lost}, {0: 50})
        assert invariants.exactly_once({0: again}, {0: 50})
        assert invariants.at_least_once({0: again}, {0: 50}) == []
