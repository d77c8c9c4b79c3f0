"""When a pod that the API server refused is tried again: one rule for pods of tasks and for job pods."""

from dataclasses import replace

from penstock_operator.connector.model.refused_pods import Refusal, after, present, with_room


def test_the_pause_doubles_to_five_minutes_and_never_ends() -> None:
    refusal, pauses = None, []
    for _ in range(40):
        refusal = after(refusal, "QuotaExceeded", "full", now=1_000.0, generation=1)
        pauses.append(refusal.again_at - 1_000.0)
    assert pauses[:8] == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]
    assert set(pauses[8:]) == {300.0}


def test_another_generation_or_another_life_starts_the_row_again() -> None:
    before = Refusal("AdmissionDenied", "no", 9, 2_000.0, generation=1, pod_hash="a")
    assert after(before, "AdmissionDenied", "no", now=0.0, generation=1, pod_hash="a").tries == 10
    assert after(before, "AdmissionDenied", "no", now=0.0, generation=2, pod_hash="a").tries == 1
    assert after(before, "AdmissionDenied", "no", now=0.0, generation=1, pod_hash="b").tries == 1


def test_another_generation_is_another_chance_immediately() -> None:
    refusal = Refusal("AdmissionDenied", "no", 9, 2_000.0, generation=1)
    assert present({"a": refusal}, 1, 1_800.0) == {"a": refusal}
    assert present({"a": refusal}, 2, 1_800.0) == {"a": replace(refusal, again_at=1_800.0)}


def test_a_refusal_of_a_pod_that_nobody_wants_any_more_is_forgotten() -> None:
    assert present({"a": Refusal("AdmissionDenied", "no", 9, 2_000.0, 1)}, 1, 2_600.0) == {}


def test_room_is_a_chance_only_for_what_a_quota_refused() -> None:
    full, denied = Refusal("QuotaExceeded", "full", 9, 2_000.0, 1), Refusal("AdmissionDenied", "no", 9, 2_000.0, 1)
    assert with_room({"a": full, "b": denied}, 1_500.0) == {"a": replace(full, again_at=1_500.0), "b": denied}


def test_room_that_did_not_do_leaves_the_pauses_growing() -> None:
    full = present(with_room({"a": Refusal("QuotaExceeded", "full", 8, 2_000.0, 1)}, 1_500.0), 1, 1_500.0)["a"]
    assert after(full, "QuotaExceeded", "full", now=1_500.0, generation=1).tries == 9


def test_a_refusal_of_an_earlier_generation_is_forgotten_however_often_somebody_looks() -> None:
    refusals = {"a": Refusal("AdmissionDenied", "no", 9, 2_000.0, generation=1)}
    for now in range(2_000, 2_700, 100):
        refusals = present(refusals, 2, float(now))
    assert refusals == {}
